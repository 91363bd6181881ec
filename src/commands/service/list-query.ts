// The options of a list command as the service's query.

import type { ListQuery } from '../../service/operations.ts'
import { misuse, type AccessOptions } from './access.ts'
import type { ListKind } from './list-kinds.ts'
import { moment } from './values.ts'

export interface ListOptions extends AccessOptions {
  readonly client?: readonly number[]
  readonly from?: number
  readonly to?: number
  readonly limit?: number
  readonly offset: number
  readonly all: boolean
  /** All, not only the usual ones. */
  readonly any?: boolean
  readonly order?: string
  readonly filter?: Readonly<Record<string, unknown>>
  readonly json: boolean
  readonly ndjson: boolean
}

/** With `--all` many are asked for at once, as many as the interface shows anywhere. */
const largeLimit = 1000

export function queryOf(kind: ListKind, options: ListOptions, clients: readonly number[]): ListQuery {
  const flags = { ...timeOf(kind, options), ...flagsOf(kind, options) }
  const { filter: free = {} } = options
  const twice = Object.keys(free).find((key) => key in flags || key in kind.filter)
  if (twice !== undefined) throw misuse(`--filter has ${JSON.stringify(twice)}, which another option sets already`)
  const usual = options.any === true ? {} : kind.usual
  return {
    filter: { clientid: clients, ...kind.filter, ...usual, ...flags, ...free },
    offset: options.offset,
    limit: options.limit ?? (options.all ? largeLimit : kind.limit),
    ...orderOf(options.order ?? kind.order),
  }
}

function timeOf(kind: ListKind, { from, to }: ListOptions): object {
  if (from === undefined && to === undefined)
    return kind.recent === undefined ? {} : { time: [[moment(kind.recent), null]] }
  if (from !== undefined && to !== undefined && from > to) throw misuse('--from is later than --to')
  return { time: [[from ?? 0, to ?? null]] }
}

function flagsOf(kind: ListKind, options: ListOptions): Readonly<Record<string, unknown>> {
  const given = kind.flags.flatMap(({ flag, key }) => {
    const name = flag.split(' ', 1)[0]?.slice(2) ?? ''
    const values: unknown = Reflect.get(options, name)
    if (!Array.isArray(values)) return []
    // One value is sent as such: that is the form that the interface shows.
    return [[key, values.length === 1 ? values[0] : values] as const]
  })
  return Object.fromEntries(given)
}

function orderOf(order: string | undefined): Pick<ListQuery, 'order_by' | 'order_desc'> {
  if (order === undefined) return {}
  const [, key, direction = 'asc'] = /^(\w+)(?::(asc|desc))?$/.exec(order) ?? []
  if (key === undefined) throw misuse('--order must be a key, such as last_time:desc or hits:asc')
  return { order_by: key, order_desc: direction === 'desc' }
}
