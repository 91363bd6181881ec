// Every way in which a request to the service fails, as a coded error.

import { TailraceError, type ErrorCode, type ErrorDetails } from '../errors.ts'
import { presentable, wordsOf, type Mask } from './words.ts'

// Asking once an hour is polite whatever the service says, and no header stops a stream for ever.
const waitMaxMs = 3_600_000

/** What an error message says about a request. */
export interface RequestRef {
  readonly operation: string
  readonly instance: string
  readonly hide: Mask
  /** Whether asking twice does no harm. If not, a failure may leave open whether it was done. */
  readonly idempotent: boolean
}

/** What is known of an answer that is not a success. */
export interface RefusedAnswer {
  readonly status: number
  /** The body as parsed JSON, or as text; undefined: none, or it could not be read. */
  readonly body: unknown
  readonly retryAfter: string | null
  /** `Date` header, Unix ms. */
  readonly date: number | null
  readonly location: string | null
}

/** The error for an answer whose status, outer or inner, is not a success. */
export function refusal(request: RequestRef, answer: RefusedAnswer): TailraceError {
  const { status } = answer
  const code = codeOf(status)
  const said = status < 400 ? redirected(request, answer.location) : wordsOf(errorBody(answer.body), request.hide)
  const waits = code === 'service_throttled' || code === 'service_unavailable'
  const waitMs = waits ? waitOf(answer.retryAfter, answer.date) : undefined
  return failure(request, code, said === '' ? `answered ${status}` : `answered ${status}: ${said}`, {
    status,
    ...(waitMs === undefined ? {} : { waitMs }),
    inDoubt: !request.idempotent && status >= 500,
  })
}

/** The error for a request that got no answer, or only a part of one. */
export function breakage(request: RequestRef, thrown: unknown, headersCame: boolean): TailraceError {
  if (thrown instanceof TailraceError) return thrown
  const sign = causeCode(thrown)
  const details = { cause: bareCause(thrown, request.hide), inDoubt: !request.idempotent && !connecting.has(sign) }
  if (timeouts.has(sign)) {
    return failure(request, 'service_timeout', `did not answer in time (${sign})`, details)
  }
  const notHttp = thrown instanceof Error && thrown.name === 'HTTPParserError'
  if (headersCame || notHttp || sign === 'UND_ERR_HEADERS_OVERFLOW') {
    return failure(request, 'service_unreadable', `the answer broke off or is not HTTP (${sign})`, details)
  }
  const advice = certificate.test(sign) ? '; if its authority is a private one, set service.ca' : ''
  const why = presentable(messageOf(thrown), request.hide)
  return failure(request, 'service_unreachable', `no connection: ${why || sign}${advice}`, details)
}

/** An error about a request, in one form: operation, instance, what happened. */
export function failure(request: RequestRef, code: ErrorCode, what: string, details?: ErrorDetails): TailraceError {
  const doubt = details?.inDoubt === true ? '; it may have been done all the same' : ''
  return new TailraceError(code, `${request.operation} (${request.instance}): ${what}${doubt}`, details)
}

const timeouts = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'])
// With these nothing was sent.
const connecting = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
const certificate = /CERT|SELF_SIGNED|UNABLE_TO|ISSUER|ALTNAME/

function codeOf(status: number): ErrorCode {
  switch (status) {
    case 401:
    case 403:
      return 'service_refused'
    case 408:
      return 'service_timeout'
    case 409:
      return 'service_conflict'
    case 423:
      return 'service_locked'
    case 429:
      return 'service_throttled'
  }
  if (status >= 500) return 'service_unavailable'
  return status >= 400 ? 'service_rejected' : 'service_unreadable'
}

function redirected(request: RequestRef, location: string | null): string {
  // Without its query: a page to log in gets handed all kinds of things.
  const target = location?.split(/[?#]/, 1)[0] ?? 'nowhere'
  return `a redirect to ${presentable(target, request.hide)}, which is not followed; check the base URL`
}

/** `{"status":N,"body":X}` and `{"body":X}` are about X; anything else is about itself. */
function errorBody(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'body' in body ? body.body : body
}

/** `Retry-After`: seconds, or a date by the service's own clock. */
function waitOf(retryAfter: string | null, date: number | null): number | undefined {
  if (retryAfter === null) return undefined
  const text = retryAfter.trim()
  const isSeconds = /^\d+(\.\d+)?$/.test(text)
  const waitMs = isSeconds ? Number(text) * 1000 : Date.parse(text) - (date ?? Date.now())
  if (Number.isNaN(waitMs) || !(isSeconds || /^[A-Za-z]{3}/.test(text))) return undefined
  return Math.min(Math.max(0, waitMs), waitMaxMs)
}

/** The cause without what undici hangs on it; its message may quote the answer. */
function bareCause(thrown: unknown, hide: Mask): Error {
  const bare = new Error(presentable(messageOf(thrown), hide))
  bare.name = thrown instanceof Error ? thrown.name : 'Error'
  return Object.assign(bare, { code: causeCode(thrown) })
}

function causeCode(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown'
  return 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : thrown.name
}

/** Happy Eyeballs throws an AggregateError without words of its own. */
function messageOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.message === '') return thrown.errors.map(messageOf).join('; ')
  return thrown instanceof Error ? thrown.message : String(thrown)
}
