// Microsoft Sentinel: rows of a Log Analytics table through the Logs Ingestion API of Azure Monitor.

import { hash, randomUUID } from 'node:crypto'
import { TailraceError } from '../../errors.ts'
import { flag, oneOf, text } from '../../option.ts'
import { askAuthorized, forTokenHost, keepToken, requestToken } from '../http/access-token.ts'
import { isJson } from '../format.ts'
import { statusError } from '../http/answers.ts'
import { httpSchema, openHttp, readHttpUrl, type Answer, type HttpOptions } from '../http/exchange.ts'
import { jsonList } from '../http/json-list.ts'
import { requireOptions } from '../required-options.ts'
import { sentinelRow } from '../wire/sentinel-row.ts'
import { allTaken, defineSink, type Sink } from '../sink.ts'

export interface SentinelOptions extends HttpOptions {
  readonly endpoint: string
  readonly rule: string
  readonly stream: string
  readonly tenantId: string
  readonly clientId: string
  readonly clientSecret: string
  readonly cloud: Cloud
  readonly loginUrl: string
  readonly gzip: boolean
}

type Cloud = keyof typeof clouds

/** Where tokens come from, and for whom: "Logs Ingestion API in Azure Monitor", request headers. */
const clouds = {
  public: { login: 'https://login.microsoftonline.com', audience: 'https://monitor.azure.com' },
  usgovernment: { login: 'https://login.microsoftonline.us', audience: 'https://monitor.azure.us' },
  china: { login: 'https://login.partner.microsoftonline.cn', audience: 'https://monitor.azure.cn' },
} as const

/** "1 MB", compressed and uncompressed, for a call with its brackets and commas. */
const callBytesMax = 1_000_000
const callEventsMax = 1000

export const sentinel = defineSink<SentinelOptions>({
  name: 'sentinel',
  summary: 'Sends rows to a Log Analytics table, for Microsoft Sentinel, through the Logs Ingestion API.',
  confirms:
    'Azure Monitor answered 204: it has taken every row. A transformation that drops rows, and a column that the data collection rule does not know, go unreported here; look at the table DCRLogErrors.',
  options: {
    endpoint: text(
      'Logs ingestion URL of the data collection rule, or of a data collection endpoint, such as https://….ingest.monitor.azure.com.',
    ),
    rule: text('Immutable id of the data collection rule: dcr- and 32 hexadecimal digits.'),
    stream: text('Stream of the data collection rule. The one in deploy/siem/sentinel has this name.', {
      default: 'Custom-Tailrace_CL',
    }),
    tenantId: text('Directory (tenant) id of the app registration.'),
    clientId: text('Application (client) id. It needs the role Monitoring Metrics Publisher on the rule.'),
    clientSecret: text('Value of a client secret of the application.', { sensitive: true }),
    cloud: oneOf<Cloud>(['public', 'usgovernment', 'china'], 'public', 'The Azure cloud: where tokens come from.'),
    loginUrl: text('Where tokens come from, if not from the host of `cloud`.'),
    gzip: flag('Whether bodies are compressed. It spares the line; the limit of 1 MB stays.'),
    ...httpSchema,
  },
  // Of every record there is one comma or bracket more, and a bracket at the end.
  limits: () => ({ events: callEventsMax, bytes: callBytesMax - callEventsMax - 1 }),
  frame: (_, format) => {
    const json = isJson(format)
    return (event, encoded) => sentinelRow(event, encoded, json)
  },
  frameKey: () => '',
  open,
})

function open(options: SentinelOptions): Sink {
  requireOptions('sentinel', options, ['endpoint', 'rule', 'stream', 'tenantId', 'clientId', 'clientSecret'])
  const { tenantId, clientId, clientSecret, gzip } = options
  const { login, audience } = clouds[options.cloud]
  const endpoint = readHttpUrl(options.endpoint, 'sentinel', 'endpoint')
  const loginUrl = readHttpUrl(options.loginUrl || login, 'sentinel', 'loginUrl')
  const secrets = [clientSecret]
  const api = openHttp({ sink: 'sentinel', url: endpoint, options, secrets })
  const identity = openHttp({ sink: 'sentinel', url: loginUrl, options: forTokenHost(options), secrets })
  const tokenRequest = {
    path: `${folder(loginUrl)}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`,
    form: {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: `${audience}/.default`,
    },
    secret: ['client_secret'],
  }
  const tokens = keepToken((signal) => requestToken(identity, tokenRequest, signal))
  const stream = `${encodeURIComponent(options.rule)}/streams/${encodeURIComponent(options.stream)}`
  const path = `${folder(endpoint)}/dataCollectionRules/${stream}?api-version=2023-01-01`

  async function upload(rows: readonly Uint8Array[], requestId: string, signal: AbortSignal): Promise<Answer> {
    const headers = { 'content-type': 'application/json', 'x-ms-client-request-id': requestId }
    const body = jsonList('[', rows, ']')
    return askAuthorized(api, tokens, { method: 'POST', path, headers, body, gzip }, signal)
  }

  return {
    async send(records, { sendId }, signal) {
      signal.throwIfAborted()
      if (records.length === 0) return allTaken
      const requestId = uuidOf(sendId)
      const answer = await upload(records, requestId, signal)
      if (answer.status === 204) return allTaken
      throw refusedUpload(answer, records.length, requestId)
    },
    async look(signal) {
      const requestId = randomUUID()
      const answer = await upload([], requestId, signal)
      const { where, status } = answer
      // Who may not send is told so before the body is looked at; that there are no rows in it may be a mistake (400).
      if (status !== 204 && status !== 400) throw refusedUpload(answer, 1, requestId)
      const words = `${where}: a token was issued, and an upload of no rows is answered with status ${status}`
      return { findings: [[words, ...api.describe()].join('; '), [loginUrl.origin, ...identity.describe()].join(': ')] }
    },
    certificateExpires: () => api.certificateExpires(),
    async [Symbol.asyncDispose]() {
      tokens[Symbol.dispose]()
      await Promise.all([api[Symbol.asyncDispose](), identity[Symbol.asyncDispose]()])
    },
  }
}

const hints: Readonly<Record<number, string>> = {
  403: 'the application needs the role Monitoring Metrics Publisher on the rule; a new role takes up to 30 minutes',
  404: 'look at rule, stream and endpoint',
}

/** With what helps an operator, and the id that Microsoft's support asks for. */
function refusedUpload(answer: Answer, rows: number, requestId: string): TailraceError {
  const { code, message, status, waitMs, inDoubt } = statusError(answer, rows)
  const hint = hints[answer.status]
  const words = `${message} (${hint === undefined ? '' : `${hint}; `}x-ms-client-request-id ${requestId})`
  return new TailraceError(code, words, {
    inDoubt,
    ...(status === undefined ? {} : { status }),
    ...(waitMs === undefined ? {} : { waitMs }),
  })
}

/** The same for the same send: RFC 9562 section 5.8, a UUID of version 8. */
function uuidOf(id: string): string {
  const hex = hash('sha256', id)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function folder({ pathname }: URL): string {
  return pathname.replace(/\/+$/, '')
}
