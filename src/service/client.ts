// The typed client of the security service: every operation of its interface, none of its manners.

import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceRecord } from '../event.ts'
import { TailraceError } from '../errors.ts'
import type { ServiceConnections } from './connections.ts'
import { exchange, type Exchange, type RawAnswer } from './exchange.ts'
import { failure, type RequestRef } from './failures.ts'
import { checkBaseUrl } from './instances.ts'
import { requests, type ServiceRequest } from './requests.ts'
import { masking, secretsIn } from './words.ts'
import type {
  CreatedClient,
  ListOperation,
  ListQuery,
  NewBinding,
  NewClient,
  NewRule,
  RuleSelection,
  ServiceUser,
} from './operations.ts'

export interface ServiceAnswer<T> {
  readonly body: T
  /** The service's clock: its `Date` header, Unix ms. */
  readonly date: number | null
  /** Of the answer, decoded. */
  readonly bytes: number
  readonly status: number
}

export interface ServiceTimeouts {
  /** Until the answer's headers are there. Connecting has its own bound, in the connections. */
  readonly headersMs: number
  /** For the whole body. */
  readonly bodyMs: number
}

export interface ServiceClientOptions {
  readonly baseUrl: string
  /** For messages and metrics: `eu`, `ru`, or a host. */
  readonly instance: string
  readonly credentials: { readonly uuid: string; readonly secret: string }
  /** Default: `X-ServiceAPI-`. */
  readonly headerPrefix?: string
  readonly connections: ServiceConnections
  /** Default: 60 s each. */
  readonly timeouts?: Partial<ServiceTimeouts>
  /** Default: 64 MB. */
  readonly maxAnswerBytes?: number
  /** Further attempts at what does no harm when asked twice: lists, reading the user. Default: 0. */
  readonly retries?: number
  /**
   * Asked before every HTTP attempt. The function it resolves with is called exactly once, as soon as
   * the answer's headers are there or the attempt failed.
   */
  readonly admit?: (signal: AbortSignal) => Promise<() => void>
  /** Told of every attempt once it is over. `status` 0: no answer. */
  readonly onAnswer?: (fact: { operation: string; status: number; ms: number }) => void
}

/** Every method rejects with a `service_*` error, or with the reason of an aborted signal. */
export interface ServiceClient {
  list(
    operation: ListOperation,
    query: ListQuery,
    signal: AbortSignal,
  ): Promise<ServiceAnswer<readonly ServiceRecord[]>>
  readUser(signal: AbortSignal): Promise<ServiceAnswer<ServiceUser>>
  /** The old secret, and with it this client, is dead at once: keep the new one, and make a new client. */
  renewSecret(signal: AbortSignal): Promise<ServiceAnswer<{ readonly secret: string }>>
  createClient(client: NewClient, signal: AbortSignal): Promise<ServiceAnswer<CreatedClient>>
  bindClient(partnerId: number, binding: NewBinding, signal: AbortSignal): Promise<ServiceAnswer<ServiceRecord>>
  createRule(rule: NewRule, signal: AbortSignal): Promise<ServiceAnswer<ServiceRecord>>
  /** The deleted rules; none when nothing matched, which the service does not count as an error. */
  deleteRules(selection: RuleSelection, signal: AbortSignal): Promise<ServiceAnswer<readonly ServiceRecord[]>>
}

/** Throws `config_invalid` when requests cannot be made from the options. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const call = createCaller(options)
  return {
    async list(operation, query, signal) {
      return call(requests.list(operation, query), records, signal)
    },
    async readUser(signal) {
      return call(requests.readUser(), user, signal)
    },
    async renewSecret(signal) {
      return call(requests.renewSecret(), secret, signal)
    },
    async createClient(client, signal) {
      return call(requests.createClient(client), created, signal)
    },
    async bindClient(partnerId, binding, signal) {
      return call(requests.bindClient(partnerId, binding), record, signal)
    },
    async createRule(rule, signal) {
      return call(requests.createRule(rule), record, signal)
    },
    async deleteRules(selection, signal) {
      return call(requests.deleteRules(selection), records, signal)
    },
  }
}

/** Reads the body of an answer, or says, as a string, what is wrong with it. */
type Read<T extends object> = (body: unknown) => T | string
type Caller = <T extends object>(call: ServiceRequest, read: Read<T>, signal: AbortSignal) => Promise<ServiceAnswer<T>>

function createCaller(options: ServiceClientOptions): Caller {
  const base = new URL(checkBaseUrl(options.baseUrl, 'baseUrl'))
  const headers = requestHeaders(options)
  const secrets = [options.credentials.uuid, options.credentials.secret]
  const hideOwn = masking(secrets)
  return async (call, read, signal) => {
    const told = secretsIn(call.body)
    const ref: RequestRef = {
      operation: call.operation,
      instance: options.instance,
      hide: told.length === 0 ? hideOwn : masking([...secrets, ...told]),
      idempotent: call.idempotent,
    }
    const request = {
      path: (base.pathname === '/' ? '' : base.pathname) + call.path,
      headers,
      body: JSON.stringify(call.body),
      headersMs: options.timeouts?.headersMs ?? 60_000,
      bodyMs: options.timeouts?.bodyMs ?? 60_000,
      maxAnswerBytes: options.maxAnswerBytes ?? 64 * 1024 * 1024,
      ref,
    }
    const retries = call.idempotent ? (options.retries ?? 0) : 0
    const answer = await persist(retries, signal, async () => {
      const pool = options.connections.pool(base.origin)
      return attempt(options, { ...request, pool }, signal)
    })
    const body = read(answer.body)
    if (typeof body !== 'string') return { ...answer, body }
    throw failure(ref, 'service_unreadable', `the answer ${body}`, { inDoubt: !call.idempotent })
  }
}

/** One admitted attempt: the caller's fact is told when it is over, the admission ends with the headers. */
async function attempt(
  options: ServiceClientOptions,
  request: Omit<Exchange, 'onHeaders'>,
  signal: AbortSignal,
): Promise<RawAnswer> {
  signal.throwIfAborted()
  const release = await options.admit?.(signal)
  const startedAt = performance.now()
  let status = 0
  try {
    const onHeaders = (came: number): void => {
      status = came
      release?.()
    }
    return await exchange({ ...request, onHeaders }, signal)
  } catch (error) {
    // An error under HTTP 200 counts as what it says it is.
    if (error instanceof TailraceError && error.status !== undefined) status = error.status
    throw error
  } finally {
    options.onAnswer?.({ operation: request.ref.operation, status, ms: performance.now() - startedAt })
  }
}

const backoffMs = 200
const backoffMaxMs = 10_000

/** Tries again what may get better by itself. Where the service asked for a pause, that is the caller's to keep. */
async function persist<T>(retries: number, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await run()
    } catch (error) {
      signal.throwIfAborted()
      if (failures >= retries || !isPassing(error)) throw error
    }
    const ceiling = Math.min(backoffMs * 2 ** failures, backoffMaxMs)
    await delay(Math.random() * ceiling, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof TailraceError) || !error.code.startsWith('service_')) return false
  return error.remedy === 'retry' && error.code !== 'service_too_large' && error.waitMs === undefined
}

function requestHeaders(options: ServiceClientOptions): Record<string, string> {
  const prefix = options.headerPrefix ?? 'X-ServiceAPI-'
  if (!/^[A-Za-z0-9-]+$/.test(prefix)) throw new TailraceError('config_invalid', 'headerPrefix is not a header name')
  const { uuid, secret: key } = options.credentials
  if (![uuid, key].every((value) => /^[\x21-\x7e]+$/.test(value))) {
    throw new TailraceError('config_invalid', 'uuid or secret is empty, or has characters that no header can carry')
  }
  return {
    'content-type': 'application/json',
    accept: 'application/json',
    'accept-encoding': 'gzip',
    'user-agent': 'tailrace',
    [`${prefix}UUID`]: uuid,
    [`${prefix}Secret`]: key,
  }
}

function isRecord(value: unknown): value is ServiceRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const records: Read<readonly ServiceRecord[]> = (body) => {
  if (!Array.isArray(body)) return 'is not a list'
  const odd = body.findIndex((element) => !isRecord(element))
  return odd === -1 ? body : `has something at position ${odd} that is not a record`
}

const record: Read<ServiceRecord> = (body) => (isRecord(body) ? body : 'is not an object')

const created: Read<CreatedClient> = (body) => {
  if (!isRecord(body)) return 'is not an object'
  const id = integer(body['id'])
  const partnerId = integer(body['partnerid'])
  return id === null || partnerId === null ? 'has no id and partnerid' : { id, partnerId, record: body }
}

const user: Read<ServiceUser> = (body) => {
  if (!isRecord(body)) return 'is not an object'
  const { uuid } = body
  const clientId = integer(body['client_id']) ?? integer(body['clientid'])
  return { uuid: typeof uuid === 'string' ? uuid : null, clientId, record: body }
}

const secret: Read<{ readonly secret: string }> = (body) => {
  const key = isRecord(body) ? body['secret'] : undefined
  return typeof key === 'string' && key !== ''
    ? { secret: key }
    : 'has no secret; the old one is probably dead: renew it in the reference interface'
}

function integer(value: unknown): number | null {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : null
}
