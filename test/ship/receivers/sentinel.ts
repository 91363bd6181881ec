// The Logs Ingestion API of Azure Monitor, from its documentation (August 2026), and stricter: what Azure would drop or
// cut without a word is refused or noted here.

import { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { startCloudApi, type ApiAnswer, type CloudApi } from './cloud-api.ts'

export type Row = Readonly<Record<string, unknown>>

export interface SentinelReceiver extends AsyncDisposable {
  readonly api: CloudApi
  readonly rows: Row[]
  /** Names of columns that were cut, as Azure does it, in the order of arrival. */
  readonly cut: string[]
}

export interface SentinelSetup {
  readonly rule: string
  readonly stream: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** Tokens that are good at this moment. */
  readonly tokens: () => readonly string[]
}

const callBytesMax = 1_000_000
const fieldBytesMax = 65_536

export async function startSentinel({ rule, stream, columns, tokens }: SentinelSetup): Promise<SentinelReceiver> {
  const rows: Row[] = []
  const cut: string[] = []
  const types = new Map(columns.map(({ name, type }) => [name, type]))
  const path = `/dataCollectionRules/${rule}/streams/${stream}?api-version=2023-01-01`

  function take(request: IncomingMessage, body: Buffer): ApiAnswer {
    const { method, url, headers } = request
    if (method !== 'POST' || url !== path) return refuse(404, 'NotFound', 'Data collection rule not found.')
    const bearer = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1]
    if (bearer === undefined || !tokens().includes(bearer)) return refuse(401, 'InvalidToken', `Not valid: ${bearer}`)
    if (headers['content-type'] !== 'application/json') return refuse(415, 'UnsupportedMediaType', 'JSON is wanted.')
    if (!isGuid(headers['x-ms-client-request-id'])) return refuse(400, 'InvalidRequestId', 'A GUID is wanted.')
    const plain = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
    if (Math.max(body.length, plain.length) > callBytesMax) {
      return refuse(413, 'ContentLengthLimitExceeded', 'Maximum allowed content length: 1 MB')
    }
    const found = parseRows(plain)
    if (found === undefined) return refuse(400, 'InvalidPayload', 'The payload must be a JSON array of objects.')
    for (const row of found) {
      for (const [name, value] of Object.entries(row)) {
        const type = types.get(name)
        if (type === undefined || !fits(type, value)) return refuse(400, 'InvalidRecord', `Column ${name} (${type})`)
      }
      if (!('TimeGenerated' in row)) return refuse(400, 'InvalidRecord', 'TimeGenerated is missing')
    }
    rows.push(...found.map((row) => truncated(row, cut)))
    return { status: 204 }
  }

  const api = await startCloudApi(take)
  return { api, rows, cut, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() }
}

function refuse(status: number, code: string, message: string): ApiAnswer {
  return { status, headers: { 'x-ms-error-code': code }, body: { error: { code, message } } }
}

function isGuid(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)
}

function parseRows(body: Buffer): Row[] | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    if (!Array.isArray(value)) return undefined
    const objects = value.every((row) => typeof row === 'object' && row !== null && !Array.isArray(row))
    return objects ? (value as Row[]) : undefined
  } catch {
    return undefined
  }
}

function fits(type: string, value: unknown): boolean {
  switch (type) {
    case 'datetime':
      return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z$/.test(value)
    case 'long':
      return Number.isSafeInteger(value)
    case 'dynamic':
      return value !== null
    default:
      return typeof value === type
  }
}

function truncated(row: Row, cut: string[]): Row {
  const fields = Object.entries(row).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    if (Buffer.byteLength(text) <= fieldBytesMax) return [name, value]
    cut.push(name)
    return [name, text.slice(0, fieldBytesMax)]
  })
  return Object.fromEntries(fields) as Row
}
