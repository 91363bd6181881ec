// RFC 3164: the older header, without year, time zone and structured data. Pure; constant parts are put together once.

import type { SecurityEvent } from '../../event.ts'
import { compilePriority, cutAtEnd, fits, inOneLine } from './rfc5424.ts'
import type { Frame } from '../sink.ts'

export interface OldHeaderOptions {
  readonly facility: string
  readonly hostname: string
  /** What stands before the message; of it letters and digits are taken. Empty: nothing. */
  readonly tag: string
  /** Highest number of bytes of a message, framing not counted. */
  readonly maxMessageBytes: number
}

/**
 * A function that makes `<PRI>Mmm dd hh:mm:ss HOST TAG: MSG` of one event: RFC 3164 section 4.1. The time is UTC: the
 * RFC has local time, and no place to say which.
 */
export function compileRfc3164(options: OldHeaderOptions): Frame {
  const priority = compilePriority(options.facility)
  const tag = options.tag.replaceAll(/[^A-Za-z0-9]/g, '').slice(0, 32)
  const origin = ` ${hostOf(options.hostname)} ${tag === '' ? '' : `${tag}: `}`

  return (event, encoded) => {
    const head = `${priority(event)}${timestamp(timeOf(event))}${origin}`
    const message = inOneLine(encoded)
    const whole = head + message
    return fits(whole, options.maxMessageBytes) ? whole : cutAtEnd(head, message, options.maxMessageBytes)
  }
}

/** Letters, digits and what addresses have: a name with anything else would not be read as one. */
function hostOf(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._:-]/g, '_').slice(0, 255) || '-'
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** The header has no word for an unknown time: then it is when we read it. */
function timeOf({ time, observedTime }: SecurityEvent): Date {
  const known = [time, observedTime].find((ms) => Number.isFinite(ms) && !Number.isNaN(new Date(ms).getTime()))
  return new Date(known ?? 0)
}

/** `Mar  9 07:05:01`: the day has a space before it, the rest zeros. */
function timestamp(date: Date): string {
  const day = String(date.getUTCDate()).padStart(2)
  const clock = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(twoDigits).join(':')
  return `${months[date.getUTCMonth()]} ${day} ${clock}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
