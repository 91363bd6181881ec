// What a Kafka cluster and its client library say, as coded errors. Kafka protocol guide, "Error codes".

import { TailraceError, type ErrorCode } from '../../errors.ts'
import { networkError, type Phase } from '../network-errors.ts'

const refused = 'refused' // as a batch or as an event: it depends on how many there were

/** By the protocol's name of the error. What is not here passes: a new leader, a lack of replicas. */
const codes: Readonly<Record<string, ErrorCode | typeof refused>> = {
  MESSAGE_TOO_LARGE: refused,
  RECORD_LIST_TOO_LARGE: refused,
  INVALID_RECORD: refused,
  SASL_AUTHENTICATION_FAILED: 'sink_credentials',
  TOPIC_AUTHORIZATION_FAILED: 'sink_credentials',
  CLUSTER_AUTHORIZATION_FAILED: 'sink_credentials',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'sink_credentials',
  UNKNOWN_TOPIC_OR_PARTITION: 'sink_misconfigured',
  INVALID_TOPIC_EXCEPTION: 'sink_misconfigured',
  INVALID_REQUIRED_ACKS: 'sink_misconfigured',
  INVALID_TIMESTAMP: 'sink_misconfigured',
  UNSUPPORTED_SASL_MECHANISM: 'sink_misconfigured',
  UNSUPPORTED_VERSION: 'sink_misconfigured',
  UNSUPPORTED_COMPRESSION_TYPE: 'sink_misconfigured',
  UNSUPPORTED_FOR_MESSAGE_FORMAT: 'sink_misconfigured',
  ILLEGAL_SASL_STATE: 'sink_misconfigured',
  SECURITY_DISABLED: 'sink_misconfigured',
  POLICY_VIOLATION: 'sink_misconfigured',
  THROTTLING_QUOTA_EXCEEDED: 'sink_throttled',
  REQUEST_TIMED_OUT: 'sink_timeout',
}

const hints: Readonly<Record<string, string>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'create the topic; Tailrace creates none',
  CLUSTER_AUTHORIZATION_FAILED: 'allow IdempotentWrite, or set idempotent to false',
  MESSAGE_TOO_LARGE: 'raise max.message.bytes of the topic, or lower maxBytes',
}

/** Said before anything was written, so that nothing has arrived. */
const before = new Set(['NOT_LEADER_OR_FOLLOWER', 'LEADER_NOT_AVAILABLE', 'FENCED_LEADER_EPOCH', 'NOT_ENOUGH_REPLICAS'])

export interface KafkaFailure {
  readonly where: string
  /** `sending`: from the first byte of a record on. */
  readonly phase: Phase
  readonly events: number
}

/** The library's errors have many causes below them, one for each broker, partition and attempt. */
export function kafkaError(thrown: unknown, failure: KafkaFailure): TailraceError {
  const all = causesOf(thrown)
  const ours = all.find((error) => error instanceof TailraceError)
  if (ours !== undefined) return ours
  const said = all.map(nameOf).find((name) => name !== undefined)
  const inDoubt = failure.phase === 'sending' && all.some(isDoubtful)
  if (said !== undefined) return protocolError(said, failure, { cause: thrown, inDoubt })
  return libraryError(all, thrown, failure)
}

/** The error for records of which the cluster said this; `name` is the protocol's name. */
export function protocolError(
  name: string,
  { where, events }: Omit<KafkaFailure, 'phase'>,
  details: { readonly cause?: unknown; readonly inDoubt?: boolean },
): TailraceError {
  const known = codes[name] ?? 'sink_unavailable'
  const alone = events > 1 ? 'sink_refused_batch' : 'sink_refused_event'
  const hint = hints[name]
  const message = `${where}: ${name}${hint === undefined ? '' : `; ${hint}`}`
  return new TailraceError(known === refused ? alone : known, message, details)
}

function libraryError(all: readonly Error[], thrown: unknown, { where, phase }: KafkaFailure): TailraceError {
  const has = (code: string): boolean => all.some((error) => codeOf(error) === code)
  const deepest = all.filter((error) => !(error instanceof AggregateError) && error.cause === undefined)
  const words = [...new Set(deepest.map(({ message }) => message))].join('; ').slice(0, 500)
  const make = (code: ErrorCode, inDoubt = phase === 'sending'): TailraceError =>
    new TailraceError(code, `${where}: ${words}`, { cause: thrown, inDoubt })
  if (has('PLT_KFK_AUTHENTICATION')) return make('sink_credentials', false)
  if (/Unknown topic/.test(words))
    return protocolError('UNKNOWN_TOPIC_OR_PARTITION', { where, events: 1 }, { cause: thrown })
  if (/requires TLS|TLS handshake failed/.test(words)) return make('sink_misconfigured', false)
  const socket = all.findLast((error) => (/^(?!PLT_)[A-Z]/.test(codeOf(error)) && 'syscall' in error) || isTls(error))
  if (socket !== undefined) return networkError(socket, where, phase)
  if (/timed out/i.test(words)) return make(phase === 'sending' ? 'sink_timeout' : 'sink_unreachable')
  if (has('PLT_KFK_NETWORK')) {
    // A broker that expects TLS or a login, or neither, just closes.
    const hint = phase === 'connecting' ? '; look at transport and sasl' : ''
    return networkError(new Error(`${words}${hint}`, { cause: thrown }), where, phase)
  }
  if (has('PLT_KFK_UNSUPPORTED_API') || has('PLT_KFK_UNSUPPORTED_COMPRESSION')) return make('sink_misconfigured', false)
  return make('internal')
}

/** The protocol's name of what a broker said. */
function nameOf(error: Error): string | undefined {
  return 'apiId' in error && typeof error.apiId === 'string' ? error.apiId : undefined
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}

function isTls(error: Error): boolean {
  return /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(codeOf(error))
}

function isDoubtful(error: Error): boolean {
  const name = nameOf(error)
  if (name === undefined) return codeOf(error) === 'PLT_KFK_NETWORK'
  return !before.has(name) && (codes[name] === undefined || codes[name] === 'sink_timeout')
}

const causesMax = 1000

/** The error and all below it, in order; bounded, for a batch may have met as many errors as partitions. */
export function causesOf(thrown: unknown): Error[] {
  const found: Error[] = []
  const visit = (error: unknown): void => {
    if (!(error instanceof Error) || found.length >= causesMax || found.includes(error)) return
    found.push(error)
    if (error instanceof AggregateError) error.errors.forEach(visit)
    visit(error.cause)
  }
  visit(thrown)
  return found
}
