// The contract of a sink, and how one is declared: options, limits and code in one file.

import type convict from 'convict'
import type { SecurityEvent } from '../event.ts'

/** What a send may contain at most. The queue obeys; a single larger event is sent alone. */
export interface SinkLimits {
  readonly events: number
  /** Sum of the records' bytes. */
  readonly bytes: number
}

/** What was found when the receiver was opened for a look (`check --connect`). */
export interface SinkReport {
  /** Sentences for an operator: protocol, certificate and its expiry, whether confirmations work. */
  readonly findings: readonly string[]
}

/** An open receiver. No retry, batching, rate limit or metrics of its own. May be called in parallel. */
export interface Sink extends AsyncDisposable {
  /**
   * Resolves once the receiver has confirmed every record. Rejects with a `sink_*` error, whose remedy
   * says what to do and whose `inDoubt` says whether some of the records may have arrived; or with the
   * signal's reason. `records` are what `frame` made.
   */
  send(records: readonly Uint8Array[], batch: SendContext, signal: AbortSignal): Promise<void>
  /** Connects as `send` would, without sending an event. Rejects as `send` does. */
  look(signal: AbortSignal): Promise<SinkReport>
}

export interface SendContext {
  /** The same at each attempt: an idempotency key for receivers that know such a thing. */
  readonly batchId: string
  readonly contentType: string
}

export interface SinkType<Options extends object = object> {
  readonly name: string
  readonly summary: string
  /** What a confirmation of this receiver proves; shown in status and reference. */
  readonly confirms: string
  /** Type, default, doc and check of every option, once. `destinations[].<option>` in the configuration. */
  readonly options: convict.Schema<Options>
  limits(options: Options): SinkLimits
  /**
   * Puts the receiver's envelope around an encoded event (a syslog header, say). Pure; it runs once, when
   * the page is read, so that what waits is the bytes to send. Line framing belongs to `send`.
   */
  frame?(options: Options, event: SecurityEvent, encoded: string): string
  /** Parts of the options that `frame` depends on; destinations that agree in it share their bytes. */
  frameKey?(options: Options): string
  /** Throws `config_invalid` or `sink_misconfigured` where options contradict one another. */
  open(options: Options): Sink
}

/** Declares a sink; `Options` is inferred from the schema, so that a misspelt option does not compile. */
export function defineSink<Options extends object>(type: SinkType<Options>): SinkType<Options> {
  return type
}
