// The single things that happen at the service: an attack, a change of mind about it, a vulnerability found
// or closed, a rule changed by a person.

import type { ServiceRecord } from '../event.ts'
import { recordIdentity } from './account.ts'
import { spoilAttack, spoilOther } from './hostile.ts'
import type { Lateness, WorldOptions } from './life.ts'
import type { Random } from './random.ts'
import { makeAttack, makeVulnerability } from './records.ts'
import { createRule, deleteRule, randomRule } from './rule-book.ts'
import type { World } from './world.ts'

/** One client's share of the world. */
export interface One {
  readonly world: World
  readonly options: WorldOptions
  readonly random: Random
  readonly client: number
}

export function lateness(options: Lateness, random: Random): number {
  const { minSeconds, maxSeconds, rareShare, rareSeconds } = options
  const most = random.chance(rareShare) ? Math.max(rareSeconds, maxSeconds) : maxSeconds
  return minSeconds + random.next() * (most - minSeconds)
}

export function newAttack({ options, random, client }: One, lastTime: number): ServiceRecord {
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

/** False: there is no room, or it is there already. */
export function showAttack({ world, options, client }: One, record: ServiceRecord): boolean {
  if (world.count('attacks', client) >= options.attacksMax) return false
  if (world.get('attacks', client, recordIdentity('attacks', record)) !== undefined) return false
  world.add('attacks', record)
  return true
}

export function changeAttack({ world, random, client }: One, identity: string): void {
  const changes = random.pick<Readonly<Record<string, unknown>>>([
    { state: 'falsepositive' },
    { vulnid: random.int(1, 500), recheck_status: 'confirmed' },
    { vulnid: null },
  ])
  if (world.get('attacks', client, identity) !== undefined) world.update('attacks', client, identity, changes)
}

export function openVulnerability({ world, options, random, client }: One): void {
  const record = makeVulnerability(random, client, world.nextId(), world.nowSeconds())
  if (random.chance(0.1)) record['testrun_id'] = random.int(1, 9)
  world.add('vulnerabilities', random.chance(options.oddShare) ? spoilOther(random, record) : record)
}

export function changeVulnerability(one: One): void {
  const { world, random, client } = one
  const [first, ...rest] = inOrder(world.records('vulnerabilities', client))
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

export function changeRules({ world, options, random, client }: One): void {
  const [first, ...rest] = inOrder(world.records('rules', client))
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

/** By id: the order of the lists depends on the clock, and what is picked from them must not. */
function inOrder(records: readonly ServiceRecord[]): ServiceRecord[] {
  return records.toSorted((a, b) => Number(a['id']) - Number(b['id']))
}
