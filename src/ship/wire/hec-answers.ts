// What the HTTP Event Collector of Splunk says, and what it means for a batch.

import { TailraceError, type ErrorCode } from '../../errors.ts'
import { parseObject, wordsOf } from '../http/answer-text.ts'
import { retryAfterMs, statusError, type HttpAnswer } from '../http/answers.ts'
import { allTaken, type Untaken } from '../sink.ts'

/** `refused`: an event in the request is to blame, and `invalid-event-number` may say which. */
type Meaning = 'taken' | 'healthy' | 'refused' | ErrorCode

interface HecCode {
  readonly status: number
  readonly text: string
  readonly means: Meaning
  /** What an operator should do. */
  readonly hint?: string
}

/** Splunk, "Troubleshoot HTTP Event Collector", possible error codes. */
const hecCodes: Readonly<Record<number, HecCode>> = {
  0: { status: 200, text: 'Success', means: 'taken' },
  1: { status: 403, text: 'Token disabled', means: 'sink_credentials' },
  2: { status: 401, text: 'Token is required', means: 'sink_credentials' },
  3: { status: 401, text: 'Invalid authorization', means: 'sink_credentials' },
  4: { status: 403, text: 'Invalid token', means: 'sink_credentials' },
  5: { status: 400, text: 'No data', means: 'refused' },
  6: { status: 400, text: 'Invalid data format', means: 'refused' },
  7: {
    status: 400,
    text: 'Incorrect index',
    // The events are good. Nobody would want them dead because a token does not list their index.
    means: 'sink_misconfigured',
    hint: 'the token must be allowed the index that the option index says',
  },
  8: { status: 500, text: 'Internal server error', means: 'sink_unavailable' },
  9: { status: 503, text: 'Server is busy', means: 'sink_unavailable' },
  10: {
    status: 400,
    text: 'Data channel is missing',
    means: 'sink_misconfigured',
    hint: 'the token wants acknowledgement: set acknowledge to auto or on',
  },
  11: { status: 400, text: 'Invalid data channel', means: 'sink_misconfigured', hint: 'look at the option channel' },
  12: { status: 400, text: 'Event field is required', means: 'refused' },
  13: { status: 400, text: 'Event field cannot be blank', means: 'refused' },
  14: {
    status: 400,
    text: 'ACK is disabled',
    means: 'sink_misconfigured',
    hint: 'the token has no acknowledgement: set acknowledge to auto or off',
  },
  15: { status: 400, text: 'Error in handling indexed fields', means: 'refused' },
  16: { status: 400, text: 'Query string authorization is not enabled', means: 'sink_misconfigured' },
  17: { status: 200, text: 'HEC is healthy', means: 'healthy' },
  18: { status: 503, text: 'HEC is unhealthy, queues are full', means: 'sink_unavailable' },
  19: { status: 503, text: 'HEC is unhealthy, ack service unavailable', means: 'sink_unavailable' },
  20: { status: 503, text: 'HEC is unhealthy, queues are full, ack service unavailable', means: 'sink_unavailable' },
  21: { status: 400, text: 'Invalid token', means: 'sink_credentials' },
  22: { status: 400, text: 'Token disabled', means: 'sink_credentials' },
  23: { status: 503, text: 'Server is shutting down', means: 'sink_unavailable' },
  24: { status: 200, text: 'HEC queue is approaching its capacity limit', means: 'taken' },
  25: { status: 200, text: 'HEC ACK is approaching its capacity limit', means: 'taken' },
  26: { status: 429, text: 'HEC queue is at capacity', means: 'sink_throttled' },
  27: { status: 429, text: 'HEC ACK channel is at capacity', means: 'sink_throttled' },
}

/** The codes of "ACK is disabled" and "HEC is healthy". */
export const hecAckDisabled = 14
export const hecHealthy = 17

export interface HecOutcome {
  readonly untaken: readonly Untaken[]
  /** What to ask with whether they are indexed, where the token has acknowledgement. */
  readonly ackId: number | undefined
}

/** What became of so many events, by the answer to them. Throws where none is known to be taken. */
export function readOutcome(answer: HttpAnswer, events: number): HecOutcome {
  const { code, ackId, invalidEvent } = read(answer)
  const means = meaningOf(code)
  // Old versions answer with nothing but an ackId.
  if (isOk(answer) && (means === 'taken' || (code === undefined && ackId !== undefined))) {
    return { untaken: allTaken, ackId }
  }
  if (means !== 'refused' || events === 1 || invalidEvent === undefined || invalidEvent >= events) {
    throw hecError(answer, events)
  }
  return { untaken: withoutOne(answer, events, invalidEvent), ackId: undefined }
}

/** The error of an answer that takes none of so many events. */
export function hecError(answer: HttpAnswer, events: number): TailraceError {
  const { code, invalidEvent = 0 } = read(answer)
  const means = meaningOf(code)
  if (means === undefined || means === 'taken' || means === 'healthy') return oddAnswer(answer, events)
  const { status } = answer
  // It takes one event after the other: it may have some of them when it stops.
  const inDoubt = invalidEvent > 0 || status === 500
  if (means === 'refused') {
    const refused = events > 1 ? 'sink_refused_batch' : 'sink_refused_event'
    return new TailraceError(refused, messageOf(answer), { status, inDoubt })
  }
  const waitMs = retryAfterMs(answer.retryAfter, Date.now())
  if (waitMs === undefined || (means !== 'sink_unavailable' && means !== 'sink_throttled')) {
    return new TailraceError(means, messageOf(answer), { status, inDoubt })
  }
  return new TailraceError('sink_throttled', messageOf(answer), { status, inDoubt, waitMs })
}

/** The code of the collector; undefined: the answer has none. */
export function hecCode(answer: HttpAnswer): number | undefined {
  return read(answer).code
}

/** Whether the indexer says that what has this `ackId` is indexed. Throws for an answer that says neither. */
export function readAcknowledged(answer: HttpAnswer, ackId: number): boolean {
  const acks = isOk(answer) ? parseObject(answer.text)?.['acks'] : undefined
  if (typeof acks !== 'object' || acks === null) throw hecError(answer, 1)
  return new Map<string, unknown>(Object.entries(acks)).get(String(ackId)) === true
}

/**
 * One event is refused for good. Of the others nothing is confirmed: those behind it were not looked at, and those
 * before it are in the index by some accounts, and not by others. So they are sent again, and may arrive twice.
 */
function withoutOne(answer: HttpAnswer, events: number, refused: number): Untaken[] {
  const { where, status } = answer
  const words = `${where}: event ${refused + 1} of ${events} was refused; the others are sent again`
  const again = new TailraceError('sink_unavailable', words, { status, inDoubt: refused > 0 })
  const dead = new TailraceError('sink_refused_event', messageOf(answer), { status })
  return Array.from({ length: events }, (_, index) => ({ index, error: index === refused ? dead : again }))
}

interface Said {
  readonly code: number | undefined
  readonly text: string
  readonly ackId: number | undefined
  /** From 0. */
  readonly invalidEvent: number | undefined
}

function read(answer: HttpAnswer): Said {
  const said = parseObject(answer.text) ?? {}
  return {
    code: wholeNumber(said['code']),
    text: typeof said['text'] === 'string' ? said['text'] : '',
    ackId: wholeNumber(said['ackId'] ?? said['ackID']),
    invalidEvent: wholeNumber(said['invalid-event-number']),
  }
}

/** Some versions have numbers in quotes. */
function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined
}

function isOk({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300
}

function meaningOf(code: number | undefined): Meaning | undefined {
  return code === undefined ? undefined : hecCodes[code]?.means
}

function oddAnswer(answer: HttpAnswer, events: number): TailraceError {
  if (!isOk(answer)) return statusError(answer, events)
  const { where, status, text } = answer
  const message = `${where}: status ${status}, but it does not answer as an event collector does (${wordsOf(text)}); is url right?`
  return new TailraceError('sink_misconfigured', message, { status, inDoubt: true })
}

function messageOf(answer: HttpAnswer): string {
  const { code = -1, text } = read(answer)
  const known = hecCodes[code]
  const hint = known?.hint === undefined ? '' : `; ${known.hint}`
  return `${answer.where}: status ${answer.status}, code ${code}: ${wordsOf(text) || known?.text}${hint}`
}
