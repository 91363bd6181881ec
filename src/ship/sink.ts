// The contract of a sink, and how one is declared: options, limits and code in one file.

import type convict from 'convict'
import type { TailraceError } from '../errors.ts'
import type { SecurityEvent } from '../event.ts'
import type { Format } from './format.ts'

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

/** A record that the receiver did not take while it took others: its place in what was sent, and why. */
export interface Untaken {
  readonly index: number
  readonly error: TailraceError
}

/** The receiver confirmed every record. */
export const allTaken: readonly Untaken[] = []

/** An open receiver. No retry, batching, rate limit or metrics of its own. May be called in parallel. */
export interface Sink extends AsyncDisposable {
  /**
   * Resolves once the receiver has confirmed the records, with those that it did not take: the remedy of their
   * error says what becomes of them (`stop`: dead letter, `retry` and `wait`: sent again, without the others).
   * Rejects, where nothing is confirmed, with a `sink_*` error, whose remedy says what to do and whose `inDoubt`
   * says whether some of the records may have arrived; or with the signal's reason. `records` are what `frame` made.
   */
  send(records: readonly Uint8Array[], context: SendContext, signal: AbortSignal): Promise<readonly Untaken[]>
  /** Connects as `send` would, without sending an event. Rejects as `send` does. */
  look(signal: AbortSignal): Promise<SinkReport>
  /** Until when the certificate is valid that the receiver showed last, Unix ms; undefined: it has shown none yet. */
  certificateExpires?(): number | undefined
}

export interface SendContext {
  /**
   * The same at each attempt to send these very records, and another for any others: an idempotency key for
   * receivers that know such a thing. Letters, digits, `-` and `_`.
   */
  readonly sendId: string
  readonly contentType: string
}

/** Puts the receiver's envelope around an encoded event. Pure. */
export type Frame = (event: SecurityEvent, encoded: string) => string

export interface SinkType<Options extends object = object> {
  readonly name: string
  readonly summary: string
  /** What a confirmation of this receiver proves; shown in status and reference. */
  readonly confirms: string
  /** Whether with these options nothing is confirmed at all: said in status, metrics and log. */
  unconfirmed?(options: Options): boolean
  /** Type, default, doc and check of every option, once. `destinations[].<option>` in the configuration. */
  readonly options: convict.Schema<Options>
  /** Names of the formats that it can carry, the usual one first. Left out or undefined: any, usually `json`. */
  formats?(options: Options): readonly string[] | undefined
  limits(options: Options): SinkLimits
  /**
   * Makes what puts the receiver's envelope around an encoded event (a syslog header, say). It is put to use once
   * for each event, when the page is read, so that what waits is the bytes to send. Framing belongs to `send`. Undefined: these
   * options want none.
   */
  frame?(options: Options, format: Format): Frame | undefined
  /** Parts of the options that `frame` depends on; destinations that agree in it share their bytes. */
  frameKey?(options: Options): string
  /** Throws `config_invalid` or `sink_misconfigured` where options contradict one another. */
  open(options: Options): Sink
}

/** Declares a sink; `Options` is inferred from the schema, so that a misspelt option does not compile. */
export function defineSink<Options extends object>(type: SinkType<Options>): SinkType<Options> {
  return type
}
