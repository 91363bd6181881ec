// RFC 5424: a header and structured data around an encoded event. Pure; constant parts are put together once.

import { Buffer } from 'node:buffer'
import { levelOf, type Level, type SecurityEvent } from '../event.ts'
import { isoTime } from './iso-time.ts'
import type { Frame } from './sink.ts'

/** Facilities by their number: RFC 5424 table 1. */
export const facilities: readonly string[] = (
  'kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock ' +
  'local0 local1 local2 local3 local4 local5 local6 local7'
).split(' ')

export interface HeaderOptions {
  readonly facility: string
  readonly hostname: string
  readonly appName: string
  /** Highest number of bytes of a message, framing not counted. */
  readonly maxMessageBytes: number
  readonly structuredData: boolean
  /** Private enterprise number behind the `@` of our structured data. */
  readonly enterpriseNumber: number
  readonly bom: boolean
  /** Whether line breaks and NUL become spaces, because a line feed ends the message on the wire. */
  readonly oneLine: boolean
}

/** A function that makes `<PRI>1 TIMESTAMP HOST APP-NAME - MSGID SD MSG` of one event. */
export function compileFrame(options: HeaderOptions): Frame {
  const facility = facilities.indexOf(options.facility)
  const heads = Array.from({ length: 8 }, (_, severity) => `<${facility * 8 + severity}>1 `)
  const origin = ` ${headerField(options.hostname, 255)} ${headerField(options.appName, 48)} - `
  const mark = options.bom ? '\ufeff' : ''

  return (event, encoded) => {
    const head = `${heads[severityOf(event)]}${isoTime(event.time) ?? '-'}${origin}${event.kind} `
    const data = options.structuredData ? structuredData(options.enterpriseNumber, event) : '-'
    const whole = plain(`${head}${data} ${mark}${encoded}`, options.oneLine)
    // UTF-8 needs at most three bytes for a UTF-16 unit: short messages need no counting.
    if (whole.length * 3 <= options.maxMessageBytes) return whole
    const bytes = Buffer.byteLength(whole)
    if (bytes <= options.maxMessageBytes) return whole
    const rest = plain(`${mark}${encoded}`, options.oneLine)
    return shortened(plain(head, options.oneLine), plain(data, options.oneLine), rest, options.maxMessageBytes)
  }
}

/** Severity of RFC 5424 table 2: 2 critical, 3 error, 4 warning, 5 notice, 6 informational. */
const severities: Readonly<Record<Level, number>> = { critical: 2, high: 3, medium: 4, low: 5, informational: 6 }

function severityOf(event: SecurityEvent): number {
  return event.kind === 'gap' ? 4 : severities[levelOf(event.severity)]
}

/** Header fields are printable ASCII without spaces, `-` when there is nothing to say: RFC 5424 section 6.2. */
function headerField(text: string, lengthMax: number): string {
  return text.replaceAll(/[^\u0021-\u007e]/g, '_').slice(0, lengthMax) || '-'
}

function structuredData(enterpriseNumber: number, event: SecurityEvent): string {
  return (
    `[tailrace@${enterpriseNumber} id="${parameter(event.id)}" sequence="${event.sequence}"` +
    ` tenant="${parameter(event.tenant)}" stream="${event.stream}"]`
  )
}

/** RFC 5424 section 6.3.3: exactly these three are escaped in a parameter's value. */
function parameter(value: string): string {
  return /["\\\]]/.test(value) ? value.replaceAll(/["\\\]]/g, String.raw`\$&`) : value
}

/** A line feed would end the message (RFC 6587 section 3.4.2); receivers trip over CR and NUL, too. */
function plain(text: string, oneLine: boolean): string {
  if (!oneLine || !(text.includes('\n') || text.includes('\r') || text.includes('\0'))) return text
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\n\r\0]/g, ' ')
}

/**
 * Cuts the message, not the header, and says so: with how long it was as a parameter of the structured data; without
 * structured data (or when that is what does not fit) as words at the end. RFC 5424 section 6.1 wants at least 480
 * bytes to be taken, and a header has less than 400.
 */
function shortened(head: string, data: string, message: string, bytesMax: number): string {
  const messageBytes = Buffer.byteLength(message)
  if (data !== '-') {
    const start = `${head}${data.slice(0, -1)} originalBytes="${messageBytes}"] `
    const room = bytesMax - Buffer.byteLength(start)
    if (room >= 0) return start + cut(message, room)
  }
  const start = `${head}- `
  const end = `...[cut, was ${messageBytes} bytes]`
  return start + cut(message, bytesMax - Buffer.byteLength(start) - end.length) + end
}

const encoder = new TextEncoder()

/** As much of the text as fits into so many bytes of UTF-8; never half a character. */
function cut(text: string, bytesMax: number): string {
  const room = Math.max(0, bytesMax)
  return text.slice(0, encoder.encodeInto(text.slice(0, room), new Uint8Array(room)).read)
}
