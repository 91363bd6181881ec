// The stored batches: what each destination still owes. They, not the queue, say what is left to do.

import type { Cluster, Redis } from 'ioredis'
import { TailraceError } from '../errors.ts'
import type { StreamKey } from '../event.ts'
import { unpackRecords } from './batch.ts'
import { streamKeys } from './keys.ts'
import { createScripts } from './scripts.ts'

/** Records [from, to) of a batch. */
export type Span = readonly [from: number, to: number]

/** Names one batch of one destination: the data of a job. */
export interface BatchRef {
  readonly key: StreamKey
  readonly id: string
}

export interface OwedBatch {
  readonly records: readonly Uint8Array[]
  /** What is not confirmed yet, in order. */
  readonly left: readonly Span[]
  /** When it was committed, and its oldest event's time; Unix milliseconds. */
  readonly at: number
  readonly oldest: number
  /** Bytes that it takes in Redis. */
  readonly storedBytes: number
}

/** An event that a destination can never take, with the reason. */
export interface DeadLetter {
  readonly index: number
  readonly code: string
  readonly reason: string
  readonly record: Uint8Array
}

export interface Debt {
  readonly destination: string
  readonly batches: number
  readonly bytes: number
  readonly dead: number
}

export interface Batches {
  /** Undefined where the destination owes nothing of it (any more). */
  load(ref: BatchRef, destination: string): Promise<OwedBatch | undefined>
  /**
   * Records what was confirmed and what is dead; `left` empty: the batch is done for this destination. Rejects with
   * `dead_letters_full` where there are too many already.
   */
  settle(
    ref: BatchRef,
    destination: string,
    outcome: { readonly left: readonly Span[]; readonly dead: readonly DeadLetter[] },
  ): Promise<void>
  /** Who owes what of the batches that are not known to be queued. */
  unqueued(key: StreamKey): Promise<ReadonlyMap<string, readonly string[]>>
  /** Who owes what, of all batches older than `ageMs`, oldest first; at most `count`, after the first `skip`. */
  owed(key: StreamKey, ageMs: number, count: number, skip?: number): Promise<ReadonlyMap<string, readonly string[]>>
  queued(key: StreamKey, ids: readonly string[]): Promise<void>
  debts(key: StreamKey): Promise<Debt[]>
}

/** Of one stream, for one destination. A receiver that refuses more than that is not refusing events, but us. */
const deadLettersMax = 10_000

export function createBatches(redis: Redis | Cluster, prefix: string): Batches {
  const run = createScripts(redis)
  const owers = async (key: StreamKey, ids: readonly string[]): Promise<Map<string, string[]>> => {
    const keys = streamKeys(prefix, key)
    const lists = await Promise.all(ids.map(async (id) => redis.hkeys(keys.batch(id))))
    return new Map(
      ids.map((id, i) => [id, (lists[i] ?? []).filter((f) => f.startsWith('d/')).map((f) => f.slice(2))] as const),
    )
  }
  return {
    async load(ref, destination) {
      const reply = (await run('load', [streamKeys(prefix, ref.key).batch(ref.id)], [destination])) as Buffer[]
      const [left, at, oldest, count, packed] = reply
      if (!left || !at || !oldest || !count || !packed) return undefined
      const records = await unpackRecords(packed)
      const spans = left.length > 0 ? (JSON.parse(left.toString()) as Span[]) : [[0, records.length] as const]
      return {
        records,
        left: spans,
        at: Number(at.toString()),
        oldest: Number(oldest.toString()),
        storedBytes: packed.length,
      }
    },
    async settle(ref, destination, outcome) {
      const keys = streamKeys(prefix, ref.key)
      const letters = outcome.dead.flatMap((letter) => [`${destination}/${ref.id}/${letter.index}`, deadValue(letter)])
      const left = outcome.left.length === 0 ? '' : JSON.stringify(outcome.left)
      const reply = await run(
        'settle',
        [keys.batch(ref.id), keys.owed, keys.outbox, keys.debt, keys.dead, keys.trail],
        [ref.id, destination, left, deadLettersMax, outcome.dead.length, ...letters],
      )
      if (reply !== -1) return
      const text = `${destination} has ${deadLettersMax} dead letters of ${ref.key}: requeue or discard them first`
      throw new TailraceError('dead_letters_full', text)
    },
    async unqueued(key) {
      return await owers(key, await redis.smembers(streamKeys(prefix, key).outbox))
    },
    async owed(key, ageMs, count, skip = 0) {
      const [seconds] = await redis.time()
      const until = Number(seconds) * 1000 - ageMs
      return await owers(key, await redis.zrangebyscore(streamKeys(prefix, key).owed, 0, until, 'LIMIT', skip, count))
    },
    async queued(key, ids) {
      if (ids.length > 0) await redis.srem(streamKeys(prefix, key).outbox, ...ids)
    },
    async debts(key) {
      return parseDebts(await redis.hgetall(streamKeys(prefix, key).debt))
    },
  }
}

function deadValue(letter: DeadLetter): string {
  const record = Buffer.from(letter.record).toString('base64')
  return JSON.stringify({ v: 1, code: letter.code, reason: letter.reason, at: Date.now(), record })
}

function parseDebts(fields: Readonly<Record<string, string>>): Debt[] {
  const destinations = new Set(Object.keys(fields).map((field) => field.slice(0, field.lastIndexOf('/'))))
  return [...destinations].map((destination) => ({
    destination,
    batches: Number(fields[`${destination}/batches`] ?? 0),
    bytes: Number(fields[`${destination}/bytes`] ?? 0),
    dead: Number(fields[`${destination}/dead`] ?? 0),
  }))
}
