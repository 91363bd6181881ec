// What `_bulk` of Elasticsearch and OpenSearch says of each document, and what it means for it.

import { TailraceError, type ErrorCode } from '../../errors.ts'
import { asObject, parseObject, wordsOf } from '../http/answer-text.ts'
import { retryAfterMs, statusError, type HttpAnswer } from '../http/answers.ts'
import type { Untaken } from '../sink.ts'

/** What is wanted of the answer: all that is looked at here. */
export const bulkFilter = [
  'errors',
  ...['status', 'failure_store', 'error.type', 'error.reason'].map((name) => `items.*.${name}`),
]

/**
 * The documents that were not taken, by the answer to so many `create` actions. Throws where the answer does not
 * account for each of them: then none counts as taken, and those that are will say so when they are sent again.
 */
export function untakenOf(answer: HttpAnswer, events: number): readonly Untaken[] {
  if (answer.status !== 200) throw statusError(answer, events)
  const said = parseObject(answer.text)
  const items = Array.isArray(said?.['items']) ? said['items'].map(readItem) : []
  const accounted = items.length === events && typeof said?.['errors'] === 'boolean'
  if (!accounted) throw unaccounted(answer, `it accounts for ${items.length} of ${events} documents`)
  return items.flatMap((item, index) => {
    if (item === undefined) throw unaccounted(answer, `it says nothing of document ${index + 1}`)
    const error = itemError(item, answer)
    return error === undefined ? [] : [{ index, error }]
  })
}

interface Item {
  readonly status: number
  /** `used`: the document is not in the data stream, but among its failures. */
  readonly failureStore: unknown
  readonly type: string
  readonly reason: string
}

function readItem(item: unknown): Item | undefined {
  const created = asObject(asObject(item)?.['create'])
  const error = asObject(created?.['error'])
  const status = created?.['status']
  if (typeof status !== 'number') return undefined
  return {
    status,
    failureStore: created?.['failure_store'],
    type: textOf(error?.['type']),
    reason: textOf(error?.['reason']),
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function itemError(item: Item, { where, retryAfter }: HttpAnswer): TailraceError | undefined {
  const { status, type, reason } = item
  if (item.failureStore === 'used') {
    const message = `${where}: the document does not fit, and went to the failure store of its data stream`
    return new TailraceError('sink_refused_event', message, { status })
  }
  // 409: the document is there already, from a time when its confirmation got lost.
  if (status === 200 || status === 201 || status === 409) return undefined
  const code = itemCode(item)
  const waitMs = code === 'sink_throttled' ? retryAfterMs(retryAfter, Date.now()) : undefined
  const words = wordsOf([type, reason].filter((part) => part !== '').join(': '))
  const message = `${where}: status ${status}${words === '' ? '' : `, ${words}`}`
  return new TailraceError(code, message, { status, ...(waitMs === undefined ? {} : { waitMs }) })
}

/** 400s that are about where the document goes, not about the document. */
const indexTrouble = new Set(['index_closed_exception', 'invalid_index_name_exception', 'validation_exception'])

/** Reasons that are: a pipeline that is not there, and events that name another data stream than the one they go to. */
const misdirected = /^(pipeline with id |(\[\d+:\d+\] )?failed to parse field \[data_stream\.)/

function itemCode({ status, type, reason }: Item): ErrorCode {
  // Block 12 is that of a disk above its flood-stage watermark: status 429, before Elasticsearch 7.8 403.
  if (type === 'cluster_block_exception' && reason.includes('/12/')) return 'sink_full'
  if (status === 429) return 'sink_throttled'
  if (status === 401 || status === 403)
    return type === 'cluster_block_exception' ? 'sink_misconfigured' : 'sink_credentials'
  if (status === 404 || indexTrouble.has(type) || misdirected.test(reason)) return 'sink_misconfigured'
  // Two requests made the index at the same time.
  if (status >= 500 || status === 408 || type === 'resource_already_exists_exception') return 'sink_unavailable'
  return 'sink_refused_event'
}

function unaccounted({ where, status, text }: HttpAnswer, what: string): TailraceError {
  const message = `${where}: the answer cannot be relied on, ${what} (${wordsOf(text)})`
  return new TailraceError('sink_unavailable', message, { status, inDoubt: true })
}
