// Delivers one batch to one destination: in sends as large as the sink takes, doing about each error what
// its remedy says, and recording what was confirmed as it goes.

import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { asTailraceError, TailraceError } from '../errors.ts'
import { refOf } from '../event.ts'
import type { Report } from '../telemetry/report.ts'
import { backoffMs } from '../backoff.ts'
import type { Batches, BatchRef, DeadLetter, OwedBatch, Span } from './batches.ts'
import type { Gate } from './gate.ts'

/** A record that was not taken while others were: its place in what was sent, and why. */
export interface Untaken {
  readonly index: number
  readonly error: TailraceError
}

/** What the queue needs of a destination. */
export interface Receiver {
  readonly name: string
  readonly limits: { readonly events: number; readonly bytes: number }
  /** Most sends at once. */
  readonly concurrencyMax: number
  /** Resolves once the records are confirmed, but for those that it returns; rejects with a `sink_*` error. */
  send(records: readonly Uint8Array[], sendId: string, signal: AbortSignal): Promise<readonly Untaken[]>
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
  let todo = portionsOf(batch.left, batch.records, receiver.limits)
  while (todo.length > 0) {
    const [portion, ...rest] = todo
    if (!portion) return
    const done = await sendPortion(portion, { ref, batch, receiver, ports }, signal)
    todo = [...done.left, ...rest]
    if (done.settled === 0) continue
    const outcome = { left: spansOf(todo.flat()), dead: done.dead }
    await persist(whose, signal, async () => ports.batches.settle(ref, receiver.name, outcome))
  }
}

/** What is sent as one: places in the batch, ascending. */
type Portion = readonly number[]

interface Whose {
  readonly receiver: Receiver
  readonly ports: DeliveryPorts
}

interface Sending extends Whose {
  readonly ref: BatchRef
  readonly batch: OwedBatch
}

interface Done {
  readonly dead: readonly DeadLetter[]
  readonly left: readonly Portion[]
  /** Records that were confirmed or have died. */
  readonly settled: number
}

async function sendPortion(portion: Portion, sending: Sending, signal: AbortSignal): Promise<Done> {
  const { batch, receiver, ports } = sending
  const records = portion.map((index) => batch.records[index] ?? new Uint8Array())
  const sendId = sendIdOf(portion, sending)
  for (;;) {
    await ports.gate.enter(signal)
    const startedAt = Date.now()
    const answer = await attempt(async () => receiver.send(records, sendId, signal))
    if (!(answer instanceof TailraceError)) return take(portion, answer, sending, startedAt)
    if (signal.aborted) {
      ports.gate.left()
      throw signal.reason
    }
    // The receiver answered, if only to refuse: it is not down.
    const retryMs = isRefusal(answer) ? (ports.gate.left(), 0) : ports.gate.failed(answer)
    ports.report.sendFailed({ destination: receiver.name, error: answer, events: records.length, retryMs })
    if (!isRefusal(answer)) continue
    if (portion.length > 1) return { dead: [], left: halves(portion), settled: 0 }
    return { dead: bury(portion, answer, sending), left: [], settled: 1 }
  }
}

/** What the receiver took is done; what it refused is dead; what it could not take now is tried again, alone. */
function take(portion: Portion, untaken: readonly Untaken[], sending: Sending, startedAt: number): Done {
  const { ref, receiver, ports, batch } = sending
  const not = new Set(untaken.map(({ index }) => index))
  const taken = portion.flatMap((place, index) => (not.has(index) ? [] : [batch.records[place] ?? new Uint8Array()]))
  if (taken.length > 0) ports.report.eventsShipped({ ...refOf(ref.key), ...shipped(sending, taken, startedAt) })
  const places = (some: readonly Untaken[]): number[] =>
    some.flatMap(({ index }) => portion[index] ?? []).toSorted(ascending)
  const later = untaken.filter(({ error }) => !isRefusal(error))
  // Refused together: which of them it was is found out by halving.
  const doubtful = places(untaken.filter(({ error }) => error.remedy === 'split'))
  const refused = untaken.filter(({ error }) => isRefusal(error) && !(error.remedy === 'split' && doubtful.length > 1))
  const dead = refused.flatMap((one) => bury(places([one]), one.error, sending))
  const [first] = later
  if (first === undefined) ports.gate.succeeded()
  else {
    const retryMs = ports.gate.failed(first.error)
    ports.report.sendFailed({ destination: receiver.name, error: first.error, events: later.length, retryMs })
  }
  const left = [...(doubtful.length > 1 ? halves(doubtful) : []), places(later)].filter((some) => some.length > 0)
  return { dead, left, settled: portion.length - left.flat().length }
}

function bury(places: readonly number[], error: TailraceError, { ref, receiver, ports, batch }: Sending): DeadLetter[] {
  return places.map((index) => {
    ports.report.eventDead({ ...refOf(ref.key), destination: receiver.name, error })
    return { index, code: error.code, reason: error.message, record: batch.records[index] ?? new Uint8Array() }
  })
}

function isRefusal({ remedy }: TailraceError): boolean {
  return remedy === 'split' || remedy === 'stop'
}

/** Of a part of a batch it must be another than of the whole: a receiver that knows it would drop the part. */
function sendIdOf(portion: Portion, { ref, batch }: Sending): string {
  if (portion.length === batch.records.length) return ref.id
  return `${ref.id}-${hash('sha256', JSON.stringify(spansOf(portion)), 'base64url').slice(0, 8)}`
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

async function attempt(send: () => Promise<readonly Untaken[]>): Promise<readonly Untaken[] | TailraceError> {
  try {
    return await send()
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

/** Cuts what is left so that each part is within the limits; a single record above them goes alone. */
export function portionsOf(
  left: readonly Span[],
  records: readonly Uint8Array[],
  limits: Receiver['limits'],
): Portion[] {
  const portions: Portion[] = []
  let portion: number[] = []
  let bytes = 0
  for (const [from, to] of left) {
    for (let place = from; place < to; place++) {
      const size = records[place]?.length ?? 0
      if (portion.length > 0 && (portion.length >= limits.events || bytes + size > limits.bytes)) {
        portions.push(portion)
        portion = []
        bytes = 0
      }
      portion.push(place)
      bytes += size
    }
  }
  if (portion.length > 0) portions.push(portion)
  return portions
}

function spansOf(places: readonly number[]): Span[] {
  const spans: [number, number][] = []
  for (const place of places.toSorted(ascending)) {
    const last = spans.at(-1)
    if (last?.[1] === place) last[1]++
    else spans.push([place, place + 1])
  }
  return spans
}

function halves(portion: Portion): Portion[] {
  const middle = Math.ceil(portion.length / 2)
  return [portion.slice(0, middle), portion.slice(middle)]
}

function ascending(a: number, b: number): number {
  return a - b
}
