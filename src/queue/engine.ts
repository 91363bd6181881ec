// What every BullMQ queue and worker here has in common.

import { Queue, Worker } from 'bullmq'
import type { Processor, Telemetry, WorkerOptions } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { queuePrefix } from './keys.ts'

export interface Engine {
  /** Producers: fails fast where Redis is away. */
  readonly commands: Redis | Cluster
  /** Workers: waits for Redis to come back. */
  readonly workers: Redis | Cluster
  readonly prefix: string
  /** Hands a trace on from who adds a job to who takes it. Left out: nothing is traced. */
  readonly telemetry?: Telemetry | undefined
  /** Called for each error that a queue or worker meets by itself (Redis away, full). */
  readonly onError: (error: Error) => void
}

/** Jobs leave no trace behind: what is left to do is told by the stored batches and the stream's state. */
const noTrace = { removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 } as const

export function openQueue<Data>(engine: Engine, name: string): Queue<Data> {
  const queue = new Queue<Data>(name, {
    connection: engine.commands,
    prefix: queuePrefix(engine.prefix, name),
    ...telemetryOf(engine),
    defaultJobOptions: noTrace,
    // Completions would otherwise pile up in the queue's event stream; nobody listens to them.
    streams: { events: { maxLen: 10 } },
    skipVersionCheck: true,
  })
  queue.on('error', engine.onError)
  return queue
}

export function openWorker<Data>(
  engine: Engine,
  name: string,
  processor: Processor<Data, void>,
  options: Pick<WorkerOptions, 'concurrency'>,
): Worker<Data, void> {
  const worker = new Worker<Data, void>(name, processor, {
    ...options,
    connection: engine.workers,
    prefix: queuePrefix(engine.prefix, name),
    ...telemetryOf(engine),
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
    // A job whose worker was killed is handed out again, however often that happens.
    maxStalledCount: 1_000_000,
    lockDuration: 15_000,
    stalledInterval: 7_500,
    // After an error (Redis full or away) the loop rests instead of spinning.
    runRetryDelay: 1_000,
    autorun: false,
    skipVersionCheck: true,
  })
  worker.on('error', engine.onError)
  return worker
}

function telemetryOf({ telemetry }: Engine): { telemetry?: Telemetry } {
  return telemetry === undefined ? {} : { telemetry }
}

/** BullMQ's own close has no time limit: past the grace, what still runs is left to the stalled check. */
export async function closeWorker(worker: Worker, graceMs: number): Promise<void> {
  const closed = worker.close()
  if (await within(graceMs, closed)) return
  worker.cancelAllJobs('shutting down')
  // Where Redis is away it never closes, and to close it by force would only wait for the same promise.
  await within(cancelledMs, closed)
}

/** From the cancellation of its jobs to the end of a worker, at most. */
const cancelledMs = 1_000

/** Whether the work was done in time. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, ms, false)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
