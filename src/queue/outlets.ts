// One queue per destination. A job only names a stored batch; the relay makes jobs of what was committed,
// and a sweep makes again those that a crash, a full Redis or a fail-over has lost.

import type { Queue } from 'bullmq'
import type { StreamKey } from '../event.ts'
import type { Report } from '../telemetry/report.ts'
import type { Batch } from './batch.ts'
import type { Batches, BatchRef } from './batches.ts'
import { deliver } from './delivery.ts'
import type { Receiver } from './delivery.ts'
import { closeWorker, openQueue, openWorker } from './engine.ts'
import type { Engine } from './engine.ts'
import { createGate } from './gate.ts'

export interface OutletsOptions {
  readonly engine: Engine
  readonly batches: Batches
  readonly report: Report
  readonly haltedProbeMs?: number
}

export interface Outlets {
  /**
   * From now on these are the receivers. One that is the same object as before goes on undisturbed; another of the
   * same name takes over what waits, once the sends under way are done, for up to `graceMs`.
   */
  use(receivers: readonly Receiver[], graceMs: number): Promise<void>
  start(): void
  /** Queues batches that were just committed; those of a deep lane behind all others. */
  relay(key: StreamKey, batches: readonly Batch[], lane: 'live' | 'deep'): Promise<void>
  /** Queues again what is owed and older than `ageMs`; 0: everything. */
  sweep(keys: readonly StreamKey[], ageMs: number): Promise<void>
  /** Lets sends in flight be confirmed, for up to `graceMs`; then they are left to the next start. */
  close(graceMs: number): Promise<void>
}

interface Job extends BatchRef {
  /** Of the job's form: a queue outlives an upgrade. */
  readonly v: 1
}

interface Outlet {
  readonly receiver: Receiver
  readonly queue: Queue<Job>
  start(): void
  close(graceMs: number): Promise<void>
}

/** A back-fill waits behind what is new, here too. */
const deepPriority = 10
/** Batches of a stream that one sweep looks at; the rest has its turn in the next. */
const sweepMax = 10_000

export function openOutlets(options: OutletsOptions): Outlets {
  const outlets = new Map<string, Outlet>()
  const { batches } = options
  let started = false

  const enqueue = async (
    key: StreamKey,
    owers: ReadonlyMap<string, readonly string[]>,
    priority = 0,
  ): Promise<void> => {
    const additions: Promise<unknown>[] = []
    for (const [name, { queue }] of outlets) {
      const jobs = [...owers]
        .filter(([, destinations]) => destinations.includes(name))
        .map(([id]) => ({ name: 'ship', data: { v: 1 as const, key, id }, opts: { jobId: id, priority } }))
      if (jobs.length > 0) additions.push(queue.addBulk(jobs))
    }
    await Promise.all(additions)
    await batches.queued(key, [...owers.keys()])
  }
  return {
    async use(receivers, graceMs) {
      const gone = [...outlets.values()].filter(({ receiver }) => !receivers.includes(receiver))
      for (const { receiver } of gone) outlets.delete(receiver.name)
      await Promise.all(gone.map(async (outlet) => outlet.close(graceMs)))
      for (const receiver of receivers) {
        if (outlets.has(receiver.name)) continue
        const outlet = openOutlet(receiver, options)
        outlets.set(receiver.name, outlet)
        if (started) outlet.start()
      }
    },
    start() {
      started = true
      for (const outlet of outlets.values()) outlet.start()
    },
    async relay(key, committed, lane) {
      if (committed.length === 0) return
      const owers = new Map(committed.map((batch) => [batch.id, [...batch.owers.keys()]]))
      await enqueue(key, owers, lane === 'deep' ? deepPriority : 0)
    },
    async sweep(keys, ageMs) {
      for (const key of keys) {
        const owers = new Map([...(await batches.unqueued(key)), ...(await batches.owed(key, ageMs, sweepMax))])
        if (owers.size > 0) await enqueue(key, owers)
      }
    },
    async close(graceMs) {
      await Promise.all([...outlets.values()].map(async (outlet) => outlet.close(graceMs)))
    },
  }
}

function openOutlet(receiver: Receiver, options: OutletsOptions): Outlet {
  const { engine, batches, report } = options
  const draining = new AbortController()
  const name = `ship-${receiver.name}`
  const gate = createGate({
    destination: receiver.name,
    concurrencyMax: receiver.concurrencyMax,
    haltedProbeMs: options.haltedProbeMs ?? 300_000,
    report,
    draining: draining.signal,
  })
  // A process that was stopped for longer than its locks gets its own jobs again: they join the delivery.
  const underWay = new Map<string, Promise<void>>()
  const worker = openWorker<Job>(
    engine,
    name,
    async ({ data }, _token, signal) => {
      const known = underWay.get(data.id)
      if (known) return await known
      const delivery = deliver(data, receiver, { batches, gate, report }, signal ?? AbortSignal.abort())
      underWay.set(data.id, delivery)
      try {
        await delivery
      } finally {
        underWay.delete(data.id)
      }
    },
    { concurrency: receiver.concurrencyMax },
  )
  const queue = openQueue<Job>(engine, name)
  return {
    receiver,
    queue,
    start: () => void worker.run(),
    async close(graceMs) {
      draining.abort(new Error('shutting down'))
      await closeWorker(worker, graceMs)
      await queue.close()
    },
  }
}
