// The HTTP end points for people, Prometheus and orchestrators. Nothing here changes anything.

import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { TailraceError } from '../errors.ts'
import type { Metrics } from './metrics.ts'
import type { Status } from './status.ts'
import { statusPage } from './status-page.ts'

export interface HttpOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  readonly metrics: Metrics
  readonly status: Status
  /** Why the daemon is not ready (Redis unreachable, draining …), in words; empty: it is. Given 3 s. */
  readonly ready: () => Promise<readonly string[]> | readonly string[]
  /** Ends the start. */
  readonly signal?: AbortSignal
}

export interface HttpEndpoints extends AsyncDisposable {
  /** `http://host:port` */
  readonly url: string
}

const readyTimeoutMs = 3_000

/** Listens. Rejects with `config_invalid` where host and port cannot be had. */
export async function startHttp(options: HttpOptions): Promise<HttpEndpoints> {
  options.signal?.throwIfAborted()
  // Draining waits for no scraper: connections that are open are closed with the server.
  const server = fastify({ forceCloseConnections: true, requestTimeout: 10_000, bodyLimit: 1_024, trustProxy: false })
  server.addHook('onSend', async (_request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'",
    })
  })
  addRoutes(server, options)
  try {
    const url = await server.listen({ host: options.host, port: options.port })
    return { url, [Symbol.asyncDispose]: () => server.close() }
  } catch (error) {
    await server.close()
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    const where = `http.host ${options.host}, http.port ${options.port}`
    throw new TailraceError('config_invalid', `${where}: cannot listen there (${code}). Choose others.`, {
      cause: error,
    })
  }
}

function addRoutes(server: FastifyInstance, { metrics, status, ready }: HttpOptions): void {
  server.get('/metrics', async (_request, reply) => {
    reply.type(metrics.registry.contentType)
    return metrics.registry.metrics()
  })
  server.get('/healthz', async () => ({ status: 'alive' }))
  server.get('/readyz', async (_request, reply) => {
    const reasons = await reasonsWithin(readyTimeoutMs, ready)
    reply.code(reasons.length === 0 ? 200 : 503)
    return { status: reasons.length === 0 ? 'ready' : 'not ready', reasons }
  })
  server.get('/api/status', async () => status.picture())
  server.get('/', async (_request, reply) => {
    reply.type('text/html; charset=utf-8')
    return statusPage(status.picture().version)
  })
}

async function reasonsWithin(ms: number, ready: HttpOptions['ready']): Promise<readonly string[]> {
  const limit = Promise.withResolvers<readonly string[]>()
  const timer = setTimeout(() => limit.resolve([`no answer within ${ms / 1_000} s`]), ms)
  try {
    return await Promise.race([ready(), limit.promise])
  } catch (error) {
    // Not ready is the answer; why is in the log, for an error's text may be more than a stranger should read.
    return [error instanceof TailraceError ? error.code : 'internal']
  } finally {
    clearTimeout(timer)
  }
}
