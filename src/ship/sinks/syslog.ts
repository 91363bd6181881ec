// Syslog: RFC 5424 or RFC 3164 messages over UDP (RFC 5426), TCP (RFC 6587), TLS (RFC 5425) and RELP.

import { hostname } from 'node:os'
import { TailraceError } from '../../errors.ts'
import { count, duration, flag, oneOf, size, text } from '../../option.ts'
import { sendAndClose } from '../stream/close-confirmation.ts'
import { learnManners } from '../syslog/closing-manners.ts'
import { describePeer, dialer, readAddress, watchCertificate, type Target } from '../stream/connection.ts'
import type { Format } from '../format.ts'
import { keepConnection } from '../stream/kept-connection.ts'
import { withLargest, type SendMessages } from '../syslog/largest-message.ts'
import { relpClient } from '../syslog/relp.ts'
import { relpDataBytesMax } from '../syslog/relp-protocol.ts'
import { compileRfc3164 } from '../syslog/rfc3164.ts'
import { compileRfc5424, facilities } from '../syslog/rfc5424.ts'
import { allTaken, defineSink, type Frame, type Sink } from '../sink.ts'
import { framings, joinFrames, type Framing } from '../stream/stream-framing.ts'
import { watchTcp } from '../stream/tcp-view.ts'
import { readTls, tlsSchema, type TlsOptions } from '../tls-options.ts'
import { datagramBytesMax, openUdp } from '../syslog/udp.ts'

const transports = ['udp', 'tcp', 'tls', 'relp', 'relp-tls'] as const
export type Transport = (typeof transports)[number]

const headers = ['rfc5424', 'rfc3164'] as const
const confirmations = ['auto', 'close', 'none'] as const

export interface SyslogOptions {
  readonly address: string
  readonly transport: Transport
  readonly header: (typeof headers)[number]
  readonly framing: '' | Framing
  readonly facility: string
  readonly appName: string
  readonly hostname: string
  readonly maxMessageBytes: number
  readonly structuredData: boolean
  readonly enterpriseNumber: number
  readonly bom: boolean
  readonly confirm: (typeof confirmations)[number]
  readonly window: number
  readonly connectTimeout: number
  readonly confirmTimeout: number
  readonly tls: TlsOptions
}

export const syslog = defineSink<SyslogOptions>({
  name: 'syslog',
  summary: 'Sends RFC 5424 or RFC 3164 messages over UDP, TCP, TLS or RELP.',
  confirms:
    'tcp and tls: the receiver has read everything (it closed the connection after us), not that it has stored it. relp: it has answered each message; whether it has stored it then depends on its queue. udp: nothing.',
  unconfirmed: ({ transport }) => transport === 'udp',
  options: {
    address: text(
      'The receiver: host:port, IPv6 in brackets. The port may be left out for udp (514) and tls (6514). Usual ports: 514 or 601 for tcp, 2514 for relp.',
    ),
    transport: oneOf(
      transports,
      'tcp',
      'udp, tcp, relp, or tls and relp-tls for an encrypted connection. With udp nothing is ever confirmed: what is lost on the way, or while the receiver is down, is lost, and nobody is told.',
    ),
    header: oneOf(
      headers,
      'rfc5424',
      'rfc3164: the older header, for receivers that want it. It has neither year nor structured data; its time is UTC.',
    ),
    framing: oneOf<'' | Framing>(
      ['', ...framings],
      '',
      'For tcp and tls: how messages are told apart. lf ends each with a line feed, octet counts bytes. Empty: lf for tcp, octet for tls.',
    ),
    facility: oneOf(facilities, 'local0', 'Syslog facility.'),
    appName: text(
      'APP-NAME of an rfc5424 header; TAG of an rfc3164 header (its letters and digits, 32 at most). Empty: tailrace, but no TAG before CEF or LEEF, which are read as they are documented only without one. -: none.',
    ),
    hostname: text(
      'HOSTNAME of the header. Empty: the name of this machine, for rfc3164 without its domain, as that RFC wants it.',
    ),
    maxMessageBytes: size(
      '0b',
      'A longer message is cut, and says so. 0: 8096 bytes, and 2048 for udp. rsyslog takes 8096 bytes unless told otherwise, and tears a longer one in two; over udp RFC 5426 expects 2048 of a receiver. At least 480; at most 65507 for udp and 128kb for relp.',
      '0b',
    ),
    structuredData: {
      ...flag('Whether id, sequence, revision, action, tenant and stream are sent as structured data (rfc5424 only).'),
      default: true,
    },
    enterpriseNumber: count(
      32_473,
      'Private enterprise number in the name of the structured data. The default is the one for documentation.',
      0,
      4_294_967_295,
    ),
    bom: flag('Whether a byte order mark goes before the message (rfc5424 only). rsyslog makes it a part of the text.'),
    confirm: oneOf(
      confirmations,
      'auto',
      'For tcp and tls. close: delivered is what the receiver confirms by closing the connection after us. none: for receivers that never close; delivered is what its system has acknowledged. auto: close, unless the receiver turns out never to close.',
    ),
    window: count(128, 'For relp: highest number of messages under way without an answer.', 1, 10_000),
    connectTimeout: duration('10s', 'How long connecting may take.'),
    confirmTimeout: duration('30s', 'How long a confirmation may take; for relp, the next one.'),
    tls: tlsSchema,
  },
  limits: () => ({ events: 10_000, bytes: 4 * 1024 * 1024 }),
  frame: (options, format) => compileFrame(headerOf(options), format),
  frameKey: (options) => JSON.stringify(headerOf(options)),
  open,
})

type HeaderParts = ReturnType<typeof headerOf>

/** All that the frame depends on. */
function headerOf(options: SyslogOptions) {
  const { header, facility, appName, structuredData, enterpriseNumber, bom } = options
  const own = header === 'rfc3164' ? hostname().split('.', 1)[0] : hostname()
  const shared = { header, facility, appName, hostname: options.hostname || (own ?? ''), maxMessageBytes: cap(options) }
  return header === 'rfc3164' ? shared : { ...shared, structuredData, enterpriseNumber, bom }
}

/** The most bytes of a message that a transport can carry at all. */
const carries: Readonly<Record<Transport, number>> = {
  udp: datagramBytesMax,
  tcp: Number.POSITIVE_INFINITY,
  tls: Number.POSITIVE_INFINITY,
  relp: relpDataBytesMax,
  'relp-tls': relpDataBytesMax,
}

/** RFC 5424 section 6.1: every receiver takes as much. */
const leastMessageBytes = 480

function cap({ maxMessageBytes, transport }: SyslogOptions): number {
  const usual = transport === 'udp' ? 2048 : 8096
  return Math.min(maxMessageBytes === 0 ? usual : maxMessageBytes, carries[transport])
}

/** ArcSight documents CEF, and QRadar LEEF, directly behind the host. */
const untagged = /^(cef|leef)/

function compileFrame(parts: HeaderParts, format: Format): Frame {
  if ('structuredData' in parts) return compileRfc5424({ ...parts, appName: parts.appName || 'tailrace' })
  return compileRfc3164({ ...parts, tag: parts.appName || (untagged.test(format.name) ? '' : 'tailrace') })
}

/** What one transport adds: how messages are sent, and what can be said of the receiver. */
interface Line {
  readonly send: SendMessages
  look(signal: AbortSignal): Promise<readonly string[]>
  certificateExpires?(): number | undefined
  close(): Promise<void>
}

function open(options: SyslogOptions): Sink {
  check(options)
  const where = `syslog ${options.address}`
  const line = openLine(options, where)
  const send = withLargest(carries[options.transport], where, line.send)
  const closed = new AbortController()

  return {
    async send(records, _context, signal) {
      const either = AbortSignal.any([signal, closed.signal])
      either.throwIfAborted()
      return records.length === 0 ? allTaken : send(records, either)
    },
    async look(signal) {
      const either = AbortSignal.any([signal, closed.signal])
      either.throwIfAborted()
      const [first = '', ...rest] = await line.look(either)
      return { findings: [`${where}: ${first}`, ...rest] }
    },
    certificateExpires: () => line.certificateExpires?.(),
    async [Symbol.asyncDispose]() {
      closed.abort(new TailraceError('sink_unreachable', `${where}: the destination was closed`, { inDoubt: true }))
      await line.close()
    },
  }
}

/** Throws `sink_misconfigured` where options contradict one another. */
function check({ transport, framing, confirm, maxMessageBytes }: SyslogOptions): void {
  const stream = transport === 'tcp' || transport === 'tls'
  if (!stream && framing !== '') throw misfit('framing', 'is for tcp and tls', transport)
  if (!stream && confirm !== 'auto') throw misfit('confirm', 'is for tcp and tls', transport)
  if (maxMessageBytes !== 0 && maxMessageBytes < leastMessageBytes) {
    throw misfit('maxMessageBytes', `is 0 or at least ${leastMessageBytes}`, transport)
  }
}

function misfit(option: string, rule: string, transport: Transport): TailraceError {
  return new TailraceError('sink_misconfigured', `syslog: ${option} ${rule}; transport is ${transport}`)
}

/** Ports that the RFCs give to a transport; TCP and RELP have none of their own. */
const usualPorts: Readonly<Partial<Record<Transport, number>>> = { udp: 514, tls: 6514 }

function openLine(options: SyslogOptions, where: string): Line {
  const { transport, connectTimeout: connectTimeoutMs, confirmTimeout: confirmTimeoutMs, window } = options
  const address = readAddress(options.address, usualPorts[transport])
  if (transport === 'udp') return datagrams(openUdp({ address, connectTimeoutMs, where }))
  const tls = transport === 'tls' || transport === 'relp-tls' ? readTls(options.tls) : undefined
  const target = { address, tls, connectTimeoutMs, where }
  if (transport === 'tcp' || transport === 'tls') return stream(options, target)
  const settings = { window, confirmTimeoutMs, where }
  const { dial, certificateExpires } = watchCertificate(dialer(target))
  const client = relpClient({ ...settings, dial })
  return {
    send: client.send,
    async look(signal) {
      // Dialled afresh: a TLS session that is resumed does not show the whole certificate.
      const found = await relpClient({ ...settings, dial: dialer(target) }).look(signal)
      return [...found, 'It confirms every message with an answer.']
    },
    certificateExpires,
    close: async () => client[Symbol.asyncDispose](),
  }
}

function datagrams(udp: ReturnType<typeof openUdp>): Line {
  return {
    send: udp.send,
    async look(signal) {
      const found = await udp.look(signal)
      return [found, 'Nothing will be confirmed: what is lost is lost, whether or not anybody receives it.']
    },
    async close() {
      udp[Symbol.dispose]()
    },
  }
}

function stream({ confirm, confirmTimeout, framing, transport }: SyslogOptions, target: Target): Line {
  const { where } = target
  const { dial, certificateExpires } = watchCertificate(dialer(target))
  const expectation = { confirmTimeoutMs: confirmTimeout, acknowledged: watchTcp(), where }
  const byTransport = transport === 'tls' ? 'octet' : 'lf'
  const kept = keepConnection(dial, expectation)
  const manners = learnManners(confirm, dial, expectation)
  return {
    async send(records, signal) {
      const bytes = joinFrames(records, framing || byTransport)
      if (await manners.closes(signal)) await sendAndClose(await dial(signal), bytes, expectation, signal)
      else await kept.send(bytes, signal)
      return allTaken
    },
    async look(signal) {
      // Dialled afresh, as above.
      const connection = await dialer(target)(signal)
      const found = describePeer(connection)
      connection.socket.destroy()
      return [...found, await manners.look(signal)]
    },
    certificateExpires,
    async close() {
      kept[Symbol.dispose]()
    },
  }
}
