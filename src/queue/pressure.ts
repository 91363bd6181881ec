// How much waits for each destination, and whether Redis has room: what makes reading pause, so that the
// service is the buffer.

import { refOf } from '../event.ts'
import type { StreamKey } from '../event.ts'
import type { Report } from '../telemetry/report.ts'
import type { Batch } from './batch.ts'
import type { Batches } from './batches.ts'

export interface PressureOptions {
  readonly batches: Batches
  readonly report: Pick<Report, 'backlogMeasured' | 'backlogFull'>
}

export interface Pressure {
  /** Most bytes that may wait for each destination, from now on. */
  use(bounds: ReadonlyMap<string, number>): void
  /** Sums up what waits, over all streams. */
  measure(keys: readonly StreamKey[]): Promise<void>
  /** What has been committed since then counts at once. */
  added(batches: readonly Batch[]): void
  /** The share of Redis' memory that is in use, 0 to 1. */
  memory(share: number): void
  /** What keeps a stream from being read: the first of its destinations that is full, or `redis`; null: nothing. */
  blocks(key: StreamKey, destinations: readonly string[]): string | null
}

/** Reading pauses here, so that shipping, which frees memory, still has some to work in. */
const memoryShareMax = 0.8
const streamsAtOnce = 200

export function createPressure({ batches, report }: PressureOptions): Pressure {
  let bounds: ReadonlyMap<string, number> = new Map()
  let waiting = new Map<string, number>()
  const paused = new Map<StreamKey, string>()
  let memoryShare = 0
  const fullOf = (destinations: readonly string[]): string | null =>
    memoryShare > memoryShareMax
      ? 'redis'
      : (destinations.find((name) => (waiting.get(name) ?? 0) >= (bounds.get(name) ?? Infinity)) ?? null)
  return {
    use(given) {
      bounds = given
    },
    async measure(keys) {
      const sums = new Map([...bounds.keys()].map((name) => [name, { batches: 0, bytes: 0, dead: 0 }]))
      for (let at = 0; at < keys.length; at += streamsAtOnce) {
        const debts = await Promise.all(keys.slice(at, at + streamsAtOnce).map(async (key) => batches.debts(key)))
        for (const debt of debts.flat()) {
          const sum = sums.get(debt.destination) ?? { batches: 0, bytes: 0, dead: 0 }
          sum.batches += debt.batches
          sum.bytes += debt.bytes
          sum.dead += debt.dead
          sums.set(debt.destination, sum)
        }
      }
      waiting = new Map([...sums].map(([name, sum]) => [name, sum.bytes]))
      for (const [destination, { dead, ...sum }] of sums)
        report.backlogMeasured({
          destination,
          ...sum,
          boundBytes: bounds.get(destination) ?? null,
          deadLetters: dead,
        })
    },
    added(committed) {
      for (const { owers, encodings } of committed) {
        for (const [destination, key] of owers) {
          const bytes = encodings.find((encoded) => encoded.key === key)?.packed.length ?? 0
          waiting.set(destination, (waiting.get(destination) ?? 0) + bytes)
        }
      }
    },
    memory(share) {
      memoryShare = share
    },
    blocks(key, destinations) {
      const full = fullOf(destinations)
      const before = paused.get(key) ?? null
      if (full !== before) {
        if (before !== null) report.backlogFull({ ...refOf(key), destination: before, full: false })
        if (full !== null) report.backlogFull({ ...refOf(key), destination: full, full: true })
        if (full === null) paused.delete(key)
        else paused.set(key, full)
      }
      return full
    },
  }
}
