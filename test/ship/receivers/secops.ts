// The Chronicle API's imports, and Google's token endpoint for service accounts, from their reference documentation.

import { Buffer } from 'node:buffer'
import { generateKeyPairSync, randomUUID, verify } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { startCloudApi, type ApiAnswer, type CloudApi } from './cloud-api.ts'

export interface SecOpsReceiver extends AsyncDisposable {
  readonly api: CloudApi
  readonly identity: CloudApi
  /** `data` of logs, decoded; UDM events as objects. */
  readonly logs: string[]
  readonly events: unknown[]
  /** The same as they came. */
  readonly bodies: unknown[]
  readonly tokens: string[]
  /** How long tokens last from now on, seconds. */
  life: number
  /** The key file of the service account. */
  readonly key: string
}

export const instance = {
  project: 'soc-project',
  region: 'eu',
  instance: '1d0ad7a3-5b0e-4a3a-9d3b-000000000001',
}

const parent = `projects/${instance.project}/locations/${instance.region}/instances/${instance.instance}`
const email = `tailrace@${instance.project}.iam.gserviceaccount.com`
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const callBytesMax = 4_000_000

export async function startSecOps(version = 'v1alpha'): Promise<SecOpsReceiver> {
  const logs: string[] = []
  const events: unknown[] = []
  const bodies: unknown[] = []
  const tokens: string[] = []

  function takeImport({ method, url, headers }: IncomingMessage, body: Buffer): ApiAnswer {
    const bearer = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1]
    if (bearer === undefined || !tokens.includes(bearer)) return refuse(401, 'UNAUTHENTICATED', `No: ${bearer}`)
    if (method !== 'POST') return refuse(405, 'UNIMPLEMENTED', 'POST is wanted')
    if (headers['content-type'] !== 'application/json') return refuse(400, 'INVALID_ARGUMENT', 'JSON is wanted')
    if (body.length > callBytesMax) return refuse(400, 'INVALID_ARGUMENT', 'Request payload size exceeds the limit')
    const source = sourceOf(body)
    if (source === undefined) return refuse(400, 'INVALID_ARGUMENT', 'Invalid JSON payload received.')
    const raw = url === `/${version}/${parent}/logTypes/TAILRACE_CUSTOM/logs:import`
    if (!raw && url !== `/${version}/${parent}/events:import`) return refuse(404, 'NOT_FOUND', 'Not found')
    const list = source[raw ? 'logs' : 'events']
    if (!Array.isArray(list) || list.length === 0) return refuse(400, 'INVALID_ARGUMENT', 'Nothing to import')
    if (list.length > 1000) return refuse(400, 'INVALID_ARGUMENT', 'Too many')
    const wrong = list.map(raw ? wrongLog : wrongEvent).find((words) => words !== undefined)
    if (wrong !== undefined) return refuse(400, 'INVALID_ARGUMENT', wrong)
    bodies.push(source)
    if (raw) logs.push(...list.map((log: { data: string }) => Buffer.from(log.data, 'base64').toString()))
    else events.push(...list.map((event: { udm: unknown }) => event.udm))
    return { status: 200, body: {} }
  }

  function takeAssertion({ method, url }: IncomingMessage, body: Buffer): ApiAnswer {
    const form = new URLSearchParams(body.toString())
    const grant = form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    const wrong = wrongAssertion(form.get('assertion') ?? '', `${identity.origin}/token`)
    if (method !== 'POST' || url !== '/token' || !grant) return { status: 400, body: { error: 'invalid_request' } }
    if (wrong !== undefined) return { status: 400, body: { error: 'invalid_grant', error_description: wrong } }
    tokens.push(`ya29.${randomUUID()}`)
    return { status: 200, body: { access_token: tokens.at(-1), expires_in: receiver.life, token_type: 'Bearer' } }
  }

  const api = await startCloudApi(takeImport)
  const identity = await startCloudApi(takeAssertion)
  const receiver: SecOpsReceiver = {
    api,
    identity,
    logs,
    events,
    bodies,
    tokens,
    life: 3600,
    key: JSON.stringify({
      type: 'service_account',
      project_id: instance.project,
      private_key_id: 'key-1',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      client_email: email,
      token_uri: `${identity.origin}/token`,
    }),
    async [Symbol.asyncDispose]() {
      await Promise.all([api.stop(), identity.stop()])
    },
  }
  return receiver
}

function refuse(code: number, status: string, message: string): ApiAnswer {
  return { status: code, body: { error: { code, message, status } } }
}

function sourceOf(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as Record<string, unknown>
    const source = value['inlineSource']
    if (Object.keys(value).length !== 1 || typeof source !== 'object' || source === null) return undefined
    const { forwarder = `${parent}/forwarders/any` } = source as Record<string, unknown>
    const named = typeof forwarder === 'string' && forwarder.startsWith(`${parent}/forwarders/`)
    return named ? (source as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

const logFields = new Set(['data', 'logEntryTime', 'collectionTime', 'environmentNamespace', 'labels'])

function wrongLog(log: Readonly<Record<string, unknown>>): string | undefined {
  const unknown = Object.keys(log).find((name) => !logFields.has(name))
  if (unknown !== undefined) return `Unknown name "${unknown}"`
  const { data, logEntryTime, collectionTime, labels = {} } = log
  if (typeof data !== 'string' || Buffer.from(data, 'base64').toString('base64') !== data) return 'data is no base64'
  const [entry, collected] = [logEntryTime, collectionTime].map((time) => Date.parse(String(time)))
  if (entry === undefined || collected === undefined || !(entry < collected)) return 'collection_time is too early'
  const values = Object.values(labels as Record<string, { value?: unknown }>)
  return values.every(({ value }) => typeof value === 'string') ? undefined : 'labels are not labels'
}

function wrongEvent(event: Readonly<Record<string, unknown>>): string | undefined {
  const { udm } = event
  return typeof udm === 'object' && udm !== null && 'metadata' in udm ? undefined : 'udm has no metadata'
}

/** RFC 7523 section 3, and what Google wants beside. */
function wrongAssertion(jwt: string, audience: string): string | undefined {
  const [head = '', body = '', signature = ''] = jwt.split('.')
  const good = verify('sha256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url'))
  if (!good) return 'Invalid JWT Signature.'
  const header = decoded(head)
  const { iss, scope, aud, iat, exp } = decoded(body)
  if (header['alg'] !== 'RS256' || header['typ'] !== 'JWT' || header['kid'] !== 'key-1') return 'Invalid JWT header.'
  if (iss !== email) return 'Invalid grant: account not found'
  if (aud !== audience) return 'Invalid JWT: Failed audience check.'
  if (scope !== 'https://www.googleapis.com/auth/cloud-platform') return 'Invalid OAuth scope.'
  const now = Date.now() / 1000
  const [from, to] = [Number(iat), Number(exp)]
  return from <= now && now < to && to - from <= 3600 ? undefined : 'Invalid JWT: not in a reasonable timeframe.'
}

function decoded(part: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
}
