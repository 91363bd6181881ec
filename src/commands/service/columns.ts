// Records of the service as rows of a table. They hold what attackers sent: nothing of it may reach a terminal raw.

import type { ServiceRecord, StreamName } from '../../event.ts'
import { presentable } from '../../service/words.ts'
import { table } from '../table.ts'

type Column = readonly [title: string, cell: (record: ServiceRecord) => unknown]

const widthMax = 48

export function recordTable(stream: StreamName, records: readonly ServiceRecord[]): string {
  const columns = columnsOf[stream]
  const rows = records.map((record) => columns.map(([, cell]) => show(cell(record))))
  return table(
    columns.map(([title]) => title),
    rows,
  )
}

const attackColumns: readonly Column[] = [
  ['last hit', (record) => time(record['last_time'])],
  ['client', (record) => record['clientid']],
  ['type', (record) => record['type']],
  ['threat', (record) => record['threat']],
  ['hits', (record) => record['hits']],
  ['status', (record) => record['block_status']],
  ['from', (record) => sources(record)],
  ['domain', (record) => record['domain']],
  ['path', (record) => record['path']],
  ['parameter', (record) => record['parameter']],
  ['vulnerability', (record) => record['vulnid']],
]

const columnsOf: Readonly<Record<StreamName, readonly Column[]>> = {
  attacks: attackColumns,
  incidents: attackColumns.slice(0, -1),
  vulnerabilities: [
    ['id', (record) => record['id']],
    ['name', (record) => record['wid']],
    ['client', (record) => record['clientid']],
    ['threat', (record) => record['threat']],
    ['type', (record) => record['type']],
    ['status', (record) => record['status']],
    ['found', (record) => time(record['validate_time'])],
    ['domain', (record) => record['domain']],
    ['path', (record) => record['path']],
    ['title', (record) => record['title']],
  ],
  rules: [
    ['id', (record) => record['id']],
    ['condition', (record) => record['actionid']],
    ['client', (record) => record['clientid']],
    ['type', (record) => record['type']],
    ['applies to', (record) => scope(record['action'])],
    ['looks at', (record) => point(record['point'])],
    ['attack type', (record) => record['attack_type']],
    ['regex', (record) => record['regex']],
    ['active', (record) => record['active'] ?? record['enabled']],
    ['changed', (record) => time(record['updated_at'])],
    ['comment', (record) => record['comment']],
  ],
  conditions: [
    ['id', (record) => record['id']],
    ['client', (record) => record['clientid']],
    ['rules', (record) => record['hints']],
    ['applies to', (record) => scope(record['conditions'])],
    ['changed', (record) => time(record['updated_at'])],
    ['name', (record) => record['name']],
  ],
}

function show(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const plain = presentable(text, (same) => same)
  return plain.length > widthMax ? `${plain.slice(0, widthMax - 1).toWellFormed()}…` : plain
}

/** Unix seconds as a date. */
function time(value: unknown): unknown {
  if (typeof value !== 'number' || Math.abs(value) > 8_640_000_000_000) return value
  return new Date(value * 1000).toISOString().replace('.000', '')
}

/** The address with the most hits, and how many others there are. */
function sources({ ip_top: top, ip_count: count }: ServiceRecord): unknown {
  const first: unknown = Array.isArray(top) ? top[0] : undefined
  const ip: unknown = typeof first === 'object' && first !== null && 'ip' in first ? first.ip : undefined
  const others = typeof count === 'number' ? Math.floor(count) - 1 : 0
  return typeof ip === 'string' && others > 0 ? `${ip} +${others}` : ip
}

/** `path[0]=api path[1]=v1 HOST=example.com` */
function scope(conditions: unknown): unknown {
  if (!Array.isArray(conditions)) return conditions
  return conditions
    .map((condition: unknown) => {
      if (typeof condition !== 'object' || condition === null) return JSON.stringify(condition)
      const { type, value, point: part }: ServiceRecord = { ...condition }
      const operator = type === 'equal' ? '=' : type === 'iequal' ? '=~' : ` ${String(type)} `
      return `${point(part)}${operator}${typeof value === 'string' ? value : JSON.stringify(value ?? '')}`
    })
    .join(' ')
}

function point(part: unknown): string {
  if (!Array.isArray(part)) return String(part)
  const [kind, name] = part.map(String)
  if (kind === 'header' && name !== undefined) return name
  return name === undefined ? String(kind) : `${kind}[${name}]`
}
