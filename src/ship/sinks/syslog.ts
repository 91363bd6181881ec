// Syslog: RFC 5424 messages over TCP (RFC 6587) and TLS (RFC 5425).

import { hostname } from 'node:os'
import { TailraceError } from '../../errors.ts'
import { sendAndClose, type Expectation } from '../close-confirmation.ts'
import { dialer, readAddress, type Dial } from '../connection.ts'
import { keepConnection } from '../kept-connection.ts'
import { compileFrame, facilities, type HeaderOptions } from '../rfc5424.ts'
import { allTaken, defineSink, type Sink } from '../sink.ts'
import { framings, joinFrames, type Framing } from '../stream-framing.ts'
import { watchTcp } from '../tcp-view.ts'
import { readTls, tlsSchema, type TlsOptions } from '../tls-options.ts'

export interface SyslogOptions {
  readonly address: string
  readonly transport: string
  readonly framing: string
  readonly facility: string
  readonly appName: string
  readonly hostname: string
  readonly maxMessageBytes: number
  readonly structuredData: boolean
  readonly enterpriseNumber: number
  readonly bom: boolean
  readonly confirm: string
  readonly connectTimeout: number
  readonly confirmTimeout: number
  readonly tls: TlsOptions
}

export const syslog = defineSink<SyslogOptions>({
  name: 'syslog',
  summary: 'Sends RFC 5424 messages over TCP or TLS.',
  confirms: 'The receiver has read everything (it closed the connection after us); not that it has stored it.',
  options: {
    address: {
      doc: 'The receiver: host:port, IPv6 in brackets. Usual ports: 514 or 601 for tcp, 6514 for tls.',
      format: String,
      default: '',
    },
    transport: { doc: 'tcp, or tls for an encrypted connection.', format: ['tcp', 'tls'], default: 'tcp' },
    framing: {
      doc: 'How messages are told apart: lf ends each with a line feed, octet counts bytes. Empty: lf for tcp, octet for tls. With lf, line breaks inside messages become spaces.',
      format: ['', ...framings],
      default: '',
    },
    facility: { doc: 'Syslog facility.', format: [...facilities], default: 'local0' },
    appName: { doc: 'APP-NAME of the header.', format: String, default: 'tailrace' },
    hostname: { doc: 'HOSTNAME of the header. Empty: the name of this machine.', format: String, default: '' },
    maxMessageBytes: {
      doc: 'A longer message is cut, and says so. rsyslog takes 8096 bytes unless told otherwise, and tears a longer one in two.',
      format: atLeast(480),
      default: 8096,
    },
    structuredData: {
      doc: 'Whether id, sequence, tenant and stream are sent as structured data.',
      format: Boolean,
      default: true,
    },
    enterpriseNumber: {
      doc: 'Private enterprise number in the name of the structured data. The default is the one for documentation.',
      format: 'nat',
      default: 32_473,
    },
    bom: {
      doc: 'Whether a byte order mark goes before the message. rsyslog makes it a part of the text.',
      format: Boolean,
      default: false,
    },
    confirm: {
      doc: 'close: delivered is what the receiver confirms by closing the connection after us. none: for receivers that never close; delivered is what its system has acknowledged. auto: close, unless the receiver turns out never to close.',
      format: ['auto', 'close', 'none'],
      default: 'auto',
    },
    connectTimeout: { doc: 'How long connecting may take, milliseconds.', format: atLeast(1), default: 10_000 },
    confirmTimeout: { doc: 'How long a confirmation may take, milliseconds.', format: atLeast(1), default: 30_000 },
    tls: tlsSchema,
  },
  limits: () => ({ events: 10_000, bytes: 4 * 1024 * 1024 }),
  frame: (options) => compileFrame(headerOf(options)),
  frameKey: (options) => JSON.stringify(headerOf(options)),
  open,
})

function atLeast(least: number): (value: unknown) => void {
  return (value) => {
    if (!Number.isSafeInteger(value) || Number(value) < least) throw new Error(`must be a whole number from ${least}`)
  }
}

function framingOf({ framing, transport }: SyslogOptions): Framing {
  const byTransport = transport === 'tls' ? 'octet' : 'lf'
  return framings.find((name) => name === framing) ?? byTransport
}

function headerOf(options: SyslogOptions): HeaderOptions {
  const { facility, appName, maxMessageBytes, structuredData, enterpriseNumber, bom } = options
  const header = { facility, appName, maxMessageBytes, structuredData, enterpriseNumber, bom }
  return { ...header, hostname: options.hostname || hostname(), oneLine: framingOf(options) === 'lf' }
}

function open(options: SyslogOptions): Sink {
  const address = readAddress(options.address)
  const where = `syslog ${options.address}`
  const tls = options.transport === 'tls' ? readTls(options.tls) : undefined
  const target = { address, tls, connectTimeoutMs: options.connectTimeout, where }
  const dial = dialer(target)
  const expectation = { confirmTimeoutMs: options.confirmTimeout, acknowledged: watchTcp(), where }
  const framing = framingOf(options)
  const closed = new AbortController()
  const kept = keepConnection(dial, expectation)
  const manners = learnManners(options.confirm, dial, expectation)

  return {
    async send(records, _batch, signal) {
      if (records.length === 0) return allTaken
      const either = AbortSignal.any([signal, closed.signal])
      const bytes = joinFrames(records, framing)
      if (await manners.closes(either)) await sendAndClose(await dial(either), bytes, expectation, either)
      else await kept.send(bytes, either)
      return allTaken
    },
    async look(signal) {
      const either = AbortSignal.any([signal, closed.signal])
      const findings = [await describeConnection(dialer(target), where, either)]
      return { findings: [...findings, await manners.look(either)] }
    },
    async [Symbol.asyncDispose]() {
      kept[Symbol.dispose]()
      closed.abort(new TailraceError('sink_unreachable', `${where}: the destination was closed`, { inDoubt: true }))
    },
  }
}

async function describeConnection(dial: Dial, where: string, signal: AbortSignal): Promise<string> {
  const { socket } = await dial(signal)
  try {
    if (!('getProtocol' in socket)) return `${where}: connected over TCP, not encrypted`
    const certificate = socket.getPeerX509Certificate()
    return `${where}: ${socket.getProtocol()}, certificate of ${certificate?.subject ?? '?'} until ${certificate?.validTo ?? '?'}`
  } finally {
    socket.destroy()
  }
}

interface Manners {
  /** Whether the receiver closes after us. Rejects while that is not known. */
  closes(signal: AbortSignal): Promise<boolean>
  /** Asks the receiver, and says what was found. */
  look(signal: AbortSignal): Promise<string>
}

/** So many silent answers in a row, and no close ever: the receiver is one that never closes. */
const silencesMax = 3
/** How often a receiver that never closes is asked again: it may have been stuck, or replaced. */
const askAgainMs = 300_000

/**
 * Finds out, with connections that carry nothing, whether a receiver closes after us. Once it did, it is held to
 * that: a receiver that is stuck looks like one that never closes, and must not be believed less strictly for it.
 */
function learnManners(confirm: string, dial: Dial, expectation: Expectation): Manners {
  let silences = 0
  let closes: boolean | undefined
  let askedAt = 0
  let silentAt = 0
  const nothing = new Uint8Array(0)

  async function ask(signal: AbortSignal): Promise<void> {
    const started = performance.now()
    askedAt = started
    try {
      await sendAndClose(await dial(signal), nothing, expectation, signal)
      closes = true
    } catch (error) {
      if (!(error instanceof TailraceError && error.code === 'sink_timeout')) throw error
      // Parallel sends ask at the same time: that is one silence.
      if (started >= silentAt) silences++
      silentAt = performance.now()
      if (closes !== true && silences >= silencesMax) closes = false
      if (closes === undefined) throw error
    }
  }

  return {
    async closes(signal) {
      if (confirm !== 'auto') return confirm === 'close'
      const again = closes === false && performance.now() - askedAt > askAgainMs
      if (closes === undefined || again) await ask(signal)
      return closes ?? true
    },
    async look(signal) {
      try {
        await sendAndClose(await dial(signal), nothing, expectation, signal)
        closes = true
        return 'It confirms by closing the connection after us.'
      } catch (error) {
        if (!(error instanceof TailraceError && error.code === 'sink_timeout')) throw error
      }
      if (confirm === 'close') {
        const words = `${expectation.where}: it does not close after us, so it never confirms; set confirm to none or auto`
        throw new TailraceError('sink_misconfigured', words)
      }
      return 'It does not close after us: deliveries are unconfirmed; the last ones are repeated when a connection breaks.'
    },
  }
}
