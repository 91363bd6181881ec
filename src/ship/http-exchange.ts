// One exchange over HTTP after another with the same receiver: what all sinks over HTTP share.

import { promisify } from 'node:util'
import type { TLSSocket } from 'node:tls'
import { gzip } from 'node:zlib'
import type convict from 'convict'
import { buildConnector, Pool } from 'undici'
import { TailraceError } from '../errors.ts'
import { duration, text } from '../option.ts'
import { deadline } from './deadline.ts'
import type { HttpAnswer } from './http-answers.ts'
import { networkError } from './network-errors.ts'
import { proxyFor } from './proxy.ts'
import { readTls, tlsSchema, type TlsOptions, type TlsSetup } from './tls-options.ts'

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
/** A connection is given up after so long, however busy: the name may have got another address. */
const connectionAgeMs = 60_000
const connectionsMax = 8

/** Throws `sink_misconfigured` where TLS options or proxy are of no use. Nothing is connected yet. */
export function openHttp({ sink, url, options, secrets }: HttpParts): HttpExchange {
  const where = `${sink} ${url.origin}`
  const hidden = longestFirst(secrets)
  const line = openLine(url, options, where)

  return {
    async ask(request, signal) {
      signal.throwIfAborted()
      const { gzip: compressed = false, ...rest } = request
      const headers: Record<string, string> = { 'user-agent': 'tailrace', ...rest.headers }
      const body = compressed ? await compress(rest.body ?? '', { level: 1 }) : rest.body
      if (compressed) headers['content-encoding'] = 'gzip'
      using limit = deadline(options.timeout, signal)
      try {
        const wanted = { ...rest, headers, signal: limit.signal, ...(body === undefined ? {} : { body }) }
        const { statusCode, headers: got, body: answer } = await line.pool.request(wanted)
        const words = withoutSecrets(await answer.text(), hidden)
        return { where, status: statusCode, headers: got, retryAfter: got['retry-after'], text: words }
      } catch (error) {
        signal.throwIfAborted()
        if (limit.expired) {
          const message = `${where}: no answer within ${options.timeout} ms`
          throw new TailraceError('sink_timeout', message, { cause: error, inDoubt: true })
        }
        if (error instanceof Error && 'code' in error && error.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
          const message = `${where}: the answer has more than ${answerBytesMax} bytes; is the URL right?`
          throw new TailraceError('sink_misconfigured', message, { cause: error, inDoubt: true })
        }
        throw networkError(error, where, 'sending')
      }
    },
    describe: () => line.describe(),
    async [Symbol.asyncDispose]() {
      await line.close()
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

interface Line {
  readonly pool: Pool
  describe(): string[]
  close(): Promise<void>
}

function openLine(url: URL, options: HttpOptions, where: string): Line {
  const tls = url.protocol === 'https:' ? readTls(options.tls) : undefined
  const proxy = proxyFor(url, options.proxy, process.env)
  const timeout = Math.min(connectTimeoutMs, options.timeout)
  const tunnels = proxy === undefined ? undefined : openTunnels(proxy, timeout, where)
  const connect = buildConnector({ allowH2: false, ...tls?.connection, timeout })
  let seen: string[] = []
  const pool = new Pool(url.origin, {
    connections: connectionsMax,
    clientTtl: connectionAgeMs,
    allowH2: false,
    headersTimeout: 0, // `timeout` covers the whole exchange
    bodyTimeout: 0,
    maxResponseSize: answerBytesMax,
    connect(target, callback) {
      const servername = options.tls.servername || target.servername
      const dial = async (): Promise<void> => {
        const through = await tunnels?.open(url)
        const wanted = { ...target, ...(servername === undefined ? {} : { servername }) }
        // Nothing is encrypted: the tunnel is the connection.
        if (through !== undefined && tls === undefined) return callback(null, through)
        connect({ ...wanted, ...(through === undefined ? {} : { httpSocket: through }) }, (error, socket) => {
          try {
            if (error !== null) throw error
            if (tls !== undefined) checkPin(socket, tls)
          } catch (thrown) {
            socket?.destroy()
            callback(networkError(thrown, where, 'connecting'), null)
            return
          }
          seen = describeSocket(socket)
          callback(null, socket)
        })
      }
      dial().catch((thrown: unknown) => callback(networkError(thrown, where, 'connecting'), null))
    },
  })
  return {
    pool,
    describe: () => [...(proxy === undefined ? [] : [`through the proxy ${proxy.origin}`]), ...seen],
    async close() {
      await Promise.all([pool.destroy(), tunnels?.close()])
    },
  }
}

type Socket = Parameters<buildConnector.Callback>[1] & object

interface Tunnels {
  open(url: URL): Promise<Socket>
  close(): Promise<void>
}

/** CONNECT, for plain HTTP as well: what is between the receiver and us is then none of the proxy's business. */
function openTunnels(proxy: URL, timeoutMs: number, where: string): Tunnels {
  const pool = new Pool(proxy.origin, { connect: { timeout: timeoutMs, allowH2: false } })
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  const headers = login === ':' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }
  return {
    async open(url) {
      const path = `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`
      const signal = AbortSignal.timeout(timeoutMs)
      const through = `${where} through the proxy ${proxy.origin}`
      const { statusCode, socket } = await pool
        .connect({ path, headers: { ...headers, host: path }, signal })
        .catch((error: unknown) => {
          throw networkError(error, through, 'connecting')
        })
      if (statusCode === 200) return socket as Socket
      socket.on('error', () => undefined).destroy()
      const code = statusCode === 407 || statusCode === 403 ? 'sink_credentials' : 'sink_unreachable'
      throw new TailraceError(code, `${through}: the proxy refuses with status ${statusCode}`)
    },
    async close() {
      await pool.destroy()
    },
  }
}

function checkPin(socket: object, tls: TlsSetup): void {
  if ('getPeerX509Certificate' in socket) tls.checkPin((socket as TLSSocket).getPeerX509Certificate())
}

function describeSocket(socket: object): string[] {
  if (!('getPeerX509Certificate' in socket)) return ['connected, not encrypted']
  const { getProtocol } = socket as TLSSocket
  const certificate = (socket as TLSSocket).getPeerX509Certificate()
  const subject = certificate?.subject.replaceAll('\n', ', ') ?? '?'
  const issuer = certificate?.issuer.replaceAll('\n', ', ') ?? '?'
  const until = certificate?.validTo ?? '?'
  return [`${getProtocol.call(socket)}, certificate of ${subject}, issued by ${issuer}, valid until ${until}`]
}

/** So that none is left in part. Very short ones would take words apart and protect nothing. */
function longestFirst(secrets: readonly string[]): string[] {
  return secrets.filter((secret) => secret.length >= 4).toSorted((a, b) => b.length - a.length)
}

function withoutSecrets(words: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), words)
}
