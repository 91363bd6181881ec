// One exchange over HTTP after another with the same receiver: what all sinks over HTTP share.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type convict from 'convict'
import { Pool } from 'undici'
import { TailraceError } from '../../errors.ts'
import { duration, text } from '../../option.ts'
import { deadline } from '../deadline.ts'
import type { HttpAnswer } from './answers.ts'
import { openConnector } from './connector.ts'
import { networkError } from '../network-errors.ts'
import { orAborted } from '../or-aborted.ts'
import { proxyFor } from './proxy.ts'
import { tlsSchema, type TlsOptions } from '../tls-options.ts'

/** Options that every sink over HTTP has. */
export interface HttpOptions {
  readonly timeout: number
  readonly proxy: string
  readonly tls: TlsOptions
}

export const httpSchema: convict.Schema<HttpOptions> = {
  timeout: duration('30s', 'How long a request may take with its answer.'),
  proxy: text(
    'Proxy to go through, such as http://user:password@proxy:3128. Empty: what HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. none: directly.',
    { sensitive: true },
  ),
  tls: tlsSchema,
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'HEAD' | 'OPTIONS'
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
  /** Whether the body is compressed here; `content-encoding` is set then. */
  readonly gzip?: boolean
}

export interface Answer extends HttpAnswer {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface HttpExchange extends AsyncDisposable {
  /**
   * Any answer that has a status, at most 1 MB of it, without the secrets that receivers like to repeat. Rejects
   * with a `sink_*` error where there is none, or with the signal's reason. Redirects are not followed.
   */
  ask(request: HttpRequest, signal: AbortSignal): Promise<Answer>
  /** Sentences about the connection that was made last: protocol, certificate, proxy. */
  describe(): string[]
  /** As `Sink.certificateExpires`. */
  certificateExpires(): number | undefined
}

export interface HttpParts {
  /** Name of the sink, for messages. */
  readonly sink: string
  readonly url: URL
  readonly options: HttpOptions
  /** What must not be in any message: tokens, passwords, parts of URLs that are secret. */
  readonly secrets: readonly string[]
}

const compress = promisify(gzip)
const connectTimeoutMs = 10_000
/** An answer is a few words; the bound keeps a mistaken address from filling our memory. */
const answerBytesMax = 1024 * 1024
/** An older connection gets no more requests, however busy: the name may have got another address. */
const connectionAgeMs = 60_000
/** As many as a destination may send batches at the same time: none should wait for a connection. */
const connectionsMax = 64

/** Throws `sink_misconfigured` where TLS options or proxy are of no use. Nothing is connected yet. */
export function openHttp({ sink, url, options, secrets }: HttpParts): HttpExchange {
  const where = `${sink} ${url.origin}`
  const hidden = longestFirst(secrets)
  const proxy = proxyFor(url, options.proxy, process.env)
  // Half of the time at the most: a receiver that is not there is to be known as such, and not as one in doubt.
  const timeoutMs = Math.min(connectTimeoutMs, Math.ceil(options.timeout / 2))
  const connector = openConnector({ url, tls: options.tls, proxy, timeoutMs, where })
  const pool = openPool(url, connector.connect)
  let closed = false

  return {
    async ask(request, signal) {
      signal.throwIfAborted()
      if (closed) throw new TailraceError('sink_unreachable', `${where}: the destination was closed`)
      const { gzip: compressed = false, ...rest } = request
      const headers: Record<string, string> = { 'user-agent': 'tailrace', ...rest.headers }
      const body = compressed ? await compress(rest.body ?? '', { level: 1 }) : rest.body
      if (compressed) headers['content-encoding'] = 'gzip'
      using limit = deadline(options.timeout, signal)
      try {
        const wanted = { ...rest, headers, signal: limit.signal, ...(body === undefined ? {} : { body }) }
        // undici heeds a signal once there is a connection: not while one is made.
        const { statusCode, headers: got, body: answer } = await orAborted(pool.request(wanted), limit.signal)
        const words = withoutSecrets(await answer.text(), hidden)
        return { where, status: statusCode, headers: got, retryAfter: got['retry-after'], text: words }
      } catch (error) {
        signal.throwIfAborted()
        if (limit.expired) {
          const message = `${where}: no answer within ${options.timeout} ms`
          throw new TailraceError('sink_timeout', message, { cause: error, inDoubt: true })
        }
        throw exchangeError(error, where)
      }
    },
    describe: () => connector.describe(),
    certificateExpires: () => connector.certificateExpires(),
    async [Symbol.asyncDispose]() {
      closed = true
      connector[Symbol.dispose]()
      await pool.destroy()
    },
  }
}

/**
 * Reads the option of a sink that has the address of its receiver. Throws `sink_misconfigured`, without the text: it
 * may be a secret.
 */
export function readHttpUrl(value: string, sink: string, option = 'url'): URL {
  const url = URL.parse(value)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new TailraceError('sink_misconfigured', `${sink}: ${option} is not an http or https URL`)
  }
  if (url.username === '' && url.password === '') return url
  throw new TailraceError('sink_misconfigured', `${sink}: ${option} must not have a user or password in it`)
}

function openPool(url: URL, connect: NonNullable<Pool.Options['connect']>): Pool {
  return new Pool(url.origin, {
    connections: connectionsMax,
    clientTtl: connectionAgeMs,
    // Idle for 4 s, or for as long as the receiver says that it keeps them.
    keepAliveMaxTimeout: connectionAgeMs,
    allowH2: false,
    headersTimeout: 0, // `timeout` covers the whole exchange
    bodyTimeout: 0,
    maxResponseSize: answerBytesMax,
    connect,
  })
}

function exchangeError(error: unknown, where: string): TailraceError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    const message = `${where}: the answer has more than ${answerBytesMax} bytes; is the URL right?`
    return new TailraceError('sink_misconfigured', message, { cause: error, inDoubt: true })
  }
  return networkError(error, where, 'sending')
}

/** So that none is left in part. Very short ones would take words apart and protect nothing. */
function longestFirst(secrets: readonly string[]): string[] {
  return secrets.filter((secret) => secret.length >= 4).toSorted((a, b) => b.length - a.length)
}

function withoutSecrets(words: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), words)
}
