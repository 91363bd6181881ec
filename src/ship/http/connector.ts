// The connections of a pool: TCP or TLS, directly or through a tunnel of a proxy, looked at before they are used.

import { once } from 'node:events'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { callbackify } from 'node:util'
import type { buildConnector } from 'undici'
import { TailraceError } from '../../errors.ts'
import { deadline } from '../deadline.ts'
import { networkError } from '../network-errors.ts'
import { proxyLogin } from './proxy.ts'
import { readTls, type TlsOptions, type TlsSetup } from '../tls-options.ts'

export interface ConnectorParts {
  readonly url: URL
  readonly tls: TlsOptions
  /** Undefined: directly. */
  readonly proxy: URL | undefined
  /** Of a whole connection: tunnel, TCP and TLS. */
  readonly timeoutMs: number
  /** For messages: `webhook https://siem.example.org`. */
  readonly where: string
}

export interface Connector extends Disposable {
  /** For undici. Its errors are coded: nothing was sent. */
  readonly connect: buildConnector.connector
  /** Sentences about the connection that was made last: proxy, protocol, certificate. */
  describe(): string[]
  /** As `Sink.certificateExpires`. */
  certificateExpires(): number | undefined
}

/** Throws `sink_misconfigured` where TLS options are of no use. Disposing ends what is under way. */
export function openConnector(parts: ConnectorParts): Connector {
  const { url, proxy, timeoutMs, where } = parts
  const dial = dialerOf(parts)
  const closing = new AbortController()
  let seen: Seen | undefined

  async function open(): Promise<Socket> {
    using limit = deadline(timeoutMs, closing.signal)
    try {
      const { socket, ...found } = await dial(limit.signal)
      seen = found
      return socket
    } catch (error) {
      if (closing.signal.aborted) throw new TailraceError('sink_unreachable', `${where}: the destination was closed`)
      if (!limit.expired) throw networkError(error, where, 'connecting')
      const through = proxy === undefined ? '' : ` through the proxy ${proxy.origin}`
      throw new TailraceError('sink_unreachable', `${where}: no connection${through} within ${timeoutMs} ms`, {
        cause: error,
      })
    }
  }

  const opened = callbackify(open)
  return {
    connect(_target, callback) {
      opened((error, socket) => (error ? callback(error, null) : callback(null, socket)))
    },
    describe() {
      const through = proxy === undefined ? [] : [`${url.host} through the proxy ${proxy.origin}`]
      return seen === undefined ? through : [...through, seen.finding]
    },
    certificateExpires: () => seen?.expiresAt,
    [Symbol.dispose]() {
      closing.abort()
    },
  }
}

interface Seen {
  readonly finding: string
  /** Of the certificate, Unix ms. */
  readonly expiresAt?: number
}

interface Dialled extends Seen {
  readonly socket: Socket
}

function dialerOf({ url, tls: options, proxy, where }: ConnectorParts): (signal: AbortSignal) => Promise<Dialled> {
  const tls = url.protocol === 'https:' ? readTls(options) : undefined
  const address = addressOf(url)
  const tunnel = proxy === undefined ? undefined : tunnelThrough(proxy, options, address, where)
  return async (signal) => {
    const through = await tunnel?.(signal)
    if (tls === undefined) {
      const socket = through ?? (await ready(connectTcp(address), 'connect', signal))
      return { socket, finding: 'connected, not encrypted' }
    }
    const servername = options.servername || (isIP(address.host) === 0 ? address.host : '')
    // No session is kept: one that is resumed shows no certificate, and would outlive it.
    const socket = connectTls({
      ...address,
      ...tls.connection,
      ALPNProtocols: ['http/1.1'],
      ...(servername === '' ? {} : { servername }),
      ...(through === undefined ? {} : { socket: through }),
    })
    await ready(socket, 'secureConnect', signal)
    return { socket, ...inspected(socket, tls) }
  }
}

interface Address {
  readonly host: string
  readonly port: number
}

function addressOf({ hostname, port, protocol }: URL): Address {
  return { host: hostname.replaceAll(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}

async function ready<T extends Socket>(socket: T, event: string, signal: AbortSignal): Promise<T> {
  // For the whole life of the socket: an error that nobody waits for any more must not end the process.
  socket.on('error', () => undefined)
  try {
    await once(socket, event, { signal })
  } catch (error) {
    socket.destroy()
    throw error
  }
  return keptAlive(socket)
}

/** A peer that is gone without a word is noticed by the system. */
function keptAlive<T extends Socket>(socket: T): T {
  return socket.setNoDelay(true).setKeepAlive(true, 60_000)
}

/** Checks the pin, and says what was found. Node.js hands out the certificate once: a second look finds none. */
function inspected(socket: TLSSocket, tls: TlsSetup): Seen {
  const certificate = socket.getPeerX509Certificate()
  try {
    tls.checkPin(certificate)
  } catch (error) {
    socket.destroy()
    throw error
  }
  if (certificate === undefined) return { finding: `${socket.getProtocol()}` }
  const { subject, issuer, validTo, validToDate } = certificate
  // A certificate may name its hosts alone, and have no subject: then there is none here, whatever its type says.
  const [whose, by] = [subject, issuer].map((name) => (name || 'nobody').replaceAll('\n', ', '))
  const finding = `${socket.getProtocol()}, certificate of ${whose}, issued by ${by}, valid until ${validTo}`
  return { finding, expiresAt: validToDate.getTime() }
}

/**
 * CONNECT (RFC 9110 section 9.3.6), for plain HTTP as well: what is between the receiver and us is then none of the
 * proxy's business.
 */
function tunnelThrough(
  proxy: URL,
  options: TlsOptions,
  { host, port }: Address,
  where: string,
): (signal: AbortSignal) => Promise<Socket> {
  const path = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  const login = proxyLogin(proxy)
  const headers = { host: path, ...(login === undefined ? {} : { 'proxy-authorization': login }) }
  const call = { ...addressOf(proxy), method: 'CONNECT', path, headers, agent: false as const }
  // The issuers that the receiver's certificate may have may be the proxy's too; certificate and pin are the receiver's.
  const own = { ...options, cert: '', key: '', fingerprint: '', servername: '' }
  const tls = proxy.protocol === 'https:' ? readTls(own) : undefined
  const name = isIP(call.host) === 0 ? { servername: call.host } : {}
  const through = `${where} through the proxy ${proxy.origin}`
  return async (signal) => {
    const secure = tls && { ...tls.connection, ...name, ALPNProtocols: ['http/1.1'] }
    const request = secure ? requestHttps({ ...call, ...secure, signal }) : requestHttp({ ...call, signal })
    const answered = once(request, 'connect', { signal }) as Promise<[IncomingMessage, Socket, Buffer]>
    request.on('error', () => undefined).end()
    const [{ statusCode = 0 }, socket, head] = await answered.catch((error: unknown) => {
      signal.throwIfAborted()
      throw networkError(error, through, 'connecting')
    })
    socket.on('error', () => undefined)
    if (statusCode < 200 || statusCode > 299) {
      socket.destroy()
      throw refusalOf(statusCode, path, through)
    }
    if (head.length > 0) socket.unshift(head)
    return keptAlive(socket)
  }
}

function refusalOf(status: number, target: string, through: string): TailraceError {
  if (status === 407) {
    const words = `${through}: the proxy wants a user and password that it accepts (407)`
    return new TailraceError('sink_credentials', words, { status })
  }
  // A proxy that cannot reach the receiver, or is busy, says so with these; the rest are rules of its own.
  const passing = status >= 500 || status === 408 || status === 429
  const words = passing
    ? `${through}: the proxy cannot reach ${target} (${status})`
    : `${through}: the proxy allows no tunnel to ${target} (${status})`
  return new TailraceError(passing ? 'sink_unreachable' : 'sink_misconfigured', words, { status })
}
