// What happens at the service while it runs: attacks come, grow and freeze, arrive late and vanish;
// vulnerabilities open and close; people change rules. Everything follows from the seed and the tick.

import type { ServiceRecord } from '../event.ts'
import { recordIdentity } from './account.ts'
import { spoilAttack, spoilOther } from './hostile.ts'
import type { Random } from './random.ts'
import { growAttack, makeAttack, makeVulnerability } from './records.ts'
import { createRule, deleteRule, randomRule } from './rule-book.ts'
import type { World } from './world.ts'

/** How busy and how nasty the world is. All rates are per client. */
export interface WorldOptions {
  readonly attacksPerSecond: number
  readonly growthsPerSecond: number
  /** For how long after its first hit an attack may still grow. */
  readonly growSeconds: number
  /** From the last hit of an attack to its being visible. */
  readonly lateness: Lateness
  readonly burstsPerMinute: number
  /** Attacks whose last hits fall into the same second. */
  readonly burstAttacks: number
  readonly removalsPerMinute: number
  /** Attacks that get a state or a vulnerability without a hit, among the latest. */
  readonly lateChangesPerMinute: number
  /** Share of attacks whose last hit lies in the future, by at most `futureSeconds`. */
  readonly futureShare: number
  readonly futureSeconds: number
  /** Share of attacks that have a vulnerability, and so are no incidents. */
  readonly vulnerableShare: number
  /** Open at the start. */
  readonly vulnerabilities: number
  readonly vulnerabilityChangesPerMinute: number
  /** There at the start. */
  readonly rules: number
  readonly ruleChangesPerMinute: number
  /** Share of records that are odd. */
  readonly oddShare: number
  /** Share of odd attacks with a text of up to 300 KB. */
  readonly hugeShare: number
  readonly filterCounters: 'constant' | 'changing'
  readonly counters: 'integers' | 'floats'
  /** Attacks that are there at the start, for each client. */
  readonly history: { readonly attacks: number; readonly spanSeconds: number }
  /** No more are made than this, for each client. */
  readonly attacksMax: number
}

export interface Lateness {
  readonly minSeconds: number
  readonly maxSeconds: number
  /** Share of arrivals that take up to `rareSeconds`. */
  readonly rareShare: number
  readonly rareSeconds: number
}

/** Nothing happens by itself. */
export const stillWorld: WorldOptions = {
  attacksPerSecond: 0,
  growthsPerSecond: 0,
  growSeconds: 60,
  lateness: { minSeconds: 3, maxSeconds: 14, rareShare: 0, rareSeconds: 120 },
  burstsPerMinute: 0,
  burstAttacks: 50,
  removalsPerMinute: 0,
  lateChangesPerMinute: 0,
  futureShare: 0,
  futureSeconds: 300,
  vulnerableShare: 0.1,
  vulnerabilities: 0,
  vulnerabilityChangesPerMinute: 0,
  rules: 0,
  ruleChangesPerMinute: 0,
  oddShare: 0,
  hugeShare: 0,
  filterCounters: 'constant',
  counters: 'integers',
  history: { attacks: 0, spanSeconds: 86_400 },
  attacksMax: 2_000_000,
}

/** Lively, and well behaved. */
export const calmWorld: WorldOptions = {
  ...stillWorld,
  attacksPerSecond: 2,
  growthsPerSecond: 2,
  vulnerabilities: 20,
  vulnerabilityChangesPerMinute: 6,
  rules: 5,
  ruleChangesPerMinute: 4,
}

/** Everything that has been seen to go wrong, more often than it does. */
export const nastyWorld: WorldOptions = {
  ...calmWorld,
  attacksPerSecond: 5,
  growthsPerSecond: 10,
  lateness: { minSeconds: 3, maxSeconds: 14, rareShare: 0.02, rareSeconds: 120 },
  burstsPerMinute: 3,
  removalsPerMinute: 10,
  lateChangesPerMinute: 20,
  futureShare: 0.01,
  vulnerabilityChangesPerMinute: 30,
  ruleChangesPerMinute: 20,
  oddShare: 0.3,
  hugeShare: 0.01,
  filterCounters: 'changing',
  counters: 'floats',
}

export interface Life {
  /** One step of `tickMs`, at the service's time. */
  tick(): void
}

/** Fills the world with what is there at the start. */
export function createLife(world: World, options: WorldOptions, random: Random, tickMs: number): Life {
  for (const client of world.clients) {
    if (options.history.attacks > 0) world.addHistory(client, options.history)
    const one = { world, options, random, client }
    for (let i = 0; i < options.vulnerabilities; i++) openVulnerability(one)
    for (let i = 0; i < options.rules; i++) createRule(world, randomRule(random, client))
  }
  const lives = new Map<number, ClientLife>()
  return {
    tick() {
      for (const client of world.clients) {
        const life = lives.get(client) ?? createClientLife({ world, options, random, client })
        lives.set(client, life)
        life.tick(tickMs / 1000)
      }
    },
  }
}

interface One {
  readonly world: World
  readonly options: WorldOptions
  readonly random: Random
  readonly client: number
}

interface ClientLife {
  tick(seconds: number): void
}

/** An attack that has happened, and is not visible yet. Seconds of the service's clock. */
interface Arrival {
  readonly at: number
  readonly record: ServiceRecord
}

interface Growing {
  readonly identity: string
  readonly until: number
}

function createClientLife(one: One): ClientLife {
  const { world, options, random } = one
  const growing: Growing[] = []
  let arrivals: Arrival[] = []
  const due = createDue()

  const happen = (lastTime: number, now: number): void => {
    const record = newAttack(one, lastTime)
    arrivals.push({ at: now + lateness(options.lateness, random), record })
  }
  const arrive = (now: number): void => {
    const waiting: Arrival[] = []
    for (const arrival of arrivals) {
      if (arrival.at > now) waiting.push(arrival)
      else if (show(one, arrival.record)) {
        const identity = recordIdentity('attacks', arrival.record)
        growing.push({ identity, until: now + random.int(0, options.growSeconds) })
      }
    }
    arrivals = waiting
  }
  const grow = (now: number): void => {
    const at = random.int(0, growing.length - 1)
    const chosen = growing[at]
    if (chosen === undefined) return
    const attack = world.get('attacks', one.client, chosen.identity)
    if (attack === undefined || chosen.until < now) {
      const last = growing.pop()
      if (last !== undefined && at < growing.length) growing[at] = last
      return
    }
    const lastTime = Math.floor(now - lateness(options.lateness, random))
    world.update('attacks', one.client, chosen.identity, growAttack(random, attack, lastTime))
  }
  const removeOne = (now: number): void => {
    const victim = lateAttack(one)
    if (victim === undefined) return
    world.remove('attacks', one.client, recordIdentity('attacks', victim))
    // Some come back as they were.
    if (random.chance(0.2)) arrivals.push({ at: now + random.int(2, 10), record: victim })
  }

  return {
    tick(seconds) {
      const now = world.nowMs() / 1000
      const times = (name: keyof WorldOptions, perSecond: number, act: () => void): void => {
        for (let n = due(name, perSecond * seconds); n > 0; n--) act()
      }
      times('attacksPerSecond', options.attacksPerSecond, () => happen(Math.floor(now), now))
      times('burstsPerMinute', options.burstsPerMinute / 60, () => {
        for (let i = 0; i < options.burstAttacks; i++) happen(Math.floor(now), now)
      })
      arrive(now)
      times('growthsPerSecond', options.growthsPerSecond, () => grow(now))
      times('removalsPerMinute', options.removalsPerMinute / 60, () => removeOne(now))
      times('lateChangesPerMinute', options.lateChangesPerMinute / 60, () => changeLate(one))
      const inventories = options.vulnerabilityChangesPerMinute / 60
      times('vulnerabilityChangesPerMinute', inventories, () => changeVulnerability(one))
      times('ruleChangesPerMinute', options.ruleChangesPerMinute / 60, () => changeRules(one))
    },
  }
}

/** How often something falls due, when it is to happen so many times on average: evenly, not at random. */
function createDue(): (name: string, amount: number) => number {
  const owed = new Map<string, number>()
  return (name, amount) => {
    const sum = (owed.get(name) ?? 0) + amount
    owed.set(name, sum - Math.floor(sum))
    return Math.floor(sum)
  }
}

function lateness(options: Lateness, random: Random): number {
  const { minSeconds, maxSeconds, rareShare, rareSeconds } = options
  const most = random.chance(rareShare) ? Math.max(rareSeconds, maxSeconds) : maxSeconds
  return minSeconds + random.next() * (most - minSeconds)
}

function newAttack({ options, random, client }: One, lastTime: number): ServiceRecord {
  const future = random.chance(options.futureShare) ? random.int(1, options.futureSeconds) : 0
  const last = lastTime + future
  const attack = makeAttack(random, {
    client,
    raw: random.word(20),
    first: last - random.int(0, 30),
    last,
    hits: random.int(1, 40),
    vulnerability: random.chance(options.vulnerableShare) ? random.int(1, 500) : null,
  })
  return random.chance(options.oddShare) ? spoilAttack(random, attack, options.hugeShare) : attack
}

function show({ world, options, client }: One, record: ServiceRecord): boolean {
  if (world.shelf(client).attacks.items.length >= options.attacksMax) return false
  if (world.get('attacks', client, recordIdentity('attacks', record)) !== undefined) return false
  world.add('attacks', record)
  return true
}

// One of the latest: older ones have left the window in which a change is likely.
function lateAttack({ world, random, client }: One): ServiceRecord | undefined {
  const { items } = world.shelf(client).attacks
  const entry = items[items.length - 1 - random.int(0, Math.min(items.length, 300))]
  return entry?.record
}

function changeLate(one: One): void {
  const attack = lateAttack(one)
  if (attack === undefined) return
  const { world, random, client } = one
  const changes = random.pick<Readonly<Record<string, unknown>>>([
    { state: 'falsepositive' },
    { vulnid: random.int(1, 500), recheck_status: 'confirmed' },
    { vulnid: null },
  ])
  world.update('attacks', client, recordIdentity('attacks', attack), changes)
}

function openVulnerability({ world, options, random, client }: One): void {
  const record = makeVulnerability(random, client, world.nextId(), world.nowSeconds())
  if (random.chance(0.1)) record['testrun_id'] = random.int(1, 9)
  world.add('vulnerabilities', random.chance(options.oddShare) ? spoilOther(random, record) : record)
}

function changeVulnerability(one: One): void {
  const { world, random, client } = one
  const [first, ...rest] = world.records('vulnerabilities', client)
  if (first === undefined || random.chance(0.25)) return openVulnerability(one)
  const record = random.pick([first, ...rest])
  const now = world.nowSeconds()
  const status = record['status']
  // A false positive stays one.
  if (status === 'falsepositive') return
  const closed = { status: 'closed', validated: false, invalidate_time: now }
  const choices: readonly [Record<string, unknown>, ...Record<string, unknown>[]] =
    status === 'closed'
      ? [{ status: 'open', validated: true, invalidate_time: null, validate_time: now }]
      : [
          closed,
          { status: 'closed', invalidate_time: now },
          { ...closed, status: 'falsepositive' },
          { last_check: now },
        ]
  world.update('vulnerabilities', client, String(record['id']), random.pick(choices))
}

function changeRules({ world, options, random, client }: One): void {
  const [first, ...rest] = world.records('rules', client)
  if (first === undefined || random.chance(0.4)) {
    const draft = randomRule(random, client)
    createRule(world, { ...draft, ...(random.chance(options.oddShare) ? { comment: 'a|b=c\nd \u2028 "e"' } : {}) })
    return
  }
  const rule = random.pick([first, ...rest])
  const identity = String(rule['id'])
  if (random.chance(0.5)) deleteRule(world, client, identity)
  else world.update('rules', client, identity, { comment: random.word(8), updated_at: world.nowSeconds() })
}
