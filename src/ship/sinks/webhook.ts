// HTTP: batches of events by POST, signed if wanted. The answer is the confirmation.

import type { Buffer } from 'node:buffer'
import { TailraceError } from '../../errors.ts'
import { count, flag, oneOf, size, text } from '../../option.ts'
import { cloudEvent, cloudEventsBatch } from '../wire/cloud-events.ts'
import { isJson } from '../format.ts'
import { formats } from '../formats/all.ts'
import { statusError } from '../http/answers.ts'
import { httpSchema, openHttp, readHttpUrl, type Answer, type HttpOptions } from '../http/exchange.ts'
import { headerSchema, headerSecrets, readHeaders, type HeaderOptions } from '../http/headers.ts'
import { jsonList } from '../http/json-list.ts'
import { allTaken, defineSink, type SendContext, type Sink } from '../sink.ts'
import { lines } from '../stream/stream-framing.ts'
import { readSigner } from '../wire/webhook-signature.ts'

const bodies = ['ndjson', 'json-array', 'cloudevents'] as const

export interface WebhookOptions extends HttpOptions, HeaderOptions {
  readonly url: string
  readonly body: (typeof bodies)[number]
  readonly signingKeys: readonly string[]
  readonly gzip: boolean
  readonly maxEvents: number
  readonly maxBytes: number
}

export const webhook = defineSink<WebhookOptions>({
  name: 'webhook',
  summary: 'Posts batches of events to a URL: lines, a JSON array or CloudEvents; signed if wanted.',
  confirms: 'The receiver answered the whole batch with a status from 200 to 299.',
  options: {
    url: text('Where to post. It is kept out of logs, for it may be a secret itself.', { sensitive: true }),
    ...headerSchema,
    body: oneOf(
      bodies,
      'ndjson',
      'ndjson: one event a line. json-array: one JSON array. cloudevents: a batch of CloudEvents 1.0. The latter two want a JSON format. A content-type among the headers replaces the usual one.',
    ),
    signingKeys: {
      doc: 'Keys that sign requests as Standard Webhooks 1.0.0 has it: whsec_ and 24 to 64 bytes in base64. Each of them signs: to exchange a key, have the old and the new one here until the receiver has the new one.',
      format: Array,
      default: [],
      sensitive: true,
    },
    gzip: flag('Whether bodies are compressed. The receiver must take it. Not together with signingKeys.'),
    maxEvents: count(1000, 'Highest number of events in a request.', 1),
    maxBytes: size('1000000b', 'Highest number of bytes of events in a request, before compression.', '1kb', '64mb'),
    ...httpSchema,
  },
  formats: ({ body }) => (body === 'ndjson' ? undefined : jsonFirst(formats.filter(isJson))),
  limits: ({ maxEvents, maxBytes }) => ({ events: maxEvents, bytes: maxBytes }),
  frame: ({ body }) => (body === 'cloudevents' ? cloudEvent : undefined),
  frameKey: ({ body }) => (body === 'cloudevents' ? body : ''),
  open,
})

/** Statuses that mean the same to a question as to events: something on the way is down. */
const down = new Set([502, 503, 504])

function open(options: WebhookOptions): Sink {
  const url = readHttpUrl(options.url, 'webhook')
  const sign = readSigner(options.signingKeys, 'webhook')
  if (sign !== undefined && options.gzip) {
    // The body that receivers verify is the compressed one here and the other there: some would refuse every request.
    throw new TailraceError('sink_misconfigured', 'webhook: gzip and signingKeys exclude one another')
  }
  const target = { path: `${url.pathname}${url.search}`, headers: readHeaders(options, 'webhook') }
  const secrets = [target.path, ...url.searchParams.values(), ...headerSecrets(options), ...options.signingKeys]
  const http = openHttp({ sink: 'webhook', url, options, secrets })

  return {
    async send(records, context, signal) {
      signal.throwIfAborted()
      if (records.length === 0) return allTaken
      const { type, body } = encodeBody(records, context, options)
      const headers = {
        'content-type': type,
        ...target.headers,
        'idempotency-key': context.sendId,
        ...sign?.(context.sendId, body, Date.now()),
      }
      const request = { method: 'POST', path: target.path, headers, body, gzip: options.gzip } as const
      const answer = await http.ask(request, signal)
      if (answer.status >= 200 && answer.status < 300) return allTaken
      throw statusError(answer, records.length)
    },
    async look(signal) {
      const answer = await http.ask({ ...target, method: 'OPTIONS' }, signal)
      return { findings: [...http.describe(), findingOf(answer)] }
    },
    certificateExpires: () => http.certificateExpires(),
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]()
    },
  }
}

function findingOf(answer: Answer): string {
  const error = statusError(answer, 1)
  if (error.code === 'sink_credentials' || down.has(answer.status)) throw error
  return `${answer.where}: it answers (OPTIONS: ${answer.status}); whether it takes events shows with the first`
}

function encodeBody(
  records: readonly Uint8Array[],
  { contentType }: SendContext,
  { body }: WebhookOptions,
): { readonly type: string; readonly body: Buffer } {
  if (body === 'ndjson') return { type: contentType || 'application/x-ndjson', body: lines(records) }
  if (contentType !== '' && !isJson({ contentType })) {
    throw new TailraceError('sink_misconfigured', `webhook: body ${body} wants a JSON format; use ndjson for others`)
  }
  return { type: body === 'cloudevents' ? cloudEventsBatch : 'application/json', body: jsonList('[', records, ']') }
}

function jsonFirst(some: readonly { readonly name: string }[]): string[] {
  const names = some.map(({ name }) => name)
  return ['json', ...names.filter((name) => name !== 'json')]
}
