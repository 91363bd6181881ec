// What the service ever showed, and when: the measure by which deliveries are judged.

import { createHash } from 'node:crypto'
import type { ServiceRecord, StreamName } from '../event.ts'

/** One version of one record, as it was visible through the lists of a stream. Unix milliseconds. */
export interface AccountRow {
  readonly stream: StreamName
  readonly client: number
  readonly identity: string
  readonly version: string
  readonly shownFrom: number
  /** null: still visible. */
  readonly shownUntil: number | null
}

/** What of the account is asked for: versions that were visible at `since` or later. */
export interface AccountFilter {
  readonly since?: number | undefined
  readonly stream?: string | undefined
  readonly client?: number | undefined
}

/** Digest of a record's content, without the counters that depend on the query. 16 hex digits. */
export function recordVersion(record: ServiceRecord): string {
  const parts: string[] = []
  for (const key of Object.keys(record).sort()) {
    if (key.endsWith('_by_filter')) continue
    const value: string | undefined = JSON.stringify(record[key])
    if (value !== undefined) parts.push(`${JSON.stringify(key)}:${value}`)
  }
  return createHash('sha256')
    .update(`{${parts.join(',')}}`)
    .digest('hex')
    .slice(0, 16)
}

/** What stays the same while a record changes; empty if the record names nothing. */
export function recordIdentity(stream: StreamName, record: ServiceRecord): string {
  const named = stream === 'attacks' || stream === 'incidents' ? (record['attackid'] ?? record['id']) : record['id']
  if (Array.isArray(named)) return named.map(String).join(':')
  return typeof named === 'string' || typeof named === 'number' ? String(named) : ''
}

export function matchesAccount(row: AccountRow, filter: AccountFilter): boolean {
  if (filter.since !== undefined && row.shownUntil !== null && row.shownUntil < filter.since) return false
  if (filter.stream !== undefined && row.stream !== filter.stream) return false
  return filter.client === undefined || row.client === filter.client
}
