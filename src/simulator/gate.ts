// The door of the service: counts and limits requests, lets faults happen, checks credentials, and hands
// what is left to the operation.

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import { deliver, deliverFault } from './delivery.ts'
import { isObject, notAuthenticated, refuse, type Answer } from './envelope.ts'
import type { Faults } from './faults.ts'
import { describeOperation } from './openapi.ts'
import { operations } from './operations/all.ts'
import type { Backend, Operation } from './operations/operation.ts'
import { createRateWindow } from './rate-window.ts'
import type { Stats } from './stats.ts'

export interface GateOptions {
  readonly latencyMs: number
  readonly requestsPerSecond: number
  /** What a refusal for the rate says of when to come back. */
  readonly retryAfter: 'seconds' | 'date' | 'none'
  /** Of the two headers with the credentials: `X-ServiceAPI` for `X-ServiceAPI-UUID`. */
  readonly headerPrefix: string
}

export interface Gate {
  readonly backend: Backend
  readonly stats: Stats
  readonly faults: Faults
  readonly options: GateOptions
}

/** The operations of the service, as routes. The rest of the server is untouched by limits and counts. */
export function openGate(app: FastifyInstance, gate: Gate): void {
  const window = createRateWindow(gate.options.requestsPerSecond)
  app.addHook('onRequest', async (request, reply) => {
    const nowMs = performance.now()
    gate.stats.arrived(request.ip, nowMs)
    reply.header('date', new Date(gate.backend.world.nowMs()).toUTCString())
    const waitMs = window.admit(request.ip, nowMs)
    if (waitMs === undefined) return
    announceReturn(reply, gate, waitMs)
    await answer(gate, request, reply, refuse(429, { error: 'Too many requests' }))
    return reply
  })
  app.setErrorHandler<FastifyError>(async (error, request, reply) => {
    // Without a status it is a mistake in here, and must not look like one of the caller.
    await answer(gate, request, reply, refuse(error.statusCode ?? 500, { error: error.message }))
    return reply
  })
  app.setNotFoundHandler(async (request, reply) => {
    await answer(gate, request, reply, refuse(404, 'Not found'))
    return reply
  })
  for (const operation of operations) {
    const schema = describeOperation(operation)
    app.post(operation.path, { schema }, async (request, reply) => {
      await handle(gate, operation, request, reply)
      return reply
    })
  }
  // Anything else under the versions counts as a request, too.
  for (const path of ['/v1/*', '/v2/*']) {
    app.all(path, { schema: { hide: true } }, async (request, reply) => {
      await answer(gate, request, reply, refuse(404, 'Not found'))
      return reply
    })
  }
}

async function handle(gate: Gate, operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (gate.options.latencyMs > 0) await delay(gate.options.latencyMs)
  const body = parseBody(request)
  const stream = isObject(body) ? operation.stream?.(body) : undefined
  const fault = gate.faults.next(stream, operation.path)
  if (fault === undefined) return answer(gate, request, reply, perform(gate, operation, request, body))
  const outcome = await deliverFault(reply, {
    fault,
    now: gate.backend.world.nowMs(),
    makeAnswer: () => perform(gate, operation, request, body),
  })
  gate.stats.answered(operation.path, outcome)
}

/** Credentials before content: a stranger learns nothing of what a request should look like. */
function perform({ backend, options }: Gate, operation: Operation, request: FastifyRequest, body: unknown): Answer {
  const prefix = options.headerPrefix.toLowerCase()
  const { [`${prefix}-uuid`]: uuid, [`${prefix}-secret`]: secret } = request.headers
  const credentials = backend.directory.authenticate(uuid, secret)
  if (credentials === undefined) return notAuthenticated()
  if (operation.request !== undefined && !request.headers['content-type']?.startsWith('application/json')) {
    return refuse(400, { error: 'content type must be application/json' })
  }
  if (body === undefined || !isObject(body)) return refuse(400, { error: 'Invalid JSON' })
  const params = isObject(request.params) ? request.params : {}
  const texts = Object.fromEntries(Object.entries(params).map(([key, value]) => [key, String(value)]))
  return operation.run({ credentials, body, params: texts, raw: rawBody(request) }, backend)
}

/** undefined: not JSON. An empty body counts as an empty object: two operations need none. */
function parseBody(request: FastifyRequest): unknown {
  const raw = rawBody(request)
  if (raw === '') return {}
  try {
    return JSON.parse(raw) as unknown
  } catch {
    return undefined
  }
}

function rawBody(request: FastifyRequest): string {
  return Buffer.isBuffer(request.body) ? request.body.toString() : ''
}

async function answer(gate: Gate, request: FastifyRequest, reply: FastifyReply, made: Answer): Promise<void> {
  const known = operations.some((operation) => operation.path === request.routeOptions.url)
  gate.stats.answered(known ? (request.routeOptions.url ?? 'unknown') : 'unknown', String(made.status))
  await deliver(request, reply, made)
}

function announceReturn(reply: FastifyReply, { options, backend }: Gate, waitMs: number): void {
  const seconds = Math.ceil(waitMs / 1000)
  if (options.retryAfter === 'seconds') reply.header('retry-after', String(seconds))
  // A date has whole seconds: one more, so that it is not in the past already.
  const date = new Date(backend.world.nowMs() + (seconds + 1) * 1000)
  if (options.retryAfter === 'date') reply.header('retry-after', date.toUTCString())
}
