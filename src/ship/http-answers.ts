// What an HTTP status means for a batch. RFC 9110 section 15, and what receivers make of it.

import { TailraceError, type ErrorCode } from '../errors.ts'

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
  const code = statusCode(status, events, waitMs !== undefined)
  const words = text
    .slice(0, 300)
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
  const message = `${where}: status ${status}${words === '' ? '' : `: ${words}`}`
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
  if (status === 408 || status === 425 || (status >= 500 && status !== 501)) return 'sink_unavailable'
  // Redirects are not followed: events go where they were sent. 404, 405, 410, 415, 501 and the rest: a wrong address.
  return 'sink_misconfigured'
}

const waitMaxMs = 3_600_000

/** Retry-After in seconds or as a date (RFC 9110 section 10.2.3), at most an hour; undefined: nothing usable. */
export function retryAfterMs(header: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim()
  if (text === undefined || text === '') return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), waitMaxMs)
}
