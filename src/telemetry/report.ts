// The facts that the stages report. One place turns each into metrics and a log line.

import type { StreamName } from '../event.ts'
import type { TailraceError } from '../errors.ts'

export interface StreamRef {
  readonly tenant: string
  readonly stream: StreamName
}

export type DestinationState = 'up' | 'down' | 'halted'

export interface DestinationFact {
  readonly destination: string
  readonly sink: string
  readonly format: string
  readonly confirms: string
  /** False: the receiver confirms nothing; what counts as delivered has only been sent. */
  readonly confirmed: boolean
}

export interface BacklogFact {
  readonly destination: string
  readonly batches: number
  readonly bytes: number
  readonly boundBytes: number | null
  readonly deadLetters: number
}

/** What happens to requests and streams. */
export interface ReadFacts {
  /** One request to the service was answered or failed. `status` 0: no answer. */
  requestAnswered(fact: { instance: string; operation: string; status: number; ms: number }): void
  /** The service asked this instance's requests to pause. */
  instanceThrottled(fact: { instance: string; ms: number }): void
  /** Tenants of an instance of the service are configured: so many requests may be sent to it in any second. */
  instanceConfigured(fact: { instance: string; requestsPerSecond: number }): void
  /** A page was read and committed. `late`: seconds by which records came late, for those that did. */
  pageCommitted(
    fact: StreamRef & { created: number; updated: number; closed: number; known: number; late: readonly number[] },
  ): void
  passCompleted(fact: StreamRef & { purpose: string; pages: number; records: number; ms: number }): void
  passGivenUp(fact: StreamRef & { purpose: string; reason: string }): void
  /** `completeAt`: the stream is known to be complete up to here, Unix ms by the service's clock. */
  watermarkMoved(fact: StreamRef & { completeAt: number; clockSkewMs: number }): void
  /** A turn failed; it is tried again in `retryMs`. */
  turnFailed(fact: StreamRef & { error: TailraceError; failures: number; retryMs: number }): void
  /** A stream works again after failures. */
  turnRecovered(fact: StreamRef & { failures: number }): void
  /** Polling of a stream pauses because a destination's backlog is full, or goes on. */
  backlogFull(fact: StreamRef & { destination: string; full: boolean }): void
  gapDeclared(fact: StreamRef & { from: number; to: number; reason: string }): void
}

/** What happens to batches and destinations. */
export interface ShipFacts {
  /** A destination is part of the configuration. `confirms`: what a confirmation of it proves, in words. */
  destinationConfigured(fact: DestinationFact): void
  /** A batch, or a part of it, was confirmed. `delayMs`: from the time of its oldest event to the confirmation. */
  eventsShipped(
    fact: StreamRef & { destination: string; events: number; bytes: number; ms: number; delayMs: number },
  ): void
  sendFailed(fact: { destination: string; error: TailraceError; events: number; retryMs: number }): void
  eventDead(fact: StreamRef & { destination: string; error: TailraceError }): void
  destinationChanged(fact: { destination: string; state: DestinationState; reason: string | null }): void
  /** Sums over all streams, set about every 5 s. `boundBytes`: most that may wait; null: it is not configured any more. */
  backlogMeasured(fact: BacklogFact): void
  /** The receiver has shown a certificate that is valid until then, Unix ms. */
  certificateSeen(fact: { destination: string; expiresAt: number }): void
}

/** What happens to the daemon: its configuration, its Redis, what people do. */
export interface DaemonFacts {
  /** A changed configuration was put in force. `restart`: sections of it that count from the next start. */
  configApplied(fact: { tenants: number; destinations: number; broken: number; restart: readonly string[] }): void
  /** A changed configuration could not be put in force; what was before goes on. */
  configRefused(fact: { error: TailraceError }): void
  /** Gone from the configuration: whatever was shown of it is out of date. */
  destinationRemoved(fact: { destination: string }): void
  /** A stream is part of the configuration; it is looked at so often. */
  streamConfigured(fact: StreamRef & { everyMs: number }): void
  streamRemoved(fact: StreamRef): void
  /** Redis was lost, full, came back, or is another one than before. */
  redisChanged(fact: { state: 'ready' | 'lost' | 'full' | 'replaced'; reason: string }): void
  /** The share of its memory that Redis uses, 0 to 1; 0 where it has no bound. About every 2 s. */
  redisMeasured(fact: { memoryShare: number }): void
  /** A person has paused something (`tenant:…`, `stream:…`, `destination:…`), or it goes on. `since`: Unix ms. */
  pauseChanged(fact: { name: string; pause: { since: number; reason: string } | null }): void
  /** Something failed outside of a turn or send. A person should know. */
  failed(fact: { error: TailraceError; during: string }): void
}

/** Facts, in the past tense. None of them throws, blocks, or keeps what it was given. */
export interface Report extends ReadFacts, ShipFacts, DaemonFacts {}
