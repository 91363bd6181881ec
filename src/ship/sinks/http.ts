// HTTP: batches of events by POST. The answer is the confirmation.

import { Buffer } from 'node:buffer'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { buildConnector, Pool, type Dispatcher } from 'undici'
import { TailraceError } from '../../errors.ts'
import { deadline } from '../deadline.ts'
import { refusal, statusError } from '../http-answers.ts'
import { networkError } from '../network-errors.ts'
import { allTaken, defineSink, type SendContext, type Sink } from '../sink.ts'
import { lines } from '../stream-framing.ts'
import { readTls, tlsSchema, type TlsOptions } from '../tls-options.ts'

export interface HttpOptions {
  readonly url: string
  readonly token: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly gzip: boolean
  readonly timeout: number
  readonly maxEvents: number
  readonly maxBytes: number
  readonly tls: TlsOptions
}

export const http = defineSink<HttpOptions>({
  name: 'http',
  summary: 'Posts batches of events to a URL.',
  confirms: 'The receiver answered the whole batch with a status from 200 to 299.',
  options: {
    url: {
      doc: 'Where to post. It is kept out of logs, for it may be a secret itself.',
      format: String,
      default: '',
      sensitive: true,
    },
    token: { doc: 'Sent as `Authorization: Bearer …`.', format: String, default: '', sensitive: true },
    headers: { doc: 'More headers; values may be secrets.', format: Object, default: {}, sensitive: true },
    body: {
      doc: 'ndjson: one event a line. json-array: one JSON array; wants a JSON format.',
      format: ['ndjson', 'json-array'],
      default: 'ndjson',
    },
    gzip: { doc: 'Whether bodies are compressed. The receiver must take it.', format: Boolean, default: false },
    timeout: { doc: 'How long a request may take with its answer, milliseconds.', format: 'nat', default: 30_000 },
    maxEvents: { doc: 'Highest number of events in a request.', format: 'nat', default: 1000 },
    maxBytes: {
      doc: 'Highest number of bytes of events in a request, before compression.',
      format: 'nat',
      default: 1_000_000,
    },
    tls: tlsSchema,
  },
  limits: ({ maxEvents, maxBytes }) => ({ events: Math.max(1, maxEvents), bytes: Math.max(1, maxBytes) }),
  open,
})

const compress = promisify(gzip)
const connectTimeoutMs = 10_000
/** An answer is a few words; the bound keeps a mistaken address from filling our memory. */
const answerBytesMax = 1024 * 1024

function open(options: HttpOptions): Sink {
  const url = readUrl(options.url)
  const where = `http ${url.origin}`
  const pool = openPool(url, options, where)
  const target = { path: `${url.pathname}${url.search}`, headers: headersOf(options) }
  const secrets = secretsOf(url, options)

  async function ask(request: Dispatcher.RequestOptions, signal: AbortSignal): Promise<Answer> {
    using limit = deadline(options.timeout, signal)
    try {
      const { statusCode, headers, body } = await pool.request({ ...request, signal: limit.signal })
      return { status: statusCode, retryAfter: headers['retry-after'], text: await body.text() }
    } catch (error) {
      signal.throwIfAborted()
      if (limit.expired) {
        const message = `${where}: no answer within ${options.timeout} ms`
        throw new TailraceError('sink_timeout', message, { cause: error, inDoubt: true })
      }
      if (error instanceof Error && 'code' in error && error.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
        const message = `${where}: the answer has more than ${answerBytesMax} bytes; is url right?`
        throw new TailraceError('sink_misconfigured', message, { cause: error, inDoubt: true })
      }
      throw networkError(error, where, 'sending')
    }
  }

  return {
    async send(records, batch, signal) {
      signal.throwIfAborted()
      if (records.length === 0) return allTaken
      const body = encodeBody(records, batch, options)
      const headers = { ...target.headers, 'content-type': body.type, 'idempotency-key': batch.sendId }
      const bytes = options.gzip ? await compress(body.bytes, { level: 1 }) : body.bytes
      const answer = await ask({ ...target, method: 'POST', headers, body: bytes }, signal)
      if (answer.status >= 200 && answer.status < 300) return allTaken
      throw statusError({ ...answer, where, text: withoutSecrets(answer.text, secrets) }, records.length)
    },
    async look(signal) {
      const { status, text, retryAfter } = await ask({ ...target, method: 'OPTIONS' }, signal)
      if (refusal(status)) throw statusError({ status, retryAfter, where, text: withoutSecrets(text, secrets) }, 1)
      return { findings: [`${where}: it answers (OPTIONS: ${status}); whether it takes events shows with the first`] }
    },
    async [Symbol.asyncDispose]() {
      await pool.destroy()
    },
  }
}

interface Answer {
  readonly status: number
  readonly retryAfter: string | string[] | undefined
  readonly text: string
}

function readUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new TailraceError('sink_misconfigured', 'http: url is not an http or https URL')
  }
  if (url.username === '' && url.password === '') return url
  throw new TailraceError('sink_misconfigured', 'http: url must not have a user or password; use token or headers')
}

function openPool(url: URL, options: HttpOptions, where: string): Pool {
  const tls = url.protocol === 'https:' ? readTls(options.tls) : undefined
  const connect = buildConnector({
    allowH2: false,
    ...tls?.connection,
    timeout: Math.min(connectTimeoutMs, options.timeout),
  })
  return new Pool(url.origin, {
    connections: 8,
    allowH2: false,
    headersTimeout: 0, // `timeout` covers the whole exchange
    bodyTimeout: 0,
    maxResponseSize: answerBytesMax,
    connect(target, callback) {
      const servername = options.tls.servername || target.servername
      connect({ ...target, ...(servername === undefined ? {} : { servername }) }, (error, socket) => {
        try {
          if (error !== null) throw error
          if ('getPeerX509Certificate' in socket) tls?.checkPin(socket.getPeerX509Certificate())
        } catch (thrown) {
          socket?.destroy()
          callback(networkError(thrown, where, 'connecting'), null)
          return
        }
        callback(null, socket)
      })
    },
  })
}

function headersOf({ headers, token, gzip: compressed }: HttpOptions): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
      if (typeof value !== 'string') throw new TypeError('not text')
    } catch {
      // Without the cause: its message may have the value, which may be a secret.
      throw new TailraceError('sink_misconfigured', `http: header ${JSON.stringify(name)} cannot be sent`)
    }
  }
  return {
    'user-agent': 'tailrace',
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(compressed ? { 'content-encoding': 'gzip' } : {}),
  }
}

function encodeBody(
  records: readonly Uint8Array[],
  { contentType }: SendContext,
  { body }: HttpOptions,
): { readonly type: string; readonly bytes: Buffer } {
  if (body === 'ndjson') return { type: contentType || 'application/x-ndjson', bytes: lines(records) }
  if (contentType !== '' && !contentType.includes('json')) {
    throw new TailraceError('sink_misconfigured', 'http: body json-array wants a JSON format; use ndjson for others')
  }
  const bytes = lines(records)
  // A line feed separates; in an array that is a comma. The last one is the bracket.
  let at = 0
  for (const record of records) {
    at += record.length
    bytes[at++] = 0x2c
  }
  bytes[at - 1] = 0x5d
  return { type: 'application/json', bytes: Buffer.concat([Buffer.from('['), bytes]) }
}

/** The longest first, so that none is left in part. Very short ones would take words apart and protect nothing. */
function secretsOf(url: URL, { token, headers }: HttpOptions): string[] {
  const all = [token, ...Object.values(headers), `${url.pathname}${url.search}`, ...url.searchParams.values()]
  return all.filter((secret) => secret.length >= 4).toSorted((a, b) => b.length - a.length)
}

/** Receivers like to repeat in an error what they were sent. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text)
}
