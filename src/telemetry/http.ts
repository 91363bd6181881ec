// The HTTP end points for people, Prometheus and orchestrators. Nothing here changes anything.

import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { TailraceError } from '../errors.ts'
import { challenges, createAccess, exposureWarnings } from './access.ts'
import type { Metrics } from './metrics.ts'
import { readQuery } from './page/query.ts'
import type { Status } from './status.ts'
import { statusFragment, statusPage } from './status-page.ts'

export interface HttpOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** What has to be shown to read anything but health. Absent or empty: nothing. */
  readonly token?: string
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
  /** What an operator should know of the way it listens, in sentences. */
  readonly warnings: readonly string[]
}

const readyTimeoutMs = 3_000
const policyHeader = 'content-security-policy'

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
    })
    // A page brings its own, with its nonce.
    if (!reply.hasHeader(policyHeader)) reply.header(policyHeader, "default-src 'none'; frame-ancestors 'none'")
  })
  guardRoutes(server, options.token ?? '')
  addRoutes(server, options)
  try {
    const url = await server.listen({ host: options.host, port: options.port })
    const warnings = exposureWarnings(options.host, options.token ?? '')
    return { url, warnings, [Symbol.asyncDispose]: () => server.close() }
  } catch (error) {
    await server.close()
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    const where = `http.host ${options.host}, http.port ${options.port}`
    throw new TailraceError('config_invalid', `${where}: cannot listen there (${code}). Choose others.`, {
      cause: error,
    })
  }
}

/** Orchestrators ask without a token, and learn nothing but this. */
const open = ['/healthz', '/readyz']

function guardRoutes(server: FastifyInstance, token: string): void {
  const access = createAccess(token)
  server.addHook('onRequest', async (request, reply) => {
    if (open.includes(request.routeOptions.url ?? '') || access.permits(request.headers.authorization)) return
    reply
      .code(401)
      .header('www-authenticate', [...challenges])
      .type('text/plain; charset=utf-8')
    return reply.send('The token is needed (http.token): as a bearer token, or as the password of any user.\n')
  })
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
  server.get('/', async (request, reply) => {
    const nonce = randomBytes(16).toString('base64url')
    reply.type('text/html; charset=utf-8').header(policyHeader, pagePolicy(nonce))
    const wanted = { picture: status.picture(), query: readQuery(request.query), nonce }
    const isFragment = typeof request.query === 'object' && request.query !== null && 'fragment' in request.query
    return await packed(isFragment ? statusFragment(wanted) : statusPage(wanted), request, reply)
  })
}

const pack = promisify(gzip)

/** A page that is asked for every 2 s, over a telephone maybe: a tenth of it. */
async function packed(text: string, request: FastifyRequest, reply: FastifyReply): Promise<string | Buffer> {
  reply.header('vary', 'accept-encoding')
  if (!/\bgzip\b/.test(String(request.headers['accept-encoding']))) return text
  reply.header('content-encoding', 'gzip')
  return await pack(text, { level: 1 })
}

function pagePolicy(nonce: string): string {
  const own = `script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src data:; connect-src 'self'; form-action 'self'`
  return `default-src 'none'; ${own}; base-uri 'none'; frame-ancestors 'none'`
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
