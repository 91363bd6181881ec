// What an HTTP status means for a batch. RFC 9110 section 15, and what receivers make of it.

import { TailraceError, type ErrorCode } from '../../errors.ts'
import { wordsOf } from './answer-text.ts'

export interface HttpAnswer {
  readonly where: string
  readonly status: number
  readonly retryAfter: string | string[] | undefined
  /** The body, free of secrets. */
  readonly text: string
}

/** Statuses that say the same whatever is sent: our credentials are not good enough. */
export function refusal(status: number): boolean {
  return status === 401 || status === 403
}

/** The error of an answer that is not 2xx to so many events. */
export function statusError({ where, status, retryAfter, text }: HttpAnswer, events: number): TailraceError {
  const waitMs = retryAfterMs(retryAfter, Date.now())
  const code = frontEndCode(status, text) ?? statusCode(status, events, waitMs !== undefined)
  const words = wordsOf(readable(text))
  const redirect = status >= 300 && status < 400 ? ' (redirects are not followed)' : ''
  const message = `${where}: status ${status}${redirect}${words === '' ? '' : `: ${words}`}`
  // A gateway that gives up does not know what the receiver behind it did.
  const inDoubt = code === 'sink_unavailable' && status !== 503
  return new TailraceError(code, message, {
    status,
    inDoubt,
    ...(code === 'sink_throttled' && waitMs !== undefined ? { waitMs } : {}),
  })
}

function statusCode(status: number, events: number, saysWhen: boolean): ErrorCode {
  if (refusal(status)) return 'sink_credentials'
  if (status === 400 || status === 413 || status === 422)
    return events > 1 ? 'sink_refused_batch' : 'sink_refused_event'
  if (status === 429 || (status === 503 && saysWhen)) return 'sink_throttled'
  // 409: a receiver that knows idempotency keys has an attempt of this very request under way.
  if (status === 408 || status === 409 || status === 425 || (status >= 500 && status !== 501)) return 'sink_unavailable'
  // Redirects are not followed: events go where they were sent. 404, 405, 410, 415, 501 and the rest: a wrong address.
  return 'sink_misconfigured'
}

/**
 * What servers say with status 400 before they have looked at any event, which must not be blamed on the events: the
 * pages of nginx (its own 495, 496, 497, 494) and the sentence of Go's net/http. Only what the answer begins with
 * counts: a receiver may repeat an event further on, and what is in an event is up to attackers.
 */
const frontEnds: readonly (readonly [beginning: RegExp, code: ErrorCode])[] = [
  [/^<html>\s*<head><title>400 (The SSL certificate error|No required SSL certificate was sent)</, 'sink_credentials'],
  [/^<html>\s*<head><title>400 The plain HTTP request was sent to HTTPS port</, 'sink_misconfigured'],
  [/^<html>\s*<head><title>400 Request Header Or Cookie Too Large</, 'sink_misconfigured'],
  [/^Client sent an HTTP request to an HTTPS server\.\s*$/, 'sink_misconfigured'],
]

function frontEndCode(status: number, text: string): ErrorCode | undefined {
  if (status !== 400) return undefined
  return frontEnds.find(([beginning]) => beginning.test(text))?.[1]
}

/** Of a page what can be read. */
function readable(text: string): string {
  return text.startsWith('<')
    ? text
        .slice(0, 2000)
        .replaceAll(/(?:\s*<[^>]*>)+\s*/g, ' ')
        .trim()
    : text
}

const waitMaxMs = 3_600_000

/** Retry-After in seconds or as a date (RFC 9110 section 10.2.3), at most an hour; undefined: nothing usable. */
export function retryAfterMs(header: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim()
  if (text === undefined || text === '') return undefined
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : dateOf(text) - now
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(Math.ceil(ms), 0), waitMaxMs)
}

/** Date.parse alone reads a date into nearly anything, -5 for example. */
function dateOf(text: string): number {
  return /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN
}
