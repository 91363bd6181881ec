// What a turn needs of the rest; daemon.ts hands it in.

import type { SecurityEvent, ServiceRecord, SeverityBorders, StreamKey, StreamName } from '../event.ts'
import type { TailraceError } from '../errors.ts'
import type { ListOperation, ListQuery } from '../service/operations.ts'
import type { Report } from '../telemetry/report.ts'
import type { Known, KnownChange, Reader } from './changes.ts'
import type { Rhythm } from './state.ts'

/** One stream of one tenant, as configured. */
export interface Subscription {
  readonly key: StreamKey
  readonly tenant: string
  readonly stream: StreamName
  readonly instance: string
  readonly clients: readonly number[]
  readonly borders: SeverityBorders
  readonly reader: Reader
  readonly rhythm: Rhythm
  readonly destinations: readonly string[]
}

export interface Lease {
  readonly key: StreamKey
  readonly now: number
  readonly state: string
  readonly trouble: string
}

export interface Answer {
  readonly body: readonly ServiceRecord[]
  /** The service's clock, Unix milliseconds. */
  readonly date: number | null
  readonly bytes: number
}

export interface StreamStore<L extends Lease, B> {
  begin(
    key: StreamKey,
    token: string,
    leaseMs: number,
    lane: 'live' | 'deep',
  ): Promise<L | { readonly waitMs: number; readonly lane: string }>
  renew(lease: L, leaseMs: number): Promise<boolean>
  release(lease: L, trouble: string): Promise<void>
  lookup(key: StreamKey, identities: readonly string[]): Promise<(Known | undefined)[]>
  commit(
    lease: L,
    commit: {
      readonly state: string
      readonly trouble: string
      readonly seen: readonly KnownChange[]
      readonly last: readonly (readonly [identity: string, record: Buffer | null])[]
      readonly batches: readonly B[]
      /** Names the page that brought it, for people. */
      readonly pass: string
    },
  ): Promise<void>
  scan(
    lease: L,
    request: { cursor: string; mode: 'prune' | 'missing'; below: number; closedBelow: number },
  ): Promise<{ cursor: string; found: readonly (KnownChange & { readonly last: Buffer })[] }>
}

export interface NextTurn {
  readonly key: StreamKey
  readonly lane: 'tick' | 'live' | 'deep'
  readonly pass: string
  readonly step: number
}

export interface PollPorts<L extends Lease, B> {
  /** Undefined: the tenant or stream is no longer configured. */
  subscription(key: StreamKey): Subscription | undefined
  readonly store: StreamStore<L, B>
  list(sub: Subscription, operation: ListOperation, query: ListQuery, signal: AbortSignal): Promise<Answer>
  /** Pauses all requests to an instance, milliseconds. */
  pause(instance: string, ms: number): Promise<void>
  /** Why a stream is not to be read now (paused; a destination's backlog, a full Redis); null: it is. */
  blockedBy(sub: Subscription): string | null
  /** For all destinations of the stream, or of them `only` those. */
  encode(sub: Subscription, events: readonly SecurityEvent[], only?: readonly string[]): Promise<B[]>
  relay(key: StreamKey, batches: readonly B[], lane: 'live' | 'deep'): Promise<void>
  next(turn: NextTurn, delayMs: number, attempt: number): Promise<void>
  /** Memory for a page of so many bytes; call the result to give it back. */
  reserve(bytes: number, signal: AbortSignal): Promise<() => void>
  /** Turns a thrown value into a coded error. */
  coded(thrown: unknown): TailraceError
  readonly report: Report
}
