// What S3 and stores like it answer, as coded errors. Amazon S3 API Reference, "Error responses".

import { TailraceError, type ErrorCode } from '../../errors.ts'
import { wordsOf } from '../http/answer-text.ts'
import { retryAfterMs } from '../http/answers.ts'

/** By the code in the answer; what is not here goes by its status. */
const codes: Readonly<Record<string, ErrorCode>> = {
  RequestTimeTooSkewed: 'sink_misconfigured', // a 403, yet no matter of credentials
  SlowDown: 'sink_throttled',
  TooManyRequests: 'sink_throttled',
  RequestTimeout: 'sink_unavailable', // a 400: the body came too slowly
  OperationAborted: 'sink_unavailable',
  // Damaged on the way.
  BadDigest: 'sink_unavailable',
  IncompleteBody: 'sink_unavailable',
  XAmzContentSHA256Mismatch: 'sink_unavailable',
  CredentialsProviderError: 'sink_credentials', // of the SDK: none were found
  ExpiredToken: 'sink_credentials',
  InvalidToken: 'sink_credentials',
  TokenRefreshRequired: 'sink_credentials',
}

const hints: Readonly<Record<string, string>> = {
  RequestTimeTooSkewed: 'the clock of this machine is wrong by more than 15 minutes; set it',
  NoSuchBucket: 'create the bucket, or correct bucket, region or endpoint',
  NotFound: 'create the bucket, or correct bucket, region or endpoint',
  PermanentRedirect: 'the bucket is in another region; set region',
  AuthorizationHeaderMalformed: 'the bucket is in another region; set region',
  CredentialsProviderError: 'set accessKeyId and secretAccessKey, or give this machine a role',
}

/** The error of a request with so many events; `where` names the store and the bucket. */
export function s3Error(thrown: unknown, where: string, events: number): TailraceError {
  if (thrown instanceof TailraceError) return thrown
  const name = thrown instanceof Error ? thrown.name : 'Error'
  const words = thrown instanceof Error ? thrown.message : String(thrown)
  const { status, retryAfter } = answerOf(thrown)
  const code = codeOf(name, status, events)
  const hint = hints[name] ?? (status === undefined && /region is missing/i.test(words) ? 'set region' : undefined)
  const message = `${where}: ${name}${status === undefined ? '' : ` (status ${status})`}: ${wordsOf(words)}`
  const waitMs = code === 'sink_throttled' ? retryAfterMs(retryAfter, Date.now()) : undefined
  return new TailraceError(code, hint === undefined ? message : `${message}; ${hint}`, {
    cause: thrown,
    // After a server error the object may be there all the same.
    inDoubt: code === 'sink_unavailable',
    ...(status === undefined ? {} : { status }),
    ...(waitMs === undefined ? {} : { waitMs }),
  })
}

function codeOf(name: string, status: number | undefined, events: number): ErrorCode {
  const known = codes[name]
  if (known !== undefined) return known
  if (name === 'EntityTooLarge' || status === 413) return events > 1 ? 'sink_refused_batch' : 'sink_refused_event'
  if (status === 401 || status === 403) return 'sink_credentials'
  if (status === 429 || status === 503) return 'sink_throttled'
  if (status === 507) return 'sink_full'
  if (status !== undefined && status >= 500 && status !== 501) return 'sink_unavailable'
  // The rest is about the request, not about the events: no wrong bucket must cost a single event.
  return 'sink_misconfigured'
}

interface Answered {
  readonly status?: number
  readonly retryAfter?: string
}

/** The SDK keeps the status in `$metadata`, and the answer in `$response`. */
function answerOf(thrown: unknown): Answered {
  const { $metadata, $response } = (thrown ?? {}) as {
    $metadata?: { httpStatusCode?: number }
    $response?: { headers?: Record<string, string> }
  }
  const status = $metadata?.httpStatusCode
  const retryAfter = $response?.headers?.['retry-after']
  return { ...(status === undefined ? {} : { status }), ...(retryAfter === undefined ? {} : { retryAfter }) }
}
