// Delivers one batch to one destination: in sends as large as the sink takes, doing about each error what
// its remedy says, and recording what was confirmed as it goes.

import { setTimeout as sleep } from 'node:timers/promises'
import { asTailraceError } from '../errors.ts'
import type { TailraceError } from '../errors.ts'
import { refOf } from '../event.ts'
import type { Report } from '../telemetry/report.ts'
import { backoffMs } from '../backoff.ts'
import type { Batches, BatchRef, DeadLetter, OwedBatch, Span } from './batches.ts'
import type { Gate } from './gate.ts'

/** What the queue needs of a destination. */
export interface Receiver {
  readonly name: string
  readonly limits: { readonly events: number; readonly bytes: number }
  /** Most sends at once. */
  readonly concurrencyMax: number
  /** Resolves once every record is confirmed; rejects with a `sink_*` error. */
  send(records: readonly Uint8Array[], batchId: string, signal: AbortSignal): Promise<void>
}

export interface DeliveryPorts {
  readonly batches: Batches
  readonly gate: Gate
  readonly report: Report
}

/** Resolves when the destination owes nothing of the batch any more; rejects only with the signal's reason. */
export async function deliver(
  ref: BatchRef,
  receiver: Receiver,
  ports: DeliveryPorts,
  signal: AbortSignal,
): Promise<void> {
  const whose = { receiver, ports }
  const batch = await persist(whose, signal, async () => ports.batches.load(ref, receiver.name))
  if (!batch) return
  let todo = batch.left.flatMap((span) => sendable(span, batch.records, receiver.limits))
  while (todo.length > 0) {
    const [span, ...rest] = todo
    if (!span) return
    const done = await sendSpan(span, { ref, batch, receiver, ports }, signal)
    if (done === 'split') {
      todo = [...halves(span), ...rest]
      continue
    }
    const outcome = { left: rest, dead: done === 'sent' ? [] : [done] }
    await persist(whose, signal, async () => ports.batches.settle(ref, receiver.name, outcome))
    todo = rest
  }
}

interface Whose {
  readonly receiver: Receiver
  readonly ports: DeliveryPorts
}

interface Sending extends Whose {
  readonly ref: BatchRef
  readonly batch: OwedBatch
}

async function sendSpan(span: Span, sending: Sending, signal: AbortSignal): Promise<'sent' | 'split' | DeadLetter> {
  const { ref, batch, receiver, ports } = sending
  const records = batch.records.slice(...span)
  for (;;) {
    await ports.gate.enter(signal)
    const startedAt = Date.now()
    const error = await attempt(async () => receiver.send(records, ref.id, signal))
    if (!error) {
      ports.gate.succeeded()
      ports.report.eventsShipped({ ...refOf(ref.key), ...shipped(sending, records, startedAt) })
      return 'sent'
    }
    if (signal.aborted) {
      ports.gate.left()
      throw signal.reason
    }
    const refused = error.remedy === 'split' || error.remedy === 'stop'
    // The receiver answered, if only to refuse: it is not down.
    const retryMs = refused ? (ports.gate.left(), 0) : ports.gate.failed(error)
    ports.report.sendFailed({ destination: receiver.name, error, events: records.length, retryMs })
    if (!refused) continue
    if (records.length > 1) return 'split'
    ports.report.eventDead({ ...refOf(ref.key), destination: receiver.name, error })
    const [record] = records
    return { index: span[0], code: error.code, reason: error.message, record: record ?? new Uint8Array() }
  }
}

function shipped(
  { batch, receiver }: Sending,
  records: readonly Uint8Array[],
  startedAt: number,
): { destination: string; events: number; bytes: number; ms: number; delayMs: number } {
  const now = Date.now()
  return {
    destination: receiver.name,
    events: records.length,
    bytes: records.reduce((sum, record) => sum + record.length, 0),
    ms: now - startedAt,
    delayMs: now - batch.oldest,
  }
}

async function attempt(send: () => Promise<void>): Promise<TailraceError | undefined> {
  try {
    await send()
    return undefined
  } catch (error) {
    return asTailraceError(error)
  }
}

/**
 * Redis may be away for a while: what was confirmed must still be recorded, or it would be sent again. A
 * destination with too many dead letters is halted until somebody has seen to them.
 */
async function persist<T>({ receiver, ports }: Whose, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work()
    } catch (thrown) {
      if (signal.aborted) throw thrown
      const error = asTailraceError(thrown)
      if (error.code === 'dead_letters_full') {
        await ports.gate.enter(signal)
        const retryMs = ports.gate.failed(error)
        ports.report.sendFailed({ destination: receiver.name, error, events: 0, retryMs })
      }
      await sleep(backoffMs(failures, { firstMs: 50, highestMs: 2_000 }), undefined, { signal })
    }
  }
}

/** Cuts a span so that each part is within the limits; a single record above them goes alone. */
export function sendable(span: Span, records: readonly Uint8Array[], limits: Receiver['limits']): Span[] {
  const spans: Span[] = []
  let [from] = span
  let bytes = 0
  for (let i = span[0]; i < span[1]; i++) {
    const size = records[i]?.length ?? 0
    if (i > from && (i - from >= limits.events || bytes + size > limits.bytes)) {
      spans.push([from, i])
      from = i
      bytes = 0
    }
    bytes += size
  }
  if (from < span[1]) spans.push([from, span[1]])
  return spans
}

function halves([from, to]: Span): Span[] {
  const middle = from + Math.ceil((to - from) / 2)
  return [
    [from, middle],
    [middle, to],
  ]
}
