// Which proxy a request goes through: the destination's own, or what HTTPS_PROXY, HTTP_PROXY and NO_PROXY say.

import { Buffer } from 'node:buffer'
import { BlockList, isIP } from 'node:net'
import { TailraceError } from '../../errors.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * `chosen` is the option of the destination: empty (the variables decide), `none`, or a URL. Undefined: directly.
 * Throws `sink_misconfigured` for what is not the URL of an HTTP proxy.
 */
export function proxyFor(url: URL, chosen: string, env: Environment): URL | undefined {
  if (chosen === 'none') return undefined
  if (chosen !== '') return readProxy(chosen, 'proxy')
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  // The lower-case names are the older ones; curl and others read them first.
  const named = env[name.toLowerCase()] || env[name]
  if (named === undefined || named === '') return undefined
  if (isExempt(url, env['no_proxy'] || env['NO_PROXY'] || '')) return undefined
  return readProxy(named, name)
}

/** The value of Proxy-Authorization (RFC 7617); undefined: the proxy has no user. */
export function proxyLogin({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(login).toString('base64')}`
}

function readProxy(text: string, name: string): URL {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (url !== null && /^https?:$/.test(url.protocol) && isDecodable(url)) return url
  throw new TailraceError('sink_misconfigured', `${name} is not the URL of an HTTP proxy, such as http://proxy:3128`)
}

/** A stray `%` in a password would otherwise be found out at the first connection. */
function isDecodable(url: URL): boolean {
  try {
    proxyLogin(url)
    return true
  } catch {
    return false
  }
}

/** NO_PROXY as curl has it: hosts with all below them, `*`, host:port; also IPv4 and IPv6 subnets. */
function isExempt(url: URL, list: string): boolean {
  const host = bareHost(url.hostname)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true
      if (entry.includes('/')) return inSubnet(host, entry)
      const [, name = '', wantedPort] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? []
      if (wantedPort !== undefined && Number(wantedPort) !== Number(port)) return false
      return names(name, host)
    })
}

/** Addresses are compared as they are: nothing is below 0.0.1. */
function names(entry: string, host: string): boolean {
  if (isIP(host) !== 0) return canonicalAddress(entry) === host
  const bare = bareHost(entry.replace(/^\*?\./, ''))
  return bare !== '' && (host === bare || host.endsWith(`.${bare}`))
}

function bareHost(name: string): string {
  return name.replaceAll(/^\[|\]$|\.$/g, '').toLowerCase()
}

/** IPv6 has many forms of the same address; a URL has the one of RFC 5952. */
function canonicalAddress(text: string): string {
  return isIP(text) === 6 ? bareHost(URL.parse(`http://[${text}]`)?.hostname ?? text) : text
}

function inSubnet(host: string, subnet: string): boolean {
  const [network = '', bits = ''] = subnet.split('/')
  const address = network.replaceAll(/^\[|\]$/g, '')
  const version = isIP(address)
  if (version === 0 || isIP(host) !== version || !/^\d{1,3}$/.test(bits)) return false
  if (Number(bits) > (version === 4 ? 32 : 128)) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(address, Number(bits), family)
  return list.check(host, family)
}
