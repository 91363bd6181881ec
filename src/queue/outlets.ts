// One queue per destination. A job only names a stored batch; the relay makes jobs of what was committed,
// and a sweep makes again those that a crash, a full Redis or a fail-over has lost.

import type { Queue } from 'bullmq'
import type { StreamKey } from '../event.ts'
import type { Report } from '../telemetry/report.ts'
import type { Batch } from './batch.ts'
import type { Batches, BatchRef } from './batches.ts'
import { deliver } from './delivery.ts'
import type { Receiver } from './delivery.ts'
import { closeWorker, openQueue, openWorker, within } from './engine.ts'
import type { Engine } from './engine.ts'
import { createGate } from './gate.ts'
import type { Gate } from './gate.ts'

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
  /** From now on nothing is sent to these: a person has paused them. Sends under way go on. */
  hold(destinations: ReadonlySet<string>): void
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
  receiver(): Receiver
  /** Another receiver takes over. What is being sent is waited for; everything else goes to the new one. */
  swap(receiver: Receiver, graceMs: number): Promise<void>
  hold(held: boolean): void
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
  let held: ReadonlySet<string> = new Set()

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
      const names = new Set(receivers.map(({ name }) => name))
      const gone = [...outlets].filter(([name]) => !names.has(name))
      for (const [name] of gone) outlets.delete(name)
      const closed = gone.map(async ([, outlet]) => outlet.close(graceMs))
      const swapped = receivers.map(async (receiver) => {
        const known = outlets.get(receiver.name)
        if (known !== undefined) return known.receiver() === receiver ? undefined : await known.swap(receiver, graceMs)
        const outlet = openOutlet(receiver, options)
        outlet.hold(held.has(receiver.name))
        outlets.set(receiver.name, outlet)
        if (started) outlet.start()
      })
      await Promise.all([...closed, ...swapped])
    },
    start() {
      started = true
      for (const outlet of outlets.values()) outlet.start()
    },
    hold(destinations) {
      held = destinations
      for (const [name, outlet] of outlets) outlet.hold(held.has(name))
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

/** A receiver with all that is known of how it takes events. */
interface Line {
  readonly receiver: Receiver
  readonly gate: Gate
  readonly draining: AbortController
  /** A process that was stopped for longer than its locks gets its own jobs again: they join the delivery. */
  readonly underWay: Map<string, Promise<void>>
}

function openOutlet(first: Receiver, options: OutletsOptions): Outlet {
  const { engine, batches, report } = options
  const name = `ship-${first.name}`
  const replaced = new Error('another receiver has taken over')
  let line = openLine(first, options)
  let held = false

  const run = async (job: Job, signal: AbortSignal): Promise<void> => {
    for (;;) {
      const { receiver, gate, underWay } = line
      const known = underWay.get(job.id)
      const delivery = known ?? deliver(job, receiver, { batches, gate, report }, signal)
      underWay.set(job.id, delivery)
      try {
        return await delivery
      } catch (thrown) {
        if (thrown !== replaced) throw thrown
      } finally {
        underWay.delete(job.id)
      }
    }
  }
  const worker = openWorker<Job>(
    engine,
    name,
    async ({ data }, _token, signal) => run(data, signal ?? AbortSignal.abort()),
    { concurrency: first.concurrencyMax },
  )
  const queue = openQueue<Job>(engine, name)
  return {
    queue,
    receiver: () => line.receiver,
    async swap(receiver, graceMs) {
      const before = line
      line = openLine(receiver, options)
      line.gate.hold(held)
      worker.concurrency = receiver.concurrencyMax
      before.draining.abort(replaced)
      await within(graceMs, Promise.allSettled(before.underWay.values()))
    },
    hold(now) {
      held = now
      line.gate.hold(held)
    },
    start: () => void worker.run(),
    async close(graceMs) {
      line.draining.abort(new Error('shutting down'))
      await closeWorker(worker, graceMs)
      await queue.close()
    },
  }
}

function openLine(receiver: Receiver, { report, haltedProbeMs = 300_000 }: OutletsOptions): Line {
  const draining = new AbortController()
  const { name: destination, concurrencyMax } = receiver
  const gate = createGate({ destination, concurrencyMax, haltedProbeMs, report, draining: draining.signal })
  return { receiver, gate, draining, underWay: new Map() }
}
