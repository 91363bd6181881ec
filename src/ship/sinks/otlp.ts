// OTLP/HTTP: events as OpenTelemetry log records, in JSON (opentelemetry-proto 1.11, docs/specification.md).

import { TailraceError } from '../../errors.ts'
import { count, flag, size, text } from '../../option.ts'
import { version } from '../../version.ts'
import { asObject, parseObject, wordsOf } from '../http/answer-text.ts'
import { statusError } from '../http/answers.ts'
import { httpSchema, openHttp, readHttpUrl, type Answer, type HttpOptions } from '../http/exchange.ts'
import { headerSchema, headerSecrets, readHeaders, type HeaderOptions } from '../http/headers.ts'
import { jsonList } from '../http/json-list.ts'
import { logRecord, textAttributes } from '../wire/otlp-record.ts'
import { allTaken, defineSink, type Sink, type Untaken } from '../sink.ts'

export interface OtlpOptions extends HttpOptions, HeaderOptions {
  readonly url: string
  readonly serviceName: string
  readonly resource: string
  readonly gzip: boolean
  readonly maxEvents: number
  readonly maxBytes: number
}

export const otlp = defineSink<OtlpOptions>({
  name: 'otlp',
  summary: 'Sends log records over OTLP/HTTP (JSON), to an OpenTelemetry Collector and whatever else takes OTLP.',
  confirms: 'The receiver accepted every record; an answer that rejects some makes dead letters of the whole request.',
  options: {
    url: text(
      'The receiver, such as https://collector.example.org:4318. As with OTEL_EXPORTER_OTLP_ENDPOINT, /v1/logs is put behind it, unless it ends so already.',
    ),
    ...headerSchema,
    serviceName: text('service.name of the resource.', { default: 'tailrace' }),
    resource: text(
      'More attributes of the resource, as OTEL_RESOURCE_ATTRIBUTES has them: deployment.environment.name=production,team=soc. Percent signs and commas in values are percent-encoded.',
    ),
    gzip: flag('Whether bodies are compressed. OTLP receivers take it.'),
    maxEvents: count(
      1000,
      'Highest number of events in a request. A receiver that rejects some does not say which: then all of the request become dead letters.',
      1,
    ),
    maxBytes: size('1mb', 'Highest number of bytes of log records in a request, before compression.', '1kb', '64mb'),
    ...httpSchema,
  },
  limits: ({ maxEvents, maxBytes }) => ({ events: maxEvents, bytes: maxBytes }),
  frame: () => logRecord,
  frameKey: () => '',
  open,
})

function open(options: OtlpOptions): Sink {
  const url = logsUrl(readHttpUrl(options.url, 'otlp'))
  const path = `${url.pathname}${url.search}`
  const headers = { ...readHeaders(options, 'otlp'), 'content-type': 'application/json' }
  const http = openHttp({
    sink: 'otlp',
    url,
    options,
    secrets: [...url.searchParams.values(), ...headerSecrets(options)],
  })
  const { before, after } = enclosure(options)

  async function post(records: readonly Uint8Array[], signal: AbortSignal): Promise<Answer> {
    const body = jsonList(before, records, after)
    const answer = await http.ask({ method: 'POST', path, headers, body, gzip: options.gzip }, signal)
    if (answer.status >= 200 && answer.status < 300) return answer
    throw refusalOf(answer, records.length)
  }

  return {
    async send(records, _context, signal) {
      signal.throwIfAborted()
      if (records.length === 0) return allTaken
      return untakenOf(await post(records, signal), records.length)
    },
    async look(signal) {
      // A request without records is to be answered as one that succeeded.
      const answer = await post([], signal)
      const { words } = partialSuccess(answer)
      const said = words === '' ? '' : `; it says: ${words}`
      return { findings: [...http.describe(), `${answer.where}: it takes log records (${answer.status})${said}`] }
    },
    certificateExpires: () => http.certificateExpires(),
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]()
    },
  }
}

function logsUrl(base: URL): URL {
  const url = new URL(base)
  const path = url.pathname.replace(/\/+$/, '')
  url.pathname = path.endsWith('/v1/logs') ? path : `${path}/v1/logs`
  return url
}

/** What goes around the log records of a request. */
function enclosure({ serviceName, resource }: OtlpOptions): { readonly before: string; readonly after: string } {
  const own = { 'service.name': serviceName, 'service.version': version }
  const attributes = textAttributes({ ...own, ...readAttributes(resource) })
  const scope = JSON.stringify({ name: 'tailrace', version })
  return {
    before: `{"resourceLogs":[{"resource":{"attributes":${attributes}},"scopeLogs":[{"scope":${scope},"logRecords":[`,
    after: ']}]}]}',
  }
}

/** `name=value,name=value`, percent-encoded (W3C Baggage). */
function readAttributes(pairs: string): Record<string, string> {
  const read = pairs.split(',').map((pair) => /^\s*([^\s=]+)\s*=\s*(.*?)\s*$/.exec(pair)?.slice(1) ?? [])
  try {
    if (pairs.trim() === '') return {}
    if (read.some((pair) => pair.length === 0)) throw new Error('no pair')
    return Object.fromEntries(read.map(([name = '', value = '']) => [name, decodeURIComponent(value)]))
  } catch (error) {
    throw new TailraceError('sink_misconfigured', 'otlp: resource is not name=value,name=value', { cause: error })
  }
}

const retryable = new Set([429, 502, 503, 504])

/**
 * Of the statuses that others try again (408, 500 …) OTLP says that they must not be. The events are not to blame, and
 * none may be lost: the destination is halted, and looked at again slowly.
 */
function refusalOf(answer: Answer, events: number): TailraceError {
  const error = statusError(answer, events)
  if (error.remedy !== 'retry' || retryable.has(answer.status)) return error
  const message = `${error.message} (OTLP does not allow to try again at once; look at the log of the receiver)`
  return new TailraceError('sink_misconfigured', message, { status: answer.status, inDoubt: true })
}

/**
 * "The client MUST NOT retry the request when it receives a partial success", and which records were rejected is not
 * said. So that none is lost in silence, all of them become dead letters.
 */
function untakenOf(answer: Answer, events: number): readonly Untaken[] {
  const { rejected, words } = partialSuccess(answer)
  if (rejected === 0) return allTaken
  const said = words === '' ? '' : `: ${words}`
  const message = `${answer.where}: rejected ${rejected} of ${events} events, and does not say which${said}`
  const error = new TailraceError('sink_refused_event', message, { status: answer.status })
  return Array.from({ length: events }, (_, index) => ({ index, error }))
}

interface PartialSuccess {
  readonly rejected: number
  /** A warning, where nothing was rejected. */
  readonly words: string
}

/** Of ExportLogsServiceResponse. Throws for what is none: a login page says 200 as well. */
function partialSuccess({ where, status, text: body }: Answer): PartialSuccess {
  const answer = body.trim() === '' ? {} : parseObject(body)
  if (answer === undefined) {
    const message = `${where}: status ${status}, but the answer is not one of OTLP; is url right?`
    throw new TailraceError('sink_misconfigured', message, { status, inDoubt: true })
  }
  const partial = asObject(answer['partialSuccess'] ?? answer['partial_success'])
  if (partial === undefined) return { rejected: 0, words: '' }
  const rejected = Number(partial['rejectedLogRecords'] ?? partial['rejected_log_records'] ?? 0)
  const said = partial['errorMessage'] ?? partial['error_message']
  const words = typeof said === 'string' ? wordsOf(said) : ''
  // What is no number is taken for a rejection: better a dead letter too many than one too few.
  return { rejected: Number.isFinite(rejected) ? Math.max(0, rejected) : 1, words }
}
