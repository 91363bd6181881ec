// What each stream makes of what happens at the service. The world stands still but for what the tests do.

import { test } from 'vitest'
import { createRandom } from '../../src/simulator/random.ts'
import { stillWorld } from '../../src/simulator/life.ts'
import { makeAttack, makeVulnerability } from '../../src/simulator/records.ts'
import { createRule, deleteRule, randomRule } from '../../src/simulator/rule-book.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'
import { startRedis } from '../redis.ts'
import { eventsIn, fileDestination, openFolder, runDaemon, tenantOf } from './stage.ts'
import type { EventLine, RunningDaemon } from './stage.ts'

const client = 4711

interface Stage extends AsyncDisposable {
  readonly simulator: Simulator
  readonly running: RunningDaemon
  /** Events of an identity, in the order in which they arrived. */
  of(identity: string): Promise<EventLine[]>
  all(): Promise<EventLine[]>
}

async function openStage(streams: object, more: SimulatorOptions = {}): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const simulator = stack.use(await startSimulator({ world: stillWorld, frozen: true, clients: [client], ...more }))
  const redis = stack.use(await startRedis())
  const folder = stack.use(await openFolder())
  const out = folder.file('events')
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    destinations: [fileDestination('file', out)],
    inlineTenants: [tenantOf(simulator, { name: 'acme', client, streams })],
  })
  const running = stack.use(await runDaemon(config))
  const kept = stack.move()
  return {
    simulator,
    running,
    all: async () => eventsIn(out),
    of: async (identity) => (await eventsIn(out)).filter((event) => event.identity === identity),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  }
}

const actions = (events: readonly EventLine[]): string[] => events.map(({ action }) => action)
const revisions = (events: readonly EventLine[]): number[] => events.map(({ revision }) => revision)
const ids = (events: readonly EventLine[]): number => new Set(events.map(({ id }) => id)).size

/** The sequence numbers of a stream have no gap: 1, 2, 3 … */
function isContiguous(events: readonly EventLine[]): boolean {
  const numbers = events.map(({ sequence }) => sequence).toSorted((a, b) => a - b)
  return numbers.every((number, i) => number === i + 1)
}

const patient = { timeout: 20_000, interval: 100 }

test.concurrent('a vulnerability is opened, changed, closed, and opened anew', async ({ expect }) => {
  await using stage = await openStage({ vulnerabilities: { every: '1s', pageSize: 3 } })
  const { world } = stage.simulator
  const now = world.nowSeconds()
  // A few that stay, so that the inventory has pages.
  for (let id = 1; id <= 7; id++) world.add('vulnerabilities', makeVulnerability(createRandom(id), client, id, now))
  const record = makeVulnerability(createRandom(42), client, 42, now)
  world.add('vulnerabilities', record)
  await expect.poll(async () => actions(await stage.of('42')), patient).toEqual(['created'])
  world.update('vulnerabilities', client, '42', { threat: 11 })
  await expect.poll(async () => actions(await stage.of('42')), patient).toEqual(['created', 'updated'])
  const shown = world.get('vulnerabilities', client, '42')
  world.remove('vulnerabilities', client, '42')
  await expect.poll(async () => actions(await stage.of('42')), patient).toEqual(['created', 'updated', 'closed'])
  const [, updated, closed] = await stage.of('42')
  // The end is told with the record as it was last.
  expect(closed?.record).toEqual(updated?.record)
  world.add('vulnerabilities', shown ?? {})
  await expect
    .poll(async () => actions(await stage.of('42')), patient)
    .toEqual(['created', 'updated', 'closed', 'created'])
  const story = await stage.of('42')
  expect(revisions(story)).toEqual([1, 2, 3, 4])
  // The content is that of the update, yet it is another event: who drops duplicates must not drop it.
  expect(story[3]?.record).toEqual(updated?.record)
  expect(ids(story)).toBe(4)
  // Those that stayed were told once.
  const all = await stage.all()
  expect(
    all
      .filter(({ identity }) => identity !== '42')
      .map(({ identity }) => identity)
      .toSorted(),
  ).toEqual(['1', '2', '3', '4', '5', '6', '7'])
  expect(isContiguous(all)).toBe(true)
})

test.concurrent('a vulnerability that is absent from one inventory only is not closed', async ({ expect }) => {
  await using stage = await openStage({ vulnerabilities: { every: '2s' } })
  const { world } = stage.simulator
  const record = makeVulnerability(createRandom(42), client, 42, world.nowSeconds())
  world.add('vulnerabilities', record)
  const passes = (): string | undefined => stage.running.stream('acme', 'vulnerabilities')?.completeAt ?? undefined
  await expect.poll(async () => actions(await stage.of('42')), patient).toEqual(['created'])
  // Absent for less than an interval: at most one look misses it.
  const before = passes()
  await expect.poll(passes, patient).not.toBe(before)
  world.remove('vulnerabilities', client, '42')
  const without = passes()
  await expect.poll(passes, patient).not.toBe(without)
  world.add('vulnerabilities', record)
  for (let i = 0; i < 2; i++) {
    const last = passes()
    await expect.poll(passes, patient).not.toBe(last)
  }
  expect(actions(await stage.of('42'))).toEqual(['created'])
})

test.concurrent('rules and their conditions: created, changed, deleted', async ({ expect }) => {
  await using stage = await openStage({
    rules: { every: '1s', overlap: '1m', start: '1h', pageSize: 3, reconcileEvery: '1s' },
    conditions: { every: '1s' },
  })
  const { world } = stage.simulator
  const of = async (stream: string, identity: string): Promise<EventLine[]> =>
    (await stage.of(identity)).filter((event) => event.stream === stream)
  for (let seed = 1; seed <= 5; seed++) createRule(world, randomRule(createRandom(seed), client))
  const rule = createRule(world, {
    ...randomRule(createRandom(99), client),
    action: [{ type: 'equal', point: ['header', 'HOST'], value: 'only.example.com' }],
  })
  const [id, condition] = [String(rule['id']), String(rule['actionid'])]
  await expect.poll(async () => actions(await of('rules', id)), patient).toEqual(['created'])
  await expect.poll(async () => actions(await of('conditions', condition)), patient).toEqual(['created'])
  world.update('rules', client, id, { comment: 'changed', updated_at: world.nowSeconds() })
  await expect.poll(async () => actions(await of('rules', id)), patient).toEqual(['created', 'updated'])
  deleteRule(world, client, id)
  await expect.poll(async () => actions(await of('rules', id)), patient).toEqual(['created', 'updated', 'deleted'])
  await expect.poll(async () => actions(await of('conditions', condition)), patient).toEqual(['created', 'deleted'])
  expect(revisions(await of('rules', id))).toEqual([1, 2, 3])
  // Of the others nothing was deleted.
  const deleted = (await stage.all()).filter(({ action }) => action === 'deleted')
  expect(deleted.map(({ stream, identity }) => `${stream} ${identity}`).toSorted()).toEqual([
    `conditions ${condition}`,
    `rules ${id}`,
  ])
})

test.concurrent('an attack that grows is one identity with revisions; one that returns to old content is told again', async ({
  expect,
}) => {
  await using stage = await openStage({ attacks: { every: '1s', overlap: '1m', start: '10m' } })
  const { world } = stage.simulator
  const now = world.nowSeconds()
  const frame = { client, raw: 'grows', first: now - 20, last: now - 10, hits: 3, vulnerability: null }
  const attack = makeAttack(createRandom(1), frame)
  world.add('attacks', attack)
  const identity = String(attack['attackid'])
  await expect.poll(async () => actions(await stage.of(identity)), patient).toEqual(['created'])
  world.update('attacks', client, identity, { hits: 5, last_time: now })
  await expect.poll(async () => actions(await stage.of(identity)), patient).toEqual(['created', 'updated'])
  world.update('attacks', client, identity, { hits: 3, last_time: now - 10 })
  await expect.poll(async () => actions(await stage.of(identity)), patient).toEqual(['created', 'updated', 'updated'])
  const story = await stage.of(identity)
  expect(revisions(story)).toEqual([1, 2, 3])
  expect(story[2]?.record).toEqual(story[0]?.record)
  expect(ids(story)).toBe(3)
  // Counters that depend on the query are not part of a version.
  const passedAt = stage.running.stream('acme')?.completeAt
  world.update('attacks', client, identity, { hits_count_by_filter: 99 })
  await expect.poll(() => stage.running.stream('acme')?.completeAt, patient).not.toBe(passedAt)
  expect(await stage.of(identity)).toHaveLength(3)
})

test.concurrent.for(['withoutVulnerability', 'withVulnerability'] as const)(
  'incidents are what the documented filter selects: %s',
  async (incidentsMeans, { expect }) => {
    const timeline = { every: '1s', overlap: '1m', start: '10m' }
    await using stage = await openStage({ attacks: timeline, incidents: timeline }, { incidentsMeans })
    const { world } = stage.simulator
    const now = world.nowSeconds()
    for (const [raw, vulnerability] of [
      ['with', 42],
      ['without', null],
    ] as const) {
      const frame = { client, raw, first: now - 20, last: now - 10, hits: 3, vulnerability }
      world.add('attacks', makeAttack(createRandom(1), frame))
    }
    const namesOf = async (stream: string): Promise<string[]> => {
      const events = (await stage.all()).filter((event) => event.stream === stream)
      return events.map(({ kind, identity }) => `${kind} ${identity.split(':')[1]}`).toSorted()
    }
    await expect.poll(async () => namesOf('attacks'), patient).toEqual(['attack with', 'attack without'])
    const chosen = incidentsMeans === 'withVulnerability' ? 'with' : 'without'
    await expect.poll(async () => namesOf('incidents'), patient).toEqual([`incident ${chosen}`])
  },
)

test.concurrent('what cannot be read by any means is declared, and does not hold up what is new', async ({
  expect,
}) => {
  // No closed ranges, and no offsets beyond 40: of 200 attacks, most are out of reach.
  const deaf = { closedRanges: 'refused', offsetMax: 40, pageMax: 20 } as const
  const history = { attacks: 200, spanSeconds: 400 }
  await using stage = await openStage(
    { attacks: { every: '1s', start: '10m', overlap: '8m', pageSize: 20 } },
    { ...deaf, world: { ...stillWorld, history } },
  )
  const gaps = async (): Promise<EventLine[]> => (await stage.all()).filter(({ action }) => action === 'gap')
  await expect.poll(async () => (await gaps()).length, patient).toBeGreaterThan(0)
  const now = stage.simulator.world.nowSeconds()
  const frame = { client, raw: 'new', first: now, last: now, hits: 1, vulnerability: null }
  const attack = makeAttack(createRandom(9), frame)
  stage.simulator.world.add('attacks', attack)
  await expect.poll(async () => actions(await stage.of(String(attack['attackid']))), patient).toEqual(['created'])
  expect(isContiguous(await stage.all())).toBe(true)
})
