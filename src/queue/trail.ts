// The trail of a stream: which batches its latest events went into, and who has confirmed them. For people who ask
// after one event; nothing depends on it.
//
// A Redis stream, whose entry ids tell the time. commit.lua adds { b: batch, p: page, s: sequence of its first event,
// i: 11 characters of each event's id }, settle.lua { b: batch, d: destination } once a destination owes it no more.

import type { Cluster, Redis } from 'ioredis'
import type { StreamKey } from '../event.ts'
import { tracedIdLength } from './batch.ts'
import { streamKeys } from './keys.ts'

export interface Trace {
  readonly key: StreamKey
  readonly batch: string
  /** The page that brought it, in words. */
  readonly page: string
  /** When that was committed, Unix milliseconds. */
  readonly readAt: number
  /** Null: it was replayed, and has no number of its own. */
  readonly sequence: number | null
  /** Destinations that owe the batch no more: it was confirmed, or its refused events are dead letters. Unix ms. */
  readonly settled: readonly { readonly destination: string; readonly at: number }[]
  /** Destinations that owe it, whole or in part. */
  readonly waiting: readonly string[]
}

/** An event by its id, or by its sequence. */
export type Sought = { readonly id: string } | { readonly sequence: number }

const together = 200

/** Every batch of the stream that has it, oldest first: one that was replayed is in several. */
export async function traceEvent(
  redis: Redis | Cluster,
  prefix: string,
  key: StreamKey,
  sought: Sought,
): Promise<Trace[]> {
  const keys = streamKeys(prefix, key)
  const found: Omit<Trace, 'settled' | 'waiting'>[] = []
  const settled: { batch: string; destination: string; at: number }[] = []
  for (let from = '-'; ;) {
    const entries = await redis.xrange(keys.trail, from, '+', 'COUNT', together)
    for (const [entry, pairs] of entries) {
      const at = Number.parseInt(entry, 10)
      const { b: batch = '', d: destination, p: page = '', s: first = '', i: ids = '' } = fieldsOf(pairs)
      if (destination !== undefined) settled.push({ batch, destination, at })
      const nth = placeOf(sought, ids, first)
      if (nth >= 0) found.push({ key, batch, page, readAt: at, sequence: first === '' ? null : Number(first) + nth })
    }
    const last = entries.at(-1)?.[0]
    if (entries.length < together || last === undefined) break
    from = `(${last}`
  }
  return await Promise.all(
    found.map(async (one) => ({
      ...one,
      settled: settled.filter(({ batch }) => batch === one.batch).map(({ destination, at }) => ({ destination, at })),
      waiting: (await redis.hkeys(keys.batch(one.batch))).filter((f) => f.startsWith('d/')).map((f) => f.slice(2)),
    })),
  )
}

function fieldsOf(pairs: readonly string[]): Partial<Record<string, string>> {
  const fields: Record<string, string> = {}
  for (let i = 0; i < pairs.length; i += 2) fields[pairs[i] ?? ''] = pairs[i + 1] ?? ''
  return fields
}

/** Its place among the events of a batch, or -1. */
function placeOf(sought: Sought, ids: string, first: string): number {
  const count = ids.length / tracedIdLength
  if ('sequence' in sought) {
    const nth = first === '' ? -1 : sought.sequence - Number(first)
    return nth < count ? nth : -1
  }
  const prefix = sought.id.slice(0, tracedIdLength)
  for (let at = ids.indexOf(prefix); at >= 0; at = ids.indexOf(prefix, at + 1))
    if (at % tracedIdLength === 0) return at / tracedIdLength
  return -1
}
