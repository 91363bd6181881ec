// What a receiver must be able to do to be killed in a fault test.

import type { ServiceRecord, StreamName } from '../../../src/event.ts'
import type { Arrived, Delivery } from '../receiver.ts'

/**
 * When it dies, the next time that it is sent something:
 * - `any`: at once, whatever it is doing
 * - `taken`: it has read events, and stored nothing
 * - `stored`: it has stored events, and not answered
 * - `answered`: it has just answered
 */
export const moments = ['any', 'taken', 'stored', 'answered'] as const
export type Moment = (typeof moments)[number]

export interface FrailReceiver extends AsyncDisposable {
  /** Options of its destination, sink included; it is named after the sink. */
  readonly destination: Readonly<Record<string, unknown>>
  /** Whether `arrived` knows what was confirmed. */
  readonly knowsConfirmations: boolean
  /** What it has stored, and a power cut of it would not take away. */
  arrived(): Promise<Arrived[]>
  /** Resolves when it is gone: what it had not stored is forgotten, its port is closed. */
  kill(moment: Moment): Promise<void>
  /** At the same port, with what it had stored. */
  start(): Promise<void>
}

/** How long a killer waits for the moment; then any will do. */
export const patienceMs = 1_500

/** An event as the format json writes it. */
export interface EventLine {
  readonly id: string
  readonly stream: StreamName
  readonly action: string
  readonly identity: string
  readonly sequence: number
  readonly record: ServiceRecord
}

/** One event for each id, with all its deliveries. */
export function gather(all: Iterable<readonly [event: EventLine, delivery: Delivery]>): Arrived[] {
  const found = new Map<string, Arrived>()
  for (const [event, delivery] of all) {
    const known = found.get(event.id)
    if (known === undefined) found.set(event.id, { ...event, deliveries: [delivery] })
    else known.deliveries.push(delivery)
  }
  return [...found.values()]
}

/** Of a receiver that does not know when, and what it confirmed. */
export const sometime: Delivery = { at: 0, link: { confirmedAt: null } }
