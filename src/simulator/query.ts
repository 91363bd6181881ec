// What a list operation is asked for: filter, order and page, read strictly, refused in the service's words.

import type { ServiceRecord } from '../event.ts'
import { isObject, type FieldMap } from './envelope.ts'
import type { RecordKind } from './entry.ts'

export interface QueryRules {
  /** `limit` is clamped to this. */
  readonly pageMax: number
  /** A deeper offset is refused; null: any is fine. */
  readonly offsetMax: number | null
  /** What becomes of a range with an end. */
  readonly closedRanges: 'honoured' | 'ignored' | 'refused'
}

export interface Range {
  readonly from: number
  readonly to: number
}

export interface Query {
  readonly clients: readonly number[]
  /** Any of them; empty: no such filter. Unix seconds, inclusive. */
  readonly ranges: readonly Range[]
  /** The documented incident filter was sent. */
  readonly incidents: boolean
  readonly tests: readonly ((record: ServiceRecord) => boolean)[]
  readonly orderBy: string | undefined
  readonly descending: boolean
  readonly offset: number
  readonly limit: number
  /** Equal for queries that select the same. */
  readonly filterKey: string
}

export type ReadQuery = { readonly query: Query } | { readonly problems: FieldMap }

/** The request body of a list operation as a query, or what is wrong with it. */
export function readQuery(kind: RecordKind, body: Record<string, unknown>, rules: QueryRules): ReadQuery {
  const problems: FieldMap = {}
  for (const key of Object.keys(body)) {
    if (!requestKeys.has(key)) problems[key] = { error: 'unknown field', value: body[key] }
  }
  const filter = isObject(body['filter']) ? body['filter'] : undefined
  if (filter === undefined) problems['filter'] = { error: 'object expected', value: body['filter'] ?? null }
  const read = readFilter(kind, filter ?? {}, { rules, problems })
  const offset = readCount(body, 'offset', { fallback: 0, least: 0, problems })
  const limit = readCount(body, 'limit', { fallback: defaultLimit, least: 1, problems })
  if (rules.offsetMax !== null && offset > rules.offsetMax) {
    problems['offset'] = { error: `must not exceed ${rules.offsetMax}`, value: offset }
  }
  const orderBy = body['order_by']
  if (orderBy !== undefined && (typeof orderBy !== 'string' || !orderKeys[kind].includes(orderBy))) {
    problems['order_by'] = { error: 'unknown order', value: orderBy }
  }
  const descending = body['order_desc']
  if (descending !== undefined && typeof descending !== 'boolean') {
    problems['order_desc'] = { error: 'boolean expected', value: descending }
  }
  if (Object.keys(problems).length > 0) return { problems }
  return {
    query: {
      ...read,
      orderBy: typeof orderBy === 'string' ? orderBy : undefined,
      descending: descending === true,
      offset,
      limit: Math.min(limit, rules.pageMax),
      filterKey: JSON.stringify(filter),
    },
  }
}

export const defaultLimit = 100

/** What each list can be ordered by. */
export const orderKeys: Readonly<Record<RecordKind, readonly string[]>> = {
  attacks: ['last_time', 'first_time', 'hits', 'threat', 'type', 'domain'],
  vulnerabilities: ['id', 'threat', 'validate_time', 'last_check', 'type'],
  rules: ['id', 'updated_at', 'create_time'],
  conditions: ['id', 'updated_at'],
}

/** What each list can be filtered by. */
export const filterKeys: Readonly<Record<RecordKind, readonly string[]>> = {
  attacks: ['clientid', 'time', 'vulnid', 'attackid', 'type', 'domain', 'ip', 'state', 'block_status'],
  vulnerabilities: ['clientid', 'time', 'testrun_id', 'validated', 'id', 'status', 'type'],
  rules: ['clientid', 'actionid', 'id', 'type'],
  conditions: ['clientid', 'id'],
}

const requestKeys = new Set(['filter', 'offset', 'limit', 'order_by', 'order_desc'])

interface Reading {
  readonly rules: QueryRules
  readonly problems: FieldMap
}

function readFilter(
  kind: RecordKind,
  filter: Record<string, unknown>,
  { rules, problems }: Reading,
): Pick<Query, 'clients' | 'ranges' | 'incidents' | 'tests'> {
  const tests: ((record: ServiceRecord) => boolean)[] = []
  let ranges: Range[] = []
  let incidents = false
  for (const [key, value] of Object.entries(filter)) {
    const negated = key.startsWith('!')
    const name = negated ? key.slice(1) : key
    if (!filterKeys[kind].includes(name)) problems[key] = { error: 'unknown filter', value }
    else if (key === 'clientid') continue
    else if (key === 'time') ranges = readRanges(value, { rules, problems })
    else if (name === 'time') problems[key] = { error: 'cannot be negated', value }
    else if (kind === 'attacks' && key === '!vulnid' && value === null) incidents = true
    else if (isObject(value)) problems[key] = { error: 'invalid value', value }
    else if (kind === 'vulnerabilities' && name === 'validated' && typeof value !== 'boolean') {
      problems[key] = { error: 'boolean expected', value }
    } else if (name === 'actionid' && !Number.isSafeInteger(value)) {
      problems[key] = { error: 'integer expected', value }
    } else if (name === 'ip') tests.push((record) => hasSource(record, value) !== negated)
    else tests.push((record) => matchesValue(record[name], value) !== negated)
  }
  if (kind === 'vulnerabilities' && ranges.length > 0) {
    tests.push((record) => ranges.some((range) => within(record['validate_time'], range)))
    ranges = []
  }
  return { clients: readClients(filter['clientid'], problems), ranges, incidents, tests }
}

function readClients(value: unknown, problems: FieldMap): number[] {
  const clients = Array.isArray(value) ? value.filter((item): item is number => Number.isSafeInteger(item)) : []
  if (value === undefined) problems['clientid'] = { error: 'required', value: null }
  else if (!Array.isArray(value) || value.length === 0 || clients.length < value.length) {
    problems['clientid'] = { error: 'array of integers expected', value }
  }
  return [...new Set(clients)]
}

/** `[from]`, `[[from]]`, `[[from, null]]`, `[[from, to]]`, and several ranges. */
function readRanges(value: unknown, { rules, problems }: Reading): Range[] {
  const items: unknown[] = Array.isArray(value) ? value : []
  const pairs: unknown[] = items.length === 1 && !Array.isArray(items[0]) ? [items] : items
  const ranges: Range[] = []
  for (const pair of pairs) {
    const [from, to = null]: unknown[] = Array.isArray(pair) ? pair : []
    const sound = Array.isArray(pair) && pair.length <= 2 && isMoment(from) && (to === null || isMoment(to))
    if (!sound || !isMoment(from)) continue
    if (isMoment(to) && rules.closedRanges === 'refused') {
      problems['time'] = { error: 'closed range is not supported', value }
      return []
    }
    const end = isMoment(to) && rules.closedRanges === 'honoured' ? to : Number.POSITIVE_INFINITY
    ranges.push({ from, to: end })
  }
  if (ranges.length === 0 || ranges.length < pairs.length) problems['time'] = { error: 'invalid date', value }
  return ranges
}

// Unix seconds. What could only be milliseconds is a mistake.
function isMoment(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < 100_000_000_000
}

function within(value: unknown, range: Range): boolean {
  return typeof value === 'number' && value >= range.from && value <= range.to
}

function hasSource(record: ServiceRecord, wanted: unknown): boolean {
  const sources: unknown[] = Array.isArray(record['ip_top']) ? record['ip_top'] : []
  return sources.some((source) => isObject(source) && matchesValue(source['ip'], wanted))
}

function matchesValue(have: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) return wanted.includes(have ?? null)
  return (have ?? null) === wanted
}

interface CountRule {
  readonly fallback: number
  readonly least: number
  readonly problems: FieldMap
}

function readCount(body: Record<string, unknown>, name: string, { fallback, least, problems }: CountRule): number {
  const value = body[name]
  if (value === undefined) return fallback
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value
  problems[name] = { error: `integer of at least ${least} expected`, value }
  return fallback
}
