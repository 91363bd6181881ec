// RFC 5424: a header and structured data around an encoded event. Pure; constant parts are put together once.

import { Buffer } from 'node:buffer'
import { levelOf, type Level, type SecurityEvent } from '../../event.ts'
import { cutText } from '../cut-text.ts'
import { isoTime } from '../iso-time.ts'
import type { Frame } from '../sink.ts'

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
}

/** A function that makes `<PRI>1 TIMESTAMP HOST APP-NAME - MSGID SD MSG` of one event. */
export function compileRfc5424(options: HeaderOptions): Frame {
  const priority = compilePriority(options.facility)
  const origin = ` ${headerField(options.hostname, 255)} ${headerField(options.appName, 48)} - `
  const mark = options.bom ? '\ufeff' : ''

  return (event, encoded) => {
    const head = `${priority(event)}1 ${isoTime(event.time) ?? '-'}${origin}${event.kind} `
    const data = options.structuredData ? structuredData(options.enterpriseNumber, event) : '-'
    const message = inOneLine(`${mark}${encoded}`)
    const whole = `${head}${data} ${message}`
    return fits(whole, options.maxMessageBytes) ? whole : shortened(head, data, message, options.maxMessageBytes)
  }
}

/** `<PRI>`: RFC 5424 section 6.2.1, RFC 3164 section 4.1.1. */
export function compilePriority(facility: string): (event: SecurityEvent) => string {
  const number = facilities.indexOf(facility)
  const priorities = Array.from({ length: 8 }, (_, severity) => `<${number * 8 + severity}>`)
  return (event) => priorities[severityOf(event)] ?? ''
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
    ` revision="${event.revision}" action="${event.action}" tenant="${parameter(event.tenant)}"` +
    ` stream="${event.stream}"${event.replayed ? ' replayed="true"' : ''}]`
  )
}

// oxlint-disable-next-line no-control-regex
const special = /["\\\]\u0000-\u001f\u007f-\u009f]/
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f-\u009f]/g

/** RFC 5424 section 6.3.3: exactly `"`, `\` and `]` are escaped in a parameter's value. Controls become spaces. */
function parameter(value: string): string {
  if (!special.test(value)) return value
  return value.replaceAll(control, ' ').replaceAll(/["\\\]]/g, String.raw`\$&`)
}

/**
 * Without what could end a message or begin another one. A line feed does so on the wire (RFC 6587 section 3.4.2)
 * and, where octets are counted, in the file that the receiver writes; receivers trip over CR and NUL, too.
 */
export function inOneLine(text: string): string {
  if (!(text.includes('\n') || text.includes('\r') || text.includes('\0'))) return text
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\n\r\0]/g, ' ')
}

export function fits(text: string, bytesMax: number): boolean {
  // UTF-8 needs at most three bytes for a UTF-16 unit: short messages need no counting.
  return text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax
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
    if (room >= 0) return start + cutText(message, room)
  }
  return cutAtEnd(`${head}- `, message, bytesMax)
}

/** Start and message in at most so many bytes; words at the end say how long the message was. */
export function cutAtEnd(start: string, message: string, bytesMax: number): string {
  const end = `...[cut, was ${Buffer.byteLength(message)} bytes]`
  return start + cutText(message, bytesMax - Buffer.byteLength(start) - end.length) + end
}
