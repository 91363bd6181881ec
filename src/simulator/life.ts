// What happens at the service while it runs: attacks come, grow and freeze, arrive late and vanish;
// vulnerabilities open and close; people change rules. Everything follows from the seed and the tick.

import type { ServiceRecord } from '../event.ts'
import { recordIdentity } from './account.ts'
import {
  changeAttack,
  changeRules,
  changeVulnerability,
  lateness,
  newAttack,
  openVulnerability,
  showAttack,
  type One,
} from './happenings.ts'
import type { Random } from './random.ts'
import { growAttack } from './records.ts'
import { createRule, randomRule } from './rule-book.ts'
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
  /** One step of `tickMs`, at the service's time; `lagMs` before it for a step that is made late. */
  tick(lagMs?: number): void
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
    tick(lagMs = 0) {
      for (const client of world.clients) {
        const life = lives.get(client) ?? createClientLife({ world, options, random, client })
        lives.set(client, life)
        life.tick(tickMs / 1000, lagMs / 1000)
      }
    },
  }
}

interface ClientLife {
  tick(seconds: number, lagSeconds: number): void
}

/** An attack that has happened, and is not visible yet. `at` is a time of the life, in seconds of ticks. */
interface Arrival {
  readonly at: number
  readonly record: ServiceRecord
}

interface Growing {
  readonly identity: string
  readonly until: number
}

/** What happens, and in which order, depends on ticks alone, so that it can be repeated; records tell the time. */
function createClientLife(one: One): ClientLife {
  const { world, options, random } = one
  const growing: Growing[] = []
  let arrivals: Arrival[] = []
  let recent: string[] = []
  let age = 0
  const due = createDue()

  const happen = (now: number): void => {
    const record = newAttack(one, Math.floor(now))
    arrivals.push({ at: age + lateness(options.lateness, random), record })
  }
  const arrive = (): void => {
    const waiting: Arrival[] = []
    for (const arrival of arrivals) {
      if (arrival.at > age) waiting.push(arrival)
      else if (showAttack(one, arrival.record)) {
        const identity = recordIdentity('attacks', arrival.record)
        growing.push({ identity, until: age + random.int(0, options.growSeconds) })
        recent.push(identity)
      }
    }
    arrivals = waiting
    if (recent.length > 600) recent = recent.slice(-300)
  }
  const grow = (now: number): void => {
    const at = random.int(0, growing.length - 1)
    const chosen = growing[at]
    if (chosen === undefined) return
    const attack = world.get('attacks', one.client, chosen.identity)
    if (attack === undefined || chosen.until < age) {
      const last = growing.pop()
      if (last !== undefined && at < growing.length) growing[at] = last
      return
    }
    const lastTime = Math.floor(now - lateness(options.lateness, random))
    world.update('attacks', one.client, chosen.identity, growAttack(random, attack, lastTime))
  }
  // Older attacks have left the time in which a change is likely.
  const oneOfLate = (): string => recent[recent.length - 1 - random.int(0, Math.min(recent.length, 300))] ?? ''
  const removeOne = (): void => {
    const identity = oneOfLate()
    const victim = world.get('attacks', one.client, identity)
    if (victim === undefined) return
    world.remove('attacks', one.client, identity)
    // Some come back as they were.
    if (random.chance(0.2)) arrivals.push({ at: age + random.int(2, 10), record: victim })
  }

  return {
    tick(seconds, lagSeconds) {
      age += seconds
      const now = world.nowMs() / 1000 - lagSeconds
      const times = (name: keyof WorldOptions, perSecond: number, act: () => void): void => {
        for (let n = due(name, perSecond * seconds); n > 0; n--) act()
      }
      times('attacksPerSecond', options.attacksPerSecond, () => happen(now))
      times('burstsPerMinute', options.burstsPerMinute / 60, () => {
        for (let i = 0; i < options.burstAttacks; i++) happen(now)
      })
      arrive()
      times('growthsPerSecond', options.growthsPerSecond, () => grow(now))
      times('removalsPerMinute', options.removalsPerMinute / 60, removeOne)
      times('lateChangesPerMinute', options.lateChangesPerMinute / 60, () => changeAttack(one, oneOfLate()))
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
