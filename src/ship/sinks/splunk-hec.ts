// Splunk's HTTP Event Collector, and what speaks its protocol. Splunk, "Format events for HTTP Event Collector".

import type { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { validateHeaderValue } from 'node:http'
import { TailraceError } from '../../errors.ts'
import type { SecurityEvent } from '../../event.ts'
import { count, duration, flag, oneOf, size, text, type Option } from '../../option.ts'
import { isJson, type Format } from '../format.ts'
import { untilAcknowledged } from '../wire/hec-acknowledgement.ts'
import { hecAckDisabled, hecCode, hecError, hecHealthy, readAcknowledged, readOutcome } from '../wire/hec-answers.ts'
import { keepChannels } from '../wire/hec-channels.ts'
import { httpSchema, openHttp, readHttpUrl, type Answer, type HttpOptions } from '../http/exchange.ts'
import { checkName, compileName, isConstant, show, type Placeholder } from '../name-template.ts'
import { allTaken, defineSink, type Frame, type Sink } from '../sink.ts'
import { lines } from '../stream/stream-framing.ts'

export interface SplunkHecOptions extends HttpOptions {
  readonly url: string
  readonly token: string
  readonly endpoint: string
  readonly acknowledge: string
  readonly ackTimeout: number
  readonly channel: string
  readonly index: string
  readonly source: string
  readonly sourcetype: string
  readonly host: string
  readonly gzip: boolean
  readonly maxEvents: number
  readonly maxBytes: number
}

const metadata = ['host', 'source', 'sourcetype', 'index'] as const
const placeholders: readonly Placeholder[] = ['kind', 'stream', 'tenant', 'client', 'action']

export const splunkHec = defineSink<SplunkHecOptions>({
  name: 'splunk-hec',
  summary: "Sends to Splunk's HTTP Event Collector, or to what speaks its protocol.",
  confirms:
    'Where the token has acknowledgement: an indexer has indexed the events (and replicated them, in a cluster). Otherwise: the events are valid and in the queue of the collector, which a crash can still lose.',
  options: {
    url: text('Where the collector is, such as https://splunk.example.com:8088. `/services/collector` is added.'),
    token: text('Token of the collector.', { format: 'header-value', sensitive: true }),
    endpoint: oneOf(
      ['event', 'raw'],
      'event',
      'event: each event with its time, host, source, sourcetype, index and a few indexed fields. raw: plain lines, which the sourcetype must know how to part and date.',
    ),
    acknowledge: oneOf(
      ['auto', 'on', 'off'],
      'auto',
      'Whether events count as delivered only when an indexer acknowledges them. auto: if the token has acknowledgement. Splunk Cloud has none. Through a load balancer the question must reach the server that has the events: cookies are kept for it.',
    ),
    ackTimeout: duration('5m', 'How long an acknowledgement may take. Then the events are sent again.', '1s', '1h'),
    channel: {
      ...text(
        'Channel of the requests, a GUID. They are then sent one at a time, for a collector that crashes numbers its acknowledgements from 0 again. Empty: requests that are under way at the same time have a channel each.',
      ),
      format: checkChannel,
    },
    index: template('Index. Empty: that of the token.', ''),
    source: template('Source. Empty: that of the token.', 'tailrace'),
    sourcetype: template('Sourcetype, such as `tailrace:{kind}`. Empty: that of the token.', 'tailrace'),
    host: template('Host. Empty: that of the token.', ''),
    gzip: flag('Whether bodies are compressed.'),
    maxEvents: count(1000, 'Highest number of events in a request.', 1, 100_000),
    maxBytes: size('1mb', 'Highest number of bytes of events in a request, before compression.', '1kb', '512mb'),
    ...httpSchema,
  },
  limits: ({ maxEvents, maxBytes }) => ({ events: maxEvents, bytes: maxBytes }),
  frame: (options, format) => (options.endpoint === 'raw' ? (_event, encoded) => encoded : envelope(options, format)),
  frameKey: (options) => JSON.stringify([options.endpoint, ...metadata.map((name) => options[name])]),
  open,
})

function template(doc: string, usual: string): Option<string> {
  const check = (value: unknown): void => checkName(String(value), placeholders)
  return { ...text(`${doc} May have ${show(placeholders)}.`, { default: usual }), format: check }
}

function checkChannel(value: unknown): void {
  const isGuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(String(value))
  if (value !== '' && !isGuid) throw new Error('must be a GUID')
}

/**
 * `time` is in seconds with milliseconds. The indexed fields make an event quick to find and count, whatever its
 * format: `tailrace_id` is what duplicates share.
 */
function envelope(options: SplunkHecOptions, format: Format): Frame {
  const members = metadata.map((name) => member(name, options[name]))
  const json = isJson(format)
  return (event, encoded) => {
    const time = event.time >= 0 && event.time < Infinity ? `"time":${(event.time / 1000).toFixed(3)},` : ''
    const rest = members.reduce((sum, one) => sum + one(event), '')
    const fields =
      `{"tailrace_id":${JSON.stringify(event.id)},"tailrace_sequence":${event.sequence}` +
      `,"tailrace_tenant":${JSON.stringify(event.tenant)},"tailrace_stream":"${event.stream}"}`
    return `{${time}${rest}"event":${json ? encoded : JSON.stringify(encoded)},"fields":${fields}}`
  }
}

function member(name: string, value: string): (event: SecurityEvent) => string {
  // Of an event that has no client, say, a name may be empty: then that of the token counts.
  const whole = (text: string): string => (text === '' ? '' : `"${name}":${JSON.stringify(text)},`)
  if (isConstant(value)) {
    const constant = whole(value)
    return () => constant
  }
  const valueOf = compileName(value, placeholders)
  return (event) => whole(valueOf(event))
}

function open(options: SplunkHecOptions): Sink {
  const { acknowledge, gzip } = options
  const target = readTarget(options)
  const { where } = target
  const channels = keepChannels(options.channel)
  const http = openHttp({ sink: 'splunk-hec', url: target.url, options, secrets: [options.token] })
  const closed = new AbortController()

  function askAcks({ acks, channel, cookies = {} }: AckQuestion, signal: AbortSignal): Promise<Answer> {
    const headers = { ...target.headers, ...cookies, 'content-type': 'application/json' }
    const path = `${target.collector}/ack?channel=${channel}`
    return http.ask({ method: 'POST', path, headers, body: JSON.stringify({ acks }) }, signal)
  }

  async function sendIn(channel: string, records: readonly Uint8Array[], signal: AbortSignal) {
    const headers = { ...target.headers, 'x-splunk-request-channel': channel, 'content-type': target.contentType }
    const body = bodyOf(records, options)
    const answer = await http.ask({ method: 'POST', path: target.path, headers, body, gzip }, signal)
    const { untaken, ackId } = readOutcome(answer, records.length)
    if (untaken.length > 0 || acknowledge === 'off') return untaken
    if (ackId === undefined) {
      if (acknowledge === 'on') throw withoutAck(where, true)
      return allTaken
    }
    const question = { acks: [ackId], channel, cookies: cookiesOf(answer) }
    const poll = async (limit: AbortSignal): Promise<boolean> => readAcknowledged(await askAcks(question, limit), ackId)
    await untilAcknowledged(poll, { where, timeoutMs: options.ackTimeout }, signal)
    return allTaken
  }

  return {
    async send(records, _batch, signal) {
      signal.throwIfAborted()
      if (records.length === 0) return allTaken
      const either = AbortSignal.any([signal, closed.signal])
      return channels.use(either, (channel) => sendIn(channel, records, either))
    },
    async look(signal) {
      signal.throwIfAborted()
      const path = `${target.collector}/health`
      const health = await http.ask({ method: 'GET', path, headers: target.headers }, signal)
      if (hecCode(health) !== hecHealthy) throw hecError(health, 1)
      // A question about nothing: the answer says whether the token is good, and has acknowledgement.
      const acks = await askAcks({ acks: [], channel: options.channel || randomUUID() }, signal)
      return {
        findings: [`${where}: the event collector is healthy`, ...http.describe(), finding(acks, options, where)],
      }
    },
    certificateExpires: () => http.certificateExpires(),
    async [Symbol.asyncDispose]() {
      const message = `${where}: the destination was closed before the indexer acknowledged the events`
      closed.abort(new TailraceError('sink_unreachable', message, { inDoubt: true }))
      await http[Symbol.asyncDispose]()
    },
  }
}

interface Target {
  readonly url: URL
  readonly where: string
  /** Path of the collector, without what it is asked for. */
  readonly collector: string
  /** Where events are posted. */
  readonly path: string
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
}

interface AckQuestion {
  readonly acks: readonly number[]
  readonly channel: string
  readonly cookies?: Readonly<Record<string, string>>
}

function readTarget(options: SplunkHecOptions): Target {
  const url = readHttpUrl(options.url, 'splunk-hec')
  if (url.search !== '') throw misconfigured('url must have no query')
  try {
    validateHeaderValue('authorization', options.token)
  } catch {
    // Without the cause: its message may have the token.
    throw misconfigured('token cannot be sent in a header')
  }
  // People paste the whole address of the end point as well.
  const base = url.pathname.replace(/(\/services\/collector(\/(event|raw))?(\/1\.0)?)?\/*$/, '')
  const collector = `${base}/services/collector`
  const raw = options.endpoint === 'raw'
  return {
    url,
    where: `splunk-hec ${url.origin}`,
    collector,
    path: raw ? `${collector}/raw${rawQuery(options)}` : `${collector}/event`,
    contentType: raw ? 'text/plain; charset=utf-8' : 'application/json',
    headers: { authorization: `Splunk ${options.token}` },
  }
}

/** Lines have no envelope: what is said of them is said once for all, in the query. */
function rawQuery(options: SplunkHecOptions): string {
  const query = new URLSearchParams()
  for (const name of metadata) {
    if (!isConstant(options[name])) throw misconfigured(`${name} cannot have placeholders where endpoint is raw`)
    if (options[name] !== '') query.set(name, options[name])
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}

/** Events stand one after the other. What follows the last one would be looked at as one more by some receivers. */
function bodyOf(records: readonly Uint8Array[], { endpoint }: SplunkHecOptions): Buffer {
  return endpoint === 'raw' ? lines(records) : lines(records).subarray(0, -1)
}

const cookieBytesMax = 4096

/** Load balancers go by cookies: only the server that has the events knows of their acknowledgement. */
function cookiesOf({ headers }: Answer): Record<string, string> {
  const set = headers['set-cookie'] ?? []
  const cookie = [set]
    .flat()
    .map((one) => one.split(';', 1)[0]?.trim())
    .join('; ')
  return cookie === '' || cookie.length > cookieBytesMax ? {} : { cookie }
}

function finding(acks: Answer, { acknowledge }: SplunkHecOptions, where: string): string {
  if (hecCode(acks) === hecAckDisabled) {
    if (acknowledge === 'on') throw withoutAck(where, false)
    return 'The token has no acknowledgement: delivered means valid and in the queue of the collector, not indexed.'
  }
  const trouble = acks.status === 200 ? undefined : hecError(acks, 1)
  if (trouble?.code === 'sink_credentials') throw trouble
  if (trouble !== undefined) return 'Whether the token has acknowledgement shows with the first events.'
  return acknowledge === 'off'
    ? 'The token has acknowledgement, but acknowledge is off: delivered means in the queue of the collector, not indexed.'
    : 'The token has acknowledgement: delivered means indexed.'
}

function withoutAck(where: string, inDoubt: boolean): TailraceError {
  const words = `${where}: the token has no acknowledgement; enable it there, or set acknowledge to auto or off`
  return new TailraceError('sink_misconfigured', words, { inDoubt })
}

function misconfigured(words: string): TailraceError {
  return new TailraceError('sink_misconfigured', `splunk-hec: ${words}`)
}
