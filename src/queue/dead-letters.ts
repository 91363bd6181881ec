// The dead letters of a stream: events that a destination has refused for good, until a person has seen to them.

import { randomBytes } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import type { StreamKey } from '../event.ts'
import { openQueue } from './engine.ts'
import type { Engine } from './engine.ts'
import { packRecords } from './batch.ts'
import { streamKeys } from './keys.ts'
import { createScripts } from './scripts.ts'

export interface StoredLetter {
  readonly key: StreamKey
  readonly destination: string
  readonly batch: string
  readonly index: number
  readonly code: string
  readonly reason: string
  /** When it was set aside, Unix milliseconds. */
  readonly at: number
  /** As it was sent. */
  readonly record: Buffer
}

/** `acme/attacks/soc/bAbC…/17`: names a letter on a command line. */
export function letterId({ key, destination, batch, index }: StoredLetter): string {
  return `${key}/${destination}/${batch}/${index}`
}

export interface DeadLetters {
  /** All of a stream, in no order, a few hundred at a time: there may be ten thousand of each destination. */
  scan(key: StreamKey): AsyncGenerator<StoredLetter>
  /**
   * Makes a batch of them for the destination that refused them, with the bytes that were refused. All of one stream
   * and destination. False, and nothing is done, where one of them is there no more.
   */
  requeue(letters: readonly StoredLetter[]): Promise<boolean>
  discard(letters: readonly StoredLetter[]): Promise<boolean>
}

export function createDeadLetters(redis: Redis | Cluster, prefix: string): DeadLetters {
  const run = createScripts(redis)
  const take = async (
    letters: readonly StoredLetter[],
    batch: { id: string; packed: Buffer } | null,
  ): Promise<boolean> => {
    const [first] = letters
    if (!first) return true
    const keys = streamKeys(prefix, first.key)
    const fields = batch === null ? [] : batchFields(letters, first.destination, batch.packed)
    const names = letters.map((letter) => `${letter.destination}/${letter.batch}/${letter.index}`)
    const reply = await run(
      'requeue',
      [keys.dead, keys.debt, keys.owed, keys.outbox, keys.batch(batch?.id ?? 'none')],
      [first.destination, batch?.id ?? '', fields.length / 2, ...fields, batch?.packed.length ?? 0, ...names],
    )
    return reply !== -1
  }
  return {
    async *scan(key) {
      const { dead } = streamKeys(prefix, key)
      const seen = new Set<string>()
      let cursor = '0'
      do {
        const [next, pairs] = await redis.hscan(dead, cursor, 'COUNT', 200)
        cursor = next
        for (let i = 0; i < pairs.length; i += 2) {
          const [field = '', text = ''] = pairs.slice(i, i + 2)
          // A hash that is resized meanwhile gives some twice.
          if (seen.size === seen.add(field).size) continue
          yield readLetter(key, field, text)
        }
      } while (cursor !== '0')
    },
    async requeue(letters) {
      const [first] = letters
      if (!first) return true
      const id = `b${randomBytes(12).toString('base64url')}`
      const packed = await packRecords(letters.map(({ record }) => record))
      if (!(await take(letters, { id, packed }))) return false
      // It is stored, and so will be sent: where it cannot be queued now, a sweep does it within a minute.
      await enqueue(redis, { prefix, key: first.key, id, destination: first.destination }).catch(() => undefined)
      return true
    },
    discard: async (letters) => take(letters, null),
  }
}

function readLetter(key: StreamKey, field: string, text: string): StoredLetter {
  const [destination = '', batch = '', index = ''] = field.split('/')
  const { code, reason, at, record } = JSON.parse(text) as { code: string; reason: string; at: number; record: string }
  return { key, destination, batch, index: Number(index), code, reason, at, record: Buffer.from(record, 'base64') }
}

function batchFields(
  letters: readonly StoredLetter[],
  destination: string,
  packed: Buffer,
): (string | number | Buffer)[] {
  const oldest = Math.min(...letters.map(({ at }) => at))
  const encoding = 'dead'
  return ['oldest', oldest, `e/${encoding}`, packed, `c/${encoding}`, letters.length, `d/${destination}`, encoding]
}

/** So that a running daemon sends it now. */
async function enqueue(
  redis: Redis | Cluster,
  { prefix, key, id, destination }: { prefix: string; key: StreamKey; id: string; destination: string },
): Promise<void> {
  const engine: Engine = { commands: redis, workers: redis, prefix, onError: () => undefined }
  const queue = openQueue(engine, `ship-${destination}`)
  try {
    await queue.add('ship', { v: 1, key, id }, { jobId: id })
    await redis.srem(streamKeys(prefix, key).outbox, id)
  } finally {
    await queue.close()
  }
}
