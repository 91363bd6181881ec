// The turns of an instance's streams: one queue per instance, a rhythm per stream, one request per turn.

import { createHash } from 'node:crypto'
import type { Queue } from 'bullmq'
import type { StreamKey } from '../event.ts'
import { closeWorker, openQueue, openWorker } from './engine.ts'
import type { Engine } from './engine.ts'

/**
 * - `tick`: the rhythm; begins a pass, or takes up one that has lost its chain
 * - `live`, `deep`: goes on with the pass of that lane at that step; outdated ones end at once
 */
export interface Turn {
  readonly v: 1
  readonly key: StreamKey
  readonly lane: 'tick' | 'live' | 'deep'
  readonly pass: string
  readonly step: number
}

export interface TurnsOptions {
  readonly engine: Engine
  readonly instance: string
  /** Turns at once. */
  readonly concurrency: number
  readonly run: (turn: Turn, signal: AbortSignal) => Promise<void>
}

export interface Rhythm {
  readonly key: StreamKey
  readonly everyMs: number
}

export interface Turns {
  start(): void
  /** Makes the rhythm of these streams what it should be. Repeated now and then: a scheduler may stop silently. */
  keep(rhythms: readonly Rhythm[]): Promise<void>
  /** Ends the rhythm of every other stream. */
  drop(except: ReadonlySet<string>): Promise<void>
  /** Adds a turn; the same one (pass, step, attempt) is not added twice. */
  add(turn: Turn, options: { readonly delayMs: number; readonly attempt: number }): Promise<void>
  close(graceMs: number): Promise<void>
}

/** Behind all live turns: a back-fill of a million records holds up nobody. */
const deepPriority = 10
/** Each turn is a trace of its own: one of a whole back-fill would be too long to be looked at. */
const ownTrace = { telemetry: { omitContext: true } }

export function openTurns({ engine, instance, concurrency, run }: TurnsOptions): Turns {
  const name = `poll-${instance}`
  const queue: Queue<Turn> = openQueue<Turn>(engine, name)
  const worker = openWorker<Turn>(
    engine,
    name,
    async (job, _token, signal) => {
      await run(job.data, signal ?? AbortSignal.abort())
    },
    { concurrency },
  )
  return {
    start() {
      void worker.run()
    },
    async keep(rhythms) {
      for (const { key, everyMs } of rhythms) {
        const data: Turn = { v: 1, key, lane: 'tick', pass: '', step: 0 }
        const template = { name: 'turn', data, opts: ownTrace }
        // Spread over the interval, so that a thousand tenants do not ask in the same millisecond.
        await queue.upsertJobScheduler(key, { every: everyMs, offset: offsetOf(key, everyMs) }, template)
      }
    },
    async drop(except) {
      const schedulers = await queue.getJobSchedulers(0, -1)
      for (const { key } of schedulers) if (!except.has(key)) await queue.removeJobScheduler(key)
    },
    async add(turn, { delayMs, attempt }) {
      const jobId = `${turn.key}/${turn.lane}/${turn.pass}/${turn.step}/${attempt}`
      const priority = turn.lane === 'deep' ? deepPriority : 0
      await queue.add('turn', turn, { jobId, delay: delayMs, priority, ...ownTrace })
    },
    async close(graceMs) {
      await closeWorker(worker, graceMs)
      await queue.close()
    },
  }
}

function offsetOf(key: string, everyMs: number): number {
  return createHash('sha1').update(key).digest().readUInt32BE(0) % everyMs
}
