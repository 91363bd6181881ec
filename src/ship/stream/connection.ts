// One connection over TCP or TLS, with coded errors, a time-out and a signal.

import type { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { TailraceError } from '../../errors.ts'
import { deadline } from '../deadline.ts'
import { networkError } from '../network-errors.ts'
import type { TlsSetup } from '../tls-options.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

/** Reads `host:port`, IPv6 in brackets; the port may be left out where there is a usual one. Throws `sink_misconfigured`. */
export function readAddress(text: string, usualPort?: number): Address {
  const [, v6, name, given] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = v6 ?? name
  const port = given === undefined ? usualPort : Number(given)
  if (host === undefined || port === undefined || port < 1 || port > 65_535) {
    throw new TailraceError('sink_misconfigured', `address ${JSON.stringify(text)} is not host:port or [IPv6]:port`)
  }
  return { host, port }
}

/** A connection that is kept is not used for longer: the name may have got another address. */
export const connectionAgeMs = 60_000

export interface Target {
  readonly address: Address
  readonly tls: TlsSetup | undefined
  readonly connectTimeoutMs: number
  /** For messages: `syslog 192.0.2.1:6514`. */
  readonly where: string
}

export interface Connection {
  readonly socket: Socket | TLSSocket
  /** The peer's; undefined: TCP, or a resumed session. */
  readonly certificate: X509Certificate | undefined
  /** An upper bound of the round-trip time: how long connecting took. */
  readonly roundTripMs: number
}

export type Dial = (signal: AbortSignal) => Promise<Connection>

/** Opens connections to one target; keeps the TLS session, so that all but the first are cheap. */
export function dialer(target: Target): Dial {
  const sessions = recentSession()
  return async (signal) => {
    signal.throwIfAborted()
    const started = performance.now()
    const { socket, ready } = begin(target, sessions)
    using limit = deadline(target.connectTimeoutMs, signal)
    // For the whole life of the socket: an error that nobody waits for any more must not end the process.
    socket.on('error', () => undefined)
    try {
      await once(socket, ready, { signal: limit.signal })
      const roundTripMs = performance.now() - started
      // Asked once: Node.js has no certificate any more when asked again.
      const certificate = 'getPeerX509Certificate' in socket ? socket.getPeerX509Certificate() : undefined
      if (target.tls !== undefined) {
        target.tls.checkPin(certificate)
        await staysOpen(socket, roundTripMs, limit.signal)
      }
      socket.setKeepAlive(true, 30_000)
      return { socket, certificate, roundTripMs }
    } catch (error) {
      socket.destroy()
      sessions.forget()
      signal.throwIfAborted()
      if (limit.expired) {
        const message = `${target.where}: no connection within ${target.connectTimeoutMs} ms`
        throw new TailraceError('sink_unreachable', message, { cause: error })
      }
      throw networkError(error, target.where, 'connecting')
    }
  }
}

export interface WatchedDial {
  readonly dial: Dial
  /** As `Sink.certificateExpires`. */
  certificateExpires(): number | undefined
}

/** Remembers what the peer has shown: a resumed session shows nothing. */
export function watchCertificate(dial: Dial): WatchedDial {
  let expiresAt: number | undefined
  return {
    async dial(signal) {
      const connection = await dial(signal)
      expiresAt = connection.certificate?.validToDate.getTime() ?? expiresAt
      return connection
    },
    certificateExpires: () => expiresAt,
  }
}

const dayMs = 86_400_000
/** A chain is as long as its sender likes. */
const chainMax = 8

/** Sentences for an operator: protocol, certificate with its expiry and who has issued it. */
export function describePeer({ socket, certificate }: Pick<Connection, 'socket' | 'certificate'>): string[] {
  if (!('getProtocol' in socket)) return ['connected over TCP, not encrypted']
  const protocol = socket.getProtocol() ?? 'TLS'
  if (certificate === undefined) return [`${protocol}, no certificate shown`]
  const days = Math.floor((certificate.validToDate.getTime() - Date.now()) / dayMs)
  return [
    `${protocol}, certificate of ${oneLine(certificate.subject)}, issued by ${issuersOf(certificate).join(', by ')}`,
    `the certificate is valid until ${certificate.validTo}, ${days} days from now`,
  ]
}

/** As far up as the peer has shown them. */
function issuersOf(certificate: X509Certificate): string[] {
  const names = [oneLine(certificate.issuer)]
  let issuer = certificate.issuerCertificate
  while (issuer !== undefined && issuer.issuer !== issuer.subject && names.length < chainMax) {
    names.push(oneLine(issuer.issuer))
    issuer = issuer.issuerCertificate
  }
  return names
}

function oneLine(name: string | undefined): string {
  return (name ?? '?').replaceAll('\n', ', ')
}

/**
 * Under TLS 1.3 a receiver looks at our certificate after the handshake is over for us (RFC 8446 section 4.4.2); some
 * refuse it by closing without an alert, after having taken in what we sent, which then looks like a confirmation.
 * So nothing is sent before an answer could have come.
 */
async function staysOpen(socket: Socket, holdMs: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const closed = Promise.race([once(socket, 'end', { signal: either }), once(socket, 'close', { signal: either })])
  const refused = closed.then(() => {
    throw new Error('closed right after the handshake; does it refuse our certificate?')
  })
  socket.resume()
  try {
    await Promise.race([refused, delay(Math.max(holdMs, 5), undefined, { signal: either })])
  } finally {
    refused.catch(() => undefined)
    over.abort()
  }
}

interface Begun {
  readonly socket: Socket | TLSSocket
  readonly ready: 'connect' | 'secureConnect'
}

function begin(target: Target, sessions: RecentSession): Begun {
  // Half-open, so that the peer's answer to our FIN can be waited for, and its own FIN is not answered by itself.
  const common = { ...target.address, allowHalfOpen: true, noDelay: true }
  if (target.tls === undefined) return { socket: connectTcp(common), ready: 'connect' }
  const session = sessions.get()
  const socket = connectTls({ ...common, ...target.tls.connection, ...(session === undefined ? {} : { session }) })
  if (!target.tls.pinned) socket.on('session', sessions.keep)
  return { socket, ready: 'secureConnect' }
}

interface RecentSession {
  get(): Buffer | undefined
  keep(session: Buffer): void
  forget(): void
}

const sessionMaxAgeMs = 600_000

/** A resumed session is not verified again: it must not outlive a certificate for long. */
function recentSession(): RecentSession {
  let session: Buffer | undefined
  let verifiedAt = 0
  return {
    get() {
      if (performance.now() - verifiedAt > sessionMaxAgeMs) session = undefined
      if (session === undefined) verifiedAt = performance.now()
      return session
    },
    keep(fresh) {
      session = fresh
    },
    forget() {
      session = undefined
    },
  }
}
