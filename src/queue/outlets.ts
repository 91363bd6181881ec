// One queue per destination. A job only names a stored batch; the relay makes jobs of what was committed,
// and a sweep makes again those that a crash, a full Redis or a fail-over has lost.

import type { Queue, Worker } from 'bullmq'
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
  readonly receivers: readonly Receiver[]
  readonly report: Report
  readonly haltedProbeMs?: number
}

export interface Outlets {
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
  readonly queue: Queue<Job>
  readonly worker: Worker<Job, void>
}

/** A back-fill waits behind what is new, here too. */
const deepPriority = 10
/** Batches of a stream that one sweep looks at; the rest has its turn in the next. */
const sweepMax = 10_000

export function openOutlets(options: OutletsOptions): Outlets {
  const draining = new AbortController()
  const outlets = new Map(
    options.receivers.map((receiver) => [receiver.name, openOutlet(receiver, options, draining.signal)]),
  )
  const { batches } = options

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
    start() {
      for (const { worker } of outlets.values()) void worker.run()
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
      draining.abort(new Error('shutting down'))
      await Promise.all([...outlets.values()].map(async ({ worker }) => closeWorker(worker, graceMs)))
      await Promise.all([...outlets.values()].map(async ({ queue }) => queue.close()))
    },
  }
}

function openOutlet(receiver: Receiver, options: OutletsOptions, draining: AbortSignal): Outlet {
  const { engine, batches, report } = options
  const name = `ship-${receiver.name}`
  const gate = createGate({
    destination: receiver.name,
    concurrencyMax: receiver.concurrencyMax,
    haltedProbeMs: options.haltedProbeMs ?? 300_000,
    report,
    draining,
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
  return { queue: openQueue<Job>(engine, name), worker }
}
