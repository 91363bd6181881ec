// A list that changes at random between any two pages, and a daemon's poll stage that reads it in virtual
// time: real turns over a store of plain maps.

import { asTailraceError, TailraceError } from '../../src/errors.ts'
import type { SecurityEvent, ServiceRecord, StreamKey } from '../../src/event.ts'
import { createReader } from '../../src/poll/changes.ts'
import type { Known, KnownChange } from '../../src/poll/changes.ts'
import type { Lease, NextTurn, PollPorts, Subscription } from '../../src/poll/ports.ts'
import { attacks } from '../../src/poll/streams/attacks.ts'
import { runTurn } from '../../src/poll/turn.ts'
import type { ListQuery } from '../../src/service/operations.ts'
import type { Report } from '../../src/telemetry/report.ts'

export interface ModelOptions {
  readonly seed: number
  readonly ranges: 'honoured' | 'ignored' | 'refused'
  /** The list's own highest `limit`. */
  readonly clamp: number
  readonly pageSize: number
  readonly overlapSeconds: number
  /** Records become visible up to so many seconds after their time. */
  readonly lateSeconds: number
  /** Records of one second may come in another order each time. */
  readonly shuffledTies: boolean
  /** Up to so many records vanish at once; 0: none ever does. */
  readonly removals: number
  readonly crashes: boolean
  /** Time between two pages, on average. */
  readonly pageSeconds: number
  readonly passes: number
  /** Records at the beginning. */
  readonly initial: number
}

interface Item {
  readonly id: string
  time: number
  version: number
  /** Since when this version has been visible. */
  since: number
  readonly visibleFrom: number
}

/** Mulberry32. */
export function randomOf(seed: number): () => number {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

class Model {
  readonly items = new Map<string, Item>()
  now = 1_800_000_000
  #serial = 0
  readonly #options: ModelOptions
  readonly random: () => number

  constructor(options: ModelOptions) {
    this.#options = options
    this.random = randomOf(options.seed)
  }

  /** Lets time go by, with all that happens in it. */
  pass(seconds: number): void {
    this.now += seconds
    const { random } = this
    for (let i = 0; i < seconds * 3; i++) {
      const dice = random()
      if (dice < 0.45) this.insert(random() < 0.3 ? random() * this.#options.lateSeconds : 0)
      else if (dice < 0.75) this.update()
      else if (dice < 0.75 + this.#removalChance()) this.remove()
    }
  }

  /** Fewer removals the larger they are: the list keeps its size. */
  #removalChance(): number {
    const { removals } = this.#options
    return removals === 0 ? 0 : 0.3 / (1 + removals / 2)
  }

  insert(late: number): void {
    const id = `r${this.#serial++}`
    // Bursts: several records of one second.
    const time = Math.floor(this.now - late - (this.random() < 0.5 ? 0 : 1))
    this.items.set(id, { id, time, version: 1, since: this.now, visibleFrom: this.now })
  }

  update(): void {
    const item = this.pick()
    if (item) Object.assign(item, { time: Math.floor(this.now), version: item.version + 1, since: this.now })
  }

  remove(): void {
    for (let i = 0; i < 1 + this.random() * this.#options.removals; i++) {
      const item = this.pick()
      if (item) this.items.delete(item.id)
    }
  }

  pick(): Item | undefined {
    const list = [...this.items.values()].slice(-200)
    return list[Math.floor(this.random() * list.length)]
  }

  list(query: ListQuery): ServiceRecord[] {
    const { ranges, clamp, shuffledTies } = this.#options
    const [range] = (query.filter.time ?? []) as [number, number | null][]
    const [from, to] = range ?? [0, null]
    if (to !== null && ranges === 'refused') throw new TailraceError('service_rejected', 'invalid range')
    const upper = to === null || ranges === 'ignored' ? Infinity : to
    const ties = new Map([...this.items.keys()].map((id) => [id, shuffledTies ? this.random() : Number(id.slice(1))]))
    const tie = (item: Item): number => ties.get(item.id) ?? 0
    return [...this.items.values()]
      .filter((item) => item.time >= from && item.time <= upper)
      .sort((a, b) => b.time - a.time || tie(a) - tie(b))
      .slice(query.offset, query.offset + Math.min(query.limit, clamp))
      .map(({ id, time, version }) => ({ attackid: id, clientid: 1, last_time: time, hits: version }))
  }
}

export interface Played {
  /** Versions that are visible at the end and were never read: `id@version`. */
  readonly missed: readonly string[]
  /** The same, of those that were there before the first request already and never changed. */
  readonly missedOfOld: readonly string[]
  readonly events: readonly SecurityEvent[]
  readonly requests: number
}

const key: StreamKey = 'model/attacks'

/** Plays passes against the model, then two more with nothing changing, and tells what was missed. */
export async function play(options: ModelOptions): Promise<Played> {
  const model = new Model(options)
  const store = createMapStore(() => model.now * 1000)
  const events: SecurityEvent[] = []
  const turns: NextTurn[] = []
  let requests = 0
  let quiet = false
  for (let i = 0; i < options.initial; i++) model.insert(model.random() * options.overlapSeconds)
  const beginning = model.now
  const ports: PollPorts<Lease, SecurityEvent> = {
    subscription: () => subscription(options),
    store,
    async list(_sub, _operation, query) {
      requests += 1
      if (!quiet) model.pass(options.pageSeconds * (0.3 + 1.4 * model.random()))
      if (!quiet && options.crashes && model.random() < 0.05) throw new TailraceError('service_timeout', 'crash')
      const body = model.list(query)
      return { body, date: Math.floor(model.now) * 1000, bytes: 0 }
    },
    async pause() {},
    blockedBy: () => null,
    encode: async (_sub, made) => [...made],
    async relay(_key, made) {
      events.push(...made)
    },
    async next(turn) {
      turns.push(turn)
    },
    reserve: async () => () => undefined,
    coded: asTailraceError,
    report: silent,
  }
  const signal = new AbortController().signal
  const drain = async (): Promise<void> => {
    await runTurn({ key, lane: 'tick', pass: '', step: 0 }, ports, signal)
    for (let turn = turns.shift(); turn; turn = turns.shift()) {
      await runTurn(turn, ports, signal)
      // A failed turn is tried again later; here: when the rhythm says so.
      if (turns.length > 20) turns.length = 0
    }
  }
  for (let i = 0; i < options.passes; i++) {
    await drain()
    model.pass(2 + model.random() * 4)
  }
  const missed = (since: number): string[] => {
    const read = new Set(events.map((event) => `${event.identity}@${String(event.record['hits'])}`))
    const visible = [...model.items.values()].filter((item) => item.since <= since)
    return visible.map((item) => `${item.id}@${item.version}`).filter((version) => !read.has(version))
  }
  const missedOfOld = missed(beginning)
  quiet = true
  for (let i = 0; i < 4; i++) {
    // A full walk comes after a quarter of the overlap.
    model.now += options.overlapSeconds / 12
    await drain()
  }
  return { missed: missed(Infinity), missedOfOld, events, requests }
}

function subscription(options: ModelOptions): Subscription {
  const { overlapSeconds, pageSize } = options
  const never = 1e12
  return {
    key,
    tenant: 'model',
    stream: 'attacks',
    instance: 'model',
    clients: [1],
    borders: { medium: 34, high: 67, critical: 90 },
    reader: createReader(attacks),
    rhythm: {
      everyMs: 5_000,
      overlapMs: overlapSeconds * 1000,
      startMs: overlapSeconds * 2000,
      pageSize,
      reconcileEveryMs: never,
      reconcileWindowMs: 1,
    },
    destinations: [],
  }
}

function createMapStore(now: () => number): PollPorts<Lease, SecurityEvent>['store'] {
  const seen = new Map<string, Known>()
  let state = ''
  let trouble = ''
  return {
    begin: async () => ({ key, now: now(), state, trouble }),
    renew: async () => true,
    async release() {
      trouble = ''
    },
    lookup: async (_key, identities) => identities.map((identity) => seen.get(identity)),
    async commit(_lease, commit) {
      state = commit.state
      for (const { identity, ...value } of commit.seen as readonly KnownChange[]) seen.set(identity, value)
    },
    scan: async () => ({ cursor: '0', found: [] }),
  }
}

const silent = new Proxy({} as Report, { get: () => () => undefined })
