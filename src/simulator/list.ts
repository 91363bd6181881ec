// One page of a list: which entries, in which order, and their JSON.

import type { ServiceRecord } from '../event.ts'
import type { AnswerBytes } from './envelope.ts'
import { traceJson } from './history.ts'
import type { Query, Range } from './query.ts'
import { createPageWriter } from './page-writer.ts'
import { mixSeed, type Random } from './random.ts'
import { numberOf } from './records.ts'
import { recordOf, type Entry, type RecordKind } from './entry.ts'
import type { World } from './world.ts'

export interface ListRules {
  /** Which attacks a time range selects: by their last hit, or by any hit. */
  readonly timeMeans: 'lastTime' | 'anyHit'
  /** Whether records of the same moment keep their order from one request to the next. */
  readonly ties: 'stable' | 'unstable'
  /** Whether the counters that depend on the query differ each time. */
  readonly filterCounters: 'constant' | 'changing'
  /** Some answers of this kind of service have whole numbers as floats: `61818.0`. */
  readonly counters: 'integers' | 'floats'
}

export interface Lists {
  /** The entries of a page. */
  select(kind: RecordKind, query: Query): readonly Entry[]
  /** The whole answer. The same bytes again for the same `key`, as long as nothing has changed. */
  page(kind: RecordKind, query: Query, key: string): AnswerBytes
}

export function createLists(world: World, rules: ListRules, random: Random): Lists {
  const orders = createCache<readonly Entry[]>(world, 16)
  const write = createPageWriter()
  const pages = createCache<AnswerBytes>(world, 64)
  const select = (kind: RecordKind, query: Query): readonly Entry[] => {
    const byTime = kind === 'attacks' && query.orderBy === 'last_time'
    const shuffled = rules.ties === 'unstable'
    if (byTime && !shuffled) return walkTimelines(world, query, rules)
    const sorted = (): readonly Entry[] => sortAll({ world, kind, query, rules }, shuffled ? random : undefined)
    const all = shuffled ? sorted() : orders.get(orderKey(kind, query), sorted)
    return all.slice(query.offset, query.offset + query.limit)
  }
  const render = (kind: RecordKind, query: Query): AnswerBytes => {
    const text = kind === 'attacks' ? attackText(rules, random) : plainText
    return { plain: write(select(kind, query).map(text)) }
  }
  return {
    select,
    page(kind, query, key) {
      const fresh = rules.ties === 'unstable' || rules.filterCounters === 'changing'
      return fresh ? render(kind, query) : pages.get(`${kind} ${key}`, () => render(kind, query))
    },
  }
}

function plainText(entry: Entry): string {
  return (entry.text ??= JSON.stringify(recordOf(entry)))
}

/** How the JSON of an attack is made, after the rules. */
function attackText(rules: ListRules, random: Random): (entry: Entry) => string {
  const changing = rules.filterCounters === 'changing'
  const floats = (entry: Entry, json: string): string =>
    rules.counters === 'floats' && entry.serial % 7 === 3 ? withFloats(json) : json
  const make = (entry: Entry): string => {
    if (entry.record === undefined && !changing) return floats(entry, traceJson(entry))
    const record = recordOf(entry)
    return floats(entry, JSON.stringify(changing ? withoutFilterCounters(record) : record))
  }
  // Texts of history are not kept: a million of them would fill the heap for one reading each.
  const textOf = (entry: Entry): string => (entry.record === undefined ? make(entry) : (entry.text ??= make(entry)))
  return changing ? (entry) => withFilterCounters(entry, textOf(entry), random) : textOf
}

function withFloats(json: string): string {
  return json.replaceAll(/"(hits|vectors_count)":(\d+)(?=[,}])/g, '"$1":$2.0')
}

function withoutFilterCounters(record: ServiceRecord): ServiceRecord {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !key.endsWith('_by_filter')))
}

function withFilterCounters(entry: Entry, json: string, random: Random): string {
  const hits = random.int(0, Math.max(entry.hits, 1))
  return `${json.slice(0, -1)},"hits_count_by_filter":${hits},"ip_count_by_filter":${random.int(1, 9)}}`
}

interface Span {
  readonly items: readonly Entry[]
  readonly start: number
  readonly end: number
}

/** Order by last hit: the timelines are sorted already, and only as much is walked as is asked for. */
function walkTimelines(world: World, query: Query, rules: ListRules): readonly Entry[] {
  const spans = spansOf(world, query, rules)
  const wanted = chooser(query, rules)
  const [only] = spans
  if (only !== undefined && spans.length === 1 && wanted === undefined) return sliceSpan(only, query)
  const page: Entry[] = []
  let skip = query.offset
  for (const entry of merge(spans, query.descending)) {
    if (wanted !== undefined && !wanted(entry)) continue
    if (skip-- > 0) continue
    page.push(entry)
    if (page.length >= query.limit) break
  }
  return page
}

function sliceSpan({ items, start, end }: Span, { offset, limit, descending }: Query): readonly Entry[] {
  if (!descending) return items.slice(start + offset, Math.min(start + offset + limit, end))
  return items.slice(Math.max(end - offset - limit, start), Math.max(end - offset, start)).reverse()
}

function spansOf(world: World, query: Query, rules: ListRules): Span[] {
  const from = Math.min(...query.ranges.map((range) => range.from), query.ranges.length > 0 ? Infinity : -Infinity)
  const ends = query.ranges.map((range) => range.to)
  const to = ends.length === 0 || rules.timeMeans === 'anyHit' ? Number.POSITIVE_INFINITY : Math.max(...ends)
  return query.clients.map((client) => {
    const timeline = world.shelf(client)[query.incidents ? 'incidents' : 'attacks']
    return { items: timeline.items, ...timeline.span(from, to) }
  })
}

/** What the span does not decide; undefined: nothing. */
function chooser(query: Query, rules: ListRules): ((entry: Entry) => boolean) | undefined {
  const { ranges, tests } = query
  const decided = ranges.length <= 1 && (rules.timeMeans === 'lastTime' || ranges.every(({ to }) => to === Infinity))
  if (decided && tests.length === 0) return undefined
  const inRange = (entry: Entry, { from, to }: Range): boolean =>
    entry.last >= from && (rules.timeMeans === 'anyHit' ? entry.first : entry.last) <= to
  return (entry) => {
    if (!decided && !ranges.some((range) => inRange(entry, range))) return false
    if (tests.length === 0) return true
    const record = recordOf(entry)
    return tests.every((test) => test(record))
  }
}

function* merge(spans: readonly Span[], descending: boolean): Generator<Entry> {
  const heads = spans.map((span) => (descending ? span.end - 1 : span.start))
  for (;;) {
    let best: Entry | undefined
    let from = -1
    for (const [i, span] of spans.entries()) {
      const at = heads[i] ?? -1
      const entry = at >= span.start && at < span.end ? span.items[at] : undefined
      if (entry === undefined) continue
      const order = best === undefined ? -1 : compareTimes(entry, best)
      if (best !== undefined && (descending ? order < 0 : order > 0)) continue
      best = entry
      from = i
    }
    if (best === undefined) return
    heads[from] = (heads[from] ?? 0) + (descending ? -1 : 1)
    yield best
  }
}

function compareTimes(one: Entry, other: Entry): number {
  return one.last - other.last || one.serial - other.serial
}

interface Sorting {
  readonly world: World
  readonly kind: RecordKind
  readonly query: Query
  readonly rules: ListRules
}

/** Any other order: everything that is selected, sorted. With `shuffle`, equal ones fall differently each time. */
function sortAll({ world, kind, query, rules }: Sorting, shuffle: Random | undefined): readonly Entry[] {
  const nonce = shuffle?.int(0, 4_294_967_295)
  const rows = [...selectAll({ world, kind, query, rules })].map((entry) => ({
    entry,
    key: sortKey(entry, query),
    tie: nonce === undefined ? entry.serial : mixSeed(nonce, entry.serial),
  }))
  // By default attacks come by their number of hits, the most first.
  const down = query.orderBy === undefined ? kind === 'attacks' : query.descending
  const sign = down ? -1 : 1
  rows.sort((one, other) => sign * (compareKeys(one.key, other.key) || one.tie - other.tie))
  return rows.map((row) => row.entry)
}

function* selectAll({ world, kind, query, rules }: Sorting): Generator<Entry> {
  if (kind === 'attacks') {
    const wanted = chooser(query, rules)
    for (const entry of merge(spansOf(world, query, rules), true)) {
      if (wanted === undefined || wanted(entry)) yield entry
    }
    return
  }
  for (const client of query.clients) {
    for (const entry of world.shelf(client).entries(kind)) {
      const record = recordOf(entry)
      if (query.tests.every((test) => test(record))) yield entry
    }
  }
}

function sortKey(entry: Entry, query: Query): number | string {
  if (entry.kind === 'attacks') {
    if (query.orderBy === undefined || query.orderBy === 'hits') return entry.hits
    if (query.orderBy === 'last_time') return entry.last
    if (query.orderBy === 'first_time') return entry.first
  }
  const value = recordOf(entry)[query.orderBy ?? 'id']
  return typeof value === 'string' ? value : numberOf(value)
}

function compareKeys(one: number | string, other: number | string): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  const [left, right] = [String(one), String(other)]
  return left < right ? -1 : left > right ? 1 : 0
}

function orderKey(kind: RecordKind, query: Query): string {
  return JSON.stringify([kind, query.filterKey, query.orderBy, query.descending])
}

interface Cache<T> {
  get(key: string, make: () => T): T
}

/** Holds what was computed at the world's present revision. */
function createCache<T>(world: World, most: number): Cache<T> {
  const kept = new Map<string, T>()
  let revision = -1
  return {
    get(key, make) {
      if (revision !== world.revision) kept.clear()
      revision = world.revision
      const known = kept.get(key)
      if (known !== undefined) return known
      const made = make()
      const [oldest] = kept.keys()
      if (kept.size >= most && oldest !== undefined) kept.delete(oldest)
      kept.set(key, made)
      return made
    },
  }
}
