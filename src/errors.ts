// Every error code, what the program does about it (its remedy), and what an operator should do.
// The table is the vocabulary, the label set of the metric `errors_total`, and the operator's reference.

/**
 * What is done about an error.
 * - `retry`: again, with exponential back-off and full jitter
 * - `wait`: pause for `waitMs`, then one probe at a time; no attempt is spent
 * - `split`: halve the batch until what is refused is alone
 * - `stop`: this one thing can never succeed; set it aside with the reason
 * - `halt`: a person must act; everything behind it waits, and is looked at again slowly
 */
export type Remedy = 'retry' | 'wait' | 'split' | 'stop' | 'halt'

interface ErrorEntry {
  readonly remedy: Remedy
  /** What it means, and what an operator should do. */
  readonly doc: string
}

export const errorTable = {
  config_invalid: {
    remedy: 'halt',
    doc: 'The configuration has a mistake. The message names file, path and key; correct it.',
  },
  misuse: {
    remedy: 'halt',
    doc: 'The command cannot be carried out as it was given. The message says what to change; so does its --help.',
  },
  secret_missing: {
    remedy: 'halt',
    doc: 'A reference to a secret leads nowhere. Set the variable, or create the file, that the message names.',
  },

  service_unreachable: {
    remedy: 'retry',
    doc: 'No connection to the service. Check the address, DNS, firewall and proxy.',
  },
  service_timeout: {
    remedy: 'retry',
    doc: 'The service did not answer in time. If it persists, look at its status page.',
  },
  service_unavailable: {
    remedy: 'retry',
    doc: 'The service, or a gateway before it, answered with a server error. It is asked again.',
  },
  service_throttled: {
    remedy: 'wait',
    doc: 'The service asked us to slow down (429). Something else may share our source address: lower service.requestsPerSecond.',
  },
  service_refused: {
    remedy: 'halt',
    doc: 'The service refused the credentials or the permission. Check uuid, secret and client ids of the tenant.',
  },
  service_rejected: { remedy: 'stop', doc: 'The service says the request is wrong. The message has its words.' },
  service_conflict: { remedy: 'stop', doc: 'It exists already.' },
  service_locked: {
    remedy: 'retry',
    doc: 'Rules are locked while the service restores a snapshot. Wait, then try again.',
  },
  service_unreadable: {
    remedy: 'retry',
    doc: 'The answer of the service could not be understood (cut short, or not JSON). It is asked again.',
  },
  service_too_large: {
    remedy: 'retry',
    doc: 'The answer was larger than service.maxAnswerBytes. Pages are made smaller by themselves; if a single record is too large, raise the bound.',
  },

  stream_gap: {
    remedy: 'stop',
    doc: 'Some records could not be read and were declared as a gap event. Narrow the interval or ask for a smaller back-fill.',
  },
  pass_broken: {
    remedy: 'retry',
    doc: 'The list changed faster than it could be read. The pass starts again; if it persists, raise pageSize.',
  },
  state_newer: {
    remedy: 'halt',
    doc: 'A newer version of Tailrace has written the state of a stream. Run that version again; the stream waits until then.',
  },
  lease_lost: { remedy: 'retry', doc: 'Another replica has taken this stream over. Nothing to do.' },

  redis_unreachable: { remedy: 'retry', doc: 'Redis cannot be reached. Check redis.url and the server.' },
  redis_full: {
    remedy: 'wait',
    doc: 'Redis is at its maxmemory. Reading pauses; raise maxmemory or bring destinations back.',
  },
  redis_unsafe: { remedy: 'halt', doc: 'Redis is set up so that it can drop our state. The message says what to set.' },
  redis_missing: { remedy: 'halt', doc: 'The program redis-server was not found. Install it, or set redis.url.' },
  daemon_unreachable: {
    remedy: 'retry',
    doc: 'No running Tailrace answers. Start it, or name the address that it serves its status at.',
  },
  daemon_refused: {
    remedy: 'halt',
    doc: 'The running Tailrace wants its http.token, or another one than it was given.',
  },
  data_in_use: { remedy: 'halt', doc: 'Another Tailrace uses this data folder. Stop it, or choose another folder.' },

  sink_unreachable: {
    remedy: 'retry',
    doc: 'No connection to the destination. Check address, DNS and firewall, and that the receiver runs.',
  },
  sink_reset: {
    remedy: 'retry',
    doc: 'The receiver broke the connection before it confirmed. The batch is sent again.',
  },
  sink_timeout: { remedy: 'retry', doc: 'The receiver did not confirm in time. The batch is sent again.' },
  sink_unavailable: { remedy: 'retry', doc: 'The receiver answered with a server error. The batch is sent again.' },
  sink_throttled: { remedy: 'wait', doc: 'The receiver asked us to slow down.' },
  sink_full: { remedy: 'wait', doc: 'The receiver (or the disk) has no room. Make room; delivery goes on by itself.' },
  sink_refused_batch: {
    remedy: 'split',
    doc: 'The receiver refused the batch. It is halved until the refused event is alone.',
  },
  sink_refused_event: {
    remedy: 'stop',
    doc: 'The receiver refuses this event for good. It is among the dead letters, with the reason.',
  },
  dead_letters_full: {
    remedy: 'halt',
    doc: 'The destination refused more events than may be set aside. Find out why; then requeue or discard its dead letters.',
  },
  sink_credentials: {
    remedy: 'halt',
    doc: 'The receiver refused our credentials. Correct token, user or client certificate.',
  },
  sink_certificate: {
    remedy: 'halt',
    doc: 'The TLS certificate cannot be trusted: wrong host name, unknown issuer or expired. Correct it or set tls.ca.',
  },
  sink_misconfigured: {
    remedy: 'halt',
    doc: 'The destination cannot work as it is set up. The message says what to change.',
  },

  tracing_failed: {
    remedy: 'retry',
    doc: 'Traces could not be sent to tracing.endpoint; those are lost, events are not. Check the collector and tracing.headers.',
  },

  internal: { remedy: 'retry', doc: 'A mistake in Tailrace. Please report it, with the message and the stack.' },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorTable

export interface ErrorDetails {
  readonly cause?: unknown
  /** With remedy `wait`: for how long, milliseconds. */
  readonly waitMs?: number
  /** For a send: whether some of it may have arrived. Default: false. */
  readonly inDoubt?: boolean
  /** HTTP status, where there was one. */
  readonly status?: number
}

/** The one error class. `message` tells an operator what happened and what to do; it never has a secret. */
export class TailraceError extends Error {
  readonly code: ErrorCode
  readonly waitMs: number | undefined
  readonly inDoubt: boolean
  readonly status: number | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.name = 'TailraceError'
    this.code = code
    this.waitMs = details.waitMs
    this.inDoubt = details.inDoubt ?? false
    this.status = details.status
  }

  get remedy(): Remedy {
    return errorTable[this.code].remedy
  }
}

/** Any thrown value as a coded error. What is unknown counts as `internal`, and is tried again. */
export function asTailraceError(thrown: unknown): TailraceError {
  if (thrown instanceof TailraceError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new TailraceError('internal', message, { cause: thrown, inDoubt: true })
}
