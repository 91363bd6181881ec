// The forms of `redis.url`, parsed. The platform's URL class cannot read several hosts.

import { TailraceError } from './errors.ts'

export interface Login {
  readonly username?: string | undefined
  readonly password?: string | undefined
}

/** Where an URL leads. */
export interface Target {
  readonly kind: 'single' | 'socket' | 'sentinel' | 'cluster'
  readonly tls: boolean
  readonly hosts: { host: string; port: number }[]
  readonly login: Login
  /** Of the socket; for Sentinel the master's name. */
  readonly path: string
  readonly db: number
}

/** Throws `config_invalid`; no message repeats the URL, for it may have a password in it. */
export function parseRedisUrl(url: string): Target {
  const socket = /^(?:redis\+)?unix:\/\/(\/[^?]+)(?:\?db=(\d+))?$/.exec(url)
  if (socket) {
    const [, path = '', db = '0'] = socket
    return { kind: 'socket', tls: false, hosts: [], login: {}, path: decoded(path), db: Number(db) }
  }
  const parts = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^/?#@]+)(?:\/([^?#]*))?$/.exec(url)
  if (!parts) throw wrongUrl('it is not of a known form')
  const [, scheme, variant, userinfo, hosts = '', rest = ''] = parts
  const kind = variant === 'sentinel' || variant === 'cluster' ? variant : 'single'
  const path = rest.split('/').map(decoded)
  const [name, dbText] = kind === 'sentinel' ? [path[0] ?? '', path[1]] : ['', path[0]]
  const list = hosts.split(',').map((host) => parseHost(host, kind === 'sentinel' ? 26_379 : 6_379))
  if (kind === 'single' && list.length > 1) throw wrongUrl('several hosts need +sentinel or +cluster')
  if (kind === 'sentinel' && name === '') throw wrongUrl("the Sentinel's name of the master is missing after the hosts")
  if (dbText && (kind === 'cluster' || !/^\d+$/.test(dbText))) throw wrongUrl('what follows the host is no database')
  return {
    kind,
    tls: scheme === 'rediss',
    hosts: list,
    login: parseLogin(userinfo),
    path: name,
    db: Number(dbText || 0),
  }
}

function parseHost(text: string, defaultPort: number): { host: string; port: number } {
  const parts = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:\s[\]]+))(?::(\d{1,5}))?$/.exec(text)
  const host = parts?.[1] ?? parts?.[2]
  const port = Number(parts?.[3] ?? defaultPort)
  if (host === undefined || port < 1 || port > 65_535) throw wrongUrl('host or port is wrong')
  return { host, port }
}

function parseLogin(userinfo: string | undefined): Login {
  if (userinfo === undefined || userinfo === '') return {}
  const colon = userinfo.indexOf(':')
  const [user, password] = colon < 0 ? [userinfo, undefined] : [userinfo.slice(0, colon), userinfo.slice(colon + 1)]
  return defined({
    username: user === '' ? undefined : decoded(user),
    password: password === undefined ? undefined : decoded(password),
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw new TailraceError('config_invalid', 'redis.url: a percent sign in it must be written %25.', { cause: error })
  }
}

function wrongUrl(why: string): TailraceError {
  return new TailraceError(
    'config_invalid',
    `redis.url: ${why}. Write redis://host:6379, rediss://…, unix:///path, redis+sentinel://h1,h2/master or redis+cluster://h1,h2; special characters in a password percent-encoded.`,
  )
}

/** Without the properties that are undefined. */
export function defined<T extends object>(from: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(from).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
