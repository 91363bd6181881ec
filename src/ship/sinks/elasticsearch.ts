// Elasticsearch and OpenSearch, by `_bulk`: each event is created under its own id, so that it is there once however
// often it is sent.

import { Buffer } from 'node:buffer'
import { validateHeaderValue } from 'node:http'
import { asTailraceError, TailraceError } from '../../errors.ts'
import type { SecurityEvent } from '../../event.ts'
import { count, flag, size, text, type Option } from '../../option.ts'
import { asObject, parseObject, wordsOf } from '../http/answer-text.ts'
import { bulkFilter, untakenOf } from '../wire/bulk-answers.ts'
import type { Format } from '../format.ts'
import { statusError } from '../http/answers.ts'
import { httpSchema, openHttp, readHttpUrl, type Answer, type HttpOptions } from '../http/exchange.ts'
import { isoTime } from '../iso-time.ts'
import { checkName, compileName, constantsOf, show, type Placeholder } from '../name-template.ts'
import { allTaken, defineSink, type Frame, type Sink } from '../sink.ts'
import { lines } from '../stream/stream-framing.ts'

export interface ElasticsearchOptions extends HttpOptions {
  readonly url: string
  readonly index: string
  readonly apiKey: string
  readonly username: string
  readonly password: string
  readonly gzip: boolean
  readonly maxEvents: number
  readonly maxBytes: number
}

const placeholders: readonly Placeholder[] = ['kind', 'stream', 'tenant']
/** With the longest placeholders (a tenant has 48 characters) a name stays within the 255 bytes of Elasticsearch. */
const constantsMax = 100

export const elasticsearch = defineSink<ElasticsearchOptions>({
  name: 'elasticsearch',
  summary: 'Sends to Elasticsearch or OpenSearch, into data streams or indices.',
  confirms:
    'Each event is written on the primary and all its replicas that are in sync, or was there already. Sent twice, it is there once, unless its data stream rolled over in between.',
  options: {
    url: text('Where it is, such as https://elastic.example.com:9200.'),
    index: indexTemplate(
      'Data stream or index that an event goes to. Elasticsearch makes data streams of logs-*-* by itself; OpenSearch, and other names, want an index template with data_stream, or become plain indices. The format ecs says the same name in each event: its namespace must be that of the data stream.',
    ),
    apiKey: text('API key: as it is encoded, or `id:key`.', { sensitive: true }),
    username: text(
      'User, where there is no API key. With neither, the client certificate of tls.cert says who we are.',
    ),
    password: text('Password of the user.', { sensitive: true }),
    gzip: flag('Whether bodies are compressed.'),
    maxEvents: count(1000, 'Highest number of events in a request.', 1, 10_000),
    maxBytes: size('5mb', 'Highest number of bytes of events in a request, before compression.', '1kb', '100mb'),
    ...httpSchema,
  },
  formats: () => ['ecs', 'json', 'ocsf'],
  limits: ({ maxEvents, maxBytes }) => ({ events: maxEvents, bytes: maxBytes }),
  frame: compileAction,
  frameKey: ({ index }) => index,
  open,
})

function indexTemplate(doc: string): Option<string> {
  const words = `${doc} May have ${show(placeholders)}; in their values, what is no small letter, digit or dot becomes _.`
  return { ...text(words, { default: 'logs-waf.{kind}-default' }), format: checkIndex }
}

/** Elastic, "Create index API", path parameters: small letters, no special characters, no sign in front. */
function checkIndex(value: unknown): void {
  const name = String(value)
  checkName(name, placeholders)
  const constants = constantsOf(name)
  if (!/^[a-z0-9{]/.test(name)) throw new Error('must begin with a small letter or a digit')
  if (!/^[a-z0-9._-]*$/.test(constants)) throw new Error('may have small letters, digits, dots, hyphens and _')
  if (constants.length > constantsMax) throw new Error(`must have at most ${constantsMax} characters of its own`)
}

/** Hyphens part the type, data set and namespace of a data stream's name: none may come from a value. */
function fit(value: string): string {
  return value.toLowerCase().replaceAll(/[^a-z0-9.]/g, '_')
}

/** `create`, as data streams take nothing else; they want the time of a document in `@timestamp`, which ECS has. */
function compileAction({ index }: ElasticsearchOptions, format: Format): Frame {
  const indexOf = compileName(index, placeholders, fit)
  const document = format.name === 'ecs' ? (_event: SecurityEvent, encoded: string) => encoded : withTimestamp
  return (event, encoded) => {
    const action = `{"create":{"_index":"${indexOf(event)}","_id":${JSON.stringify(event.id)}}}`
    return `${action}\n${document(event, encoded)}`
  }
}

function withTimestamp(event: SecurityEvent, encoded: string): string {
  const time = isoTime(event.time) ?? isoTime(event.observedTime) ?? '1970-01-01T00:00:00.000Z'
  return `{"@timestamp":"${time}"${encoded === '{}' ? '' : ','}${encoded.slice(1)}`
}

function open(options: ElasticsearchOptions): Sink {
  const url = readHttpUrl(options.url, 'elasticsearch')
  if (url.search !== '') throw misconfigured('url must have no query')
  const where = `elasticsearch ${url.origin}`
  const base = url.pathname.replace(/\/+$/, '')
  const { authorization, secrets } = readLogin(options)
  const common = { accept: 'application/json', ...(authorization === '' ? {} : { authorization }) }
  const http = openHttp({ sink: 'elasticsearch', url, options, secrets })
  const bulk = {
    method: 'POST',
    path: `${base}/_bulk?filter_path=${bulkFilter.join(',')}`,
    headers: { ...common, 'content-type': 'application/x-ndjson' },
    gzip: options.gzip,
  } as const

  async function post(body: Uint8Array, events: number, signal: AbortSignal): Promise<Answer> {
    try {
      return await http.ask({ ...bulk, body }, signal)
    } catch (error) {
      signal.throwIfAborted()
      throw smaller(error, events, where)
    }
  }

  return {
    async send(records, _batch, signal) {
      signal.throwIfAborted()
      if (records.length === 0) return allTaken
      const answer = await post(lines(records), records.length, signal)
      return untakenOf(answer, records.length)
    },
    async look(signal) {
      signal.throwIfAborted()
      const answer = await http.ask({ method: 'GET', path: `${base}/`, headers: common }, signal)
      return { findings: [`${where}: ${product(answer)}`, ...http.describe()] }
    },
    certificateExpires: () => http.certificateExpires(),
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]()
    },
  }
}

interface Login {
  /** Empty: the client certificate does. */
  readonly authorization: string
  readonly secrets: readonly string[]
}

function readLogin({ apiKey, username, password }: ElasticsearchOptions): Login {
  if (apiKey !== '' && username !== '') throw misconfigured('has both apiKey and username; one of them is enough')
  if (password !== '' && username === '') throw misconfigured('password wants a username')
  if (username !== '') {
    const login = base64(`${username}:${password}`)
    return { authorization: `Basic ${login}`, secrets: [login, password] }
  }
  if (apiKey === '') return { authorization: '', secrets: [] }
  const key = apiKey.includes(':') ? base64(apiKey) : apiKey
  const pair = Buffer.from(key, 'base64').toString()
  try {
    validateHeaderValue('authorization', key)
  } catch {
    // Without the cause: its message may have the key.
    throw misconfigured('apiKey cannot be sent in a header')
  }
  return { authorization: `ApiKey ${key}`, secrets: [key, pair, pair.slice(pair.indexOf(':') + 1)] }
}

function base64(value: string): string {
  return Buffer.from(value).toString('base64')
}

/** Reasons can be long: an answer that is too long to be read gets shorter with fewer documents. */
function smaller(thrown: unknown, events: number, where: string): unknown {
  const { code, cause } = asTailraceError(thrown)
  const tooLong = cause instanceof Error && 'code' in cause && cause.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
  if (code !== 'sink_misconfigured' || !tooLong || events === 1) return thrown
  const message = `${where}: the answer about ${events} documents is too long; fewer are sent at once`
  return new TailraceError('sink_refused_batch', message, { cause: thrown, inDoubt: true })
}

/** What it is, by `GET /`, which users that may only write are refused: 403 means that it knows us. */
function product(answer: Answer): string {
  if (answer.status === 403) return 'it knows our credentials, which do not allow to ask for its version'
  if (answer.status !== 200) throw statusError(answer, 1)
  const version = asObject(parseObject(answer.text)?.['version'])
  const number = version?.['number']
  if (typeof number !== 'string')
    throw misconfigured('what answers there is neither Elasticsearch nor OpenSearch; is url right?')
  const name = version?.['distribution'] === 'opensearch' ? 'OpenSearch' : 'Elasticsearch'
  return `${name} ${wordsOf(number)}; whether our credentials may write shows with the first events`
}

function misconfigured(words: string): TailraceError {
  return new TailraceError('sink_misconfigured', `elasticsearch: ${words}`)
}
