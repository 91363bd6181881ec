// Google SecOps (Chronicle): events of its data model, or raw logs, through the Chronicle API.
// https://docs.cloud.google.com/chronicle/docs/reference/ingestion-methods

import { Buffer } from 'node:buffer'
import { TailraceError } from '../../errors.ts'
import type { SecurityEvent } from '../../event.ts'
import { oneOf, text } from '../../option.ts'
import { askAuthorized, forTokenHost, keepToken, requestToken } from '../http/access-token.ts'
import { statusError } from '../http/answers.ts'
import { httpSchema, openHttp, readHttpUrl, type Answer, type HttpOptions } from '../http/exchange.ts'
import { isoTime } from '../iso-time.ts'
import { jsonList } from '../http/json-list.ts'
import { requireOptions } from '../required-options.ts'
import { readServiceAccount, signAssertion } from '../http/service-account.ts'
import { allTaken, defineSink, type Sink } from '../sink.ts'

export interface SecOpsOptions extends HttpOptions {
  readonly region: string
  readonly endpoint: string
  readonly apiVersion: ApiVersion
  readonly project: string
  readonly location: string
  readonly instance: string
  readonly import: Import
  readonly logType: string
  readonly forwarder: string
  readonly namespace: string
  readonly serviceAccount: string
  readonly scope: string
}

type ApiVersion = 'v1alpha' | 'v1beta' | 'v1'
type Import = 'raw' | 'udm'

/** A call takes 4 MB, and what is in it as base64 counts as base64. */
const callBytesMax = 4_000_000
const callEventsMax = 1000
/** For what is around the list, and a comma for each. */
const aroundBytesMax = 2000

export const googleSecOps = defineSink<SecOpsOptions>({
  name: 'google-secops',
  summary: 'Imports events into Google SecOps (Chronicle): as UDM events, or as raw logs for a parser there.',
  confirms:
    'The Chronicle API answered 200: it has taken the whole batch; of UDM events it has checked each. Whether a parser makes anything of raw logs is not known then.',
  options: {
    region: text('Region of the instance, such as us, eu, europe-west3, asia-southeast1.', { default: 'us' }),
    endpoint: text('The API, if it is not https://<region>-chronicle.googleapis.com.'),
    apiVersion: oneOf<ApiVersion>(['v1alpha', 'v1beta', 'v1'], 'v1alpha', 'Version of the Chronicle API.'),
    project: text('Id or number of the Google Cloud project of the instance.'),
    location: text('Location of the instance in names of resources. Empty: the region.'),
    instance: text('Customer id of the instance, a UUID.'),
    import: oneOf<Import>(
      ['raw', 'udm'],
      'raw',
      'raw: logs in any format, for the parser of logType. udm: events of the Unified Data Model; wants the format udm.',
    ),
    logType: text('With raw: the log type whose parser reads them. It must exist, and may be a custom one.'),
    forwarder: text('With raw: id or full name of the forwarder that the logs count for. Empty: none.'),
    namespace: text('With raw: environment namespace of the logs. Empty: none.'),
    serviceAccount: text(
      'Key of a service account with the permission chronicle.logs.import or chronicle.events.import: JSON, or the file it is in.',
      { sensitive: true },
    ),
    scope: text('OAuth scope of the token.', { default: 'https://www.googleapis.com/auth/cloud-platform' }),
    ...httpSchema,
  },
  formats: (options) => (options.import === 'udm' ? ['udm'] : undefined),
  limits: () => ({ events: callEventsMax, bytes: callBytesMax - callEventsMax - aroundBytesMax }),
  frame: (options) => (options.import === 'udm' ? udmEvent : rawLog(options.namespace)),
  frameKey: (options) => JSON.stringify(options.import === 'udm' ? ['udm'] : ['raw', options.namespace]),
  open,
})

function udmEvent(_: SecurityEvent, encoded: string): string {
  return `{"udm":${encoded}}`
}

/**
 * The resource Log of the Chronicle API. `collectionTime` must be after `logEntryTime`: what seems to happen in the
 * future, by clocks that differ, is dated to when it was read; its own time is in the data.
 */
function rawLog(namespace: string): (event: SecurityEvent, encoded: string) => string {
  const environment = namespace === '' ? {} : { environmentNamespace: namespace }
  return (event, encoded) => {
    const collected = event.observedTime
    const entry = isoTime(event.time) === undefined ? collected - 1 : Math.min(event.time, collected - 1)
    const labels = { ...event.labels, tenant: event.tenant, stream: event.stream }
    return JSON.stringify({
      data: Buffer.from(encoded).toString('base64'),
      logEntryTime: isoTime(entry),
      collectionTime: isoTime(collected),
      ...environment,
      labels: Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, { value }])),
    })
  }
}

function open(options: SecOpsOptions): Sink {
  const raw = options.import === 'raw'
  requireOptions('google-secops', options, ['region', 'project', 'instance', 'serviceAccount', 'scope'])
  if (raw) requireOptions('google-secops', options, ['logType'])
  const endpoint = readHttpUrl(endpointOf(options), 'google-secops', 'endpoint')
  const account = readServiceAccount(options.serviceAccount, 'google-secops')
  const tokenUri = readHttpUrl(account.tokenUri, 'google-secops', 'token_uri of serviceAccount')
  const api = openHttp({ sink: 'google-secops', url: endpoint, options, secrets: [] })
  const identity = openHttp({ sink: 'google-secops', url: tokenUri, options: forTokenHost(options), secrets: [] })
  const tokens = keepToken((signal) => {
    const assertion = signAssertion(account, options.scope, Date.now())
    const form = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }
    const path = `${tokenUri.pathname}${tokenUri.search}`
    return requestToken(identity, { path, form, secret: ['assertion'] }, signal)
  })
  const parent = parentOf(options)
  const method = raw ? `logTypes/${encodeURIComponent(options.logType)}/logs:import` : 'events:import'
  const path = `${endpoint.pathname.replace(/\/+$/, '')}/${options.apiVersion}/${parent}/${method}`
  const forwarder = raw ? forwarderOf(options, parent) : ''
  const after = forwarder === '' ? ']}}' : `],"forwarder":${JSON.stringify(forwarder)}}}`

  async function upload(records: readonly Uint8Array[], signal: AbortSignal): Promise<Answer> {
    const body = jsonList(`{"inlineSource":{"${raw ? 'logs' : 'events'}":[`, records, after)
    const headers = { 'content-type': 'application/json' }
    return askAuthorized(api, tokens, { method: 'POST', path, headers, body }, signal)
  }

  return {
    async send(records, _batch, signal) {
      signal.throwIfAborted()
      if (records.length === 0) return allTaken
      const answer = await upload(records, signal)
      if (answer.status === 200) return allTaken
      throw statusError(answer, records.length)
    },
    async look(signal) {
      const answer = await upload([], signal)
      const { where, status } = answer
      // Who may not import is told so before the body is looked at; that it is empty may be a mistake (400).
      if (status !== 200 && status !== 400) throw statusError(answer, 1)
      const words = `${where}: a token was issued, and an import of nothing is answered with status ${status}`
      return { findings: [[words, ...api.describe()].join('; '), [tokenUri.origin, ...identity.describe()].join(': ')] }
    },
    certificateExpires: () => api.certificateExpires(),
    async [Symbol.asyncDispose]() {
      tokens[Symbol.dispose]()
      await Promise.all([api[Symbol.asyncDispose](), identity[Symbol.asyncDispose]()])
    },
  }
}

function endpointOf({ endpoint, region }: SecOpsOptions): string {
  if (endpoint !== '') return endpoint
  if (/^[a-z0-9-]+$/.test(region)) return `https://${region}-chronicle.googleapis.com`
  throw new TailraceError('sink_misconfigured', 'google-secops: region is the name of a region, such as us')
}

function parentOf({ project, location, region, instance }: SecOpsOptions): string {
  const names = { projects: project, locations: location || region, instances: instance }
  return Object.entries(names)
    .map(([collection, name]) => `${collection}/${encodeURIComponent(name)}`)
    .join('/')
}

function forwarderOf({ forwarder }: SecOpsOptions, parent: string): string {
  return forwarder === '' || forwarder.includes('/') ? forwarder : `${parent}/forwarders/${forwarder}`
}
