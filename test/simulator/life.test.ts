import { setImmediate as breathe } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { recordIdentity, recordVersion, type AccountRow } from '../../src/simulator/account.ts'
import { calmWorld, nastyWorld, stillWorld } from '../../src/simulator/life.ts'
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { control, createCaller } from './caller.ts'

const prompt = { minSeconds: 0, maxSeconds: 0, rareShare: 0, rareSeconds: 0 }
const busy = {
  ...nastyWorld,
  attacksPerSecond: 50,
  growthsPerSecond: 50,
  removalsPerMinute: 300,
  lateChangesPerMinute: 300,
  vulnerabilityChangesPerMinute: 600,
  ruleChangesPerMinute: 600,
  oddShare: 0.8,
  hugeShare: 0.002,
  lateness: prompt,
}

async function readAccount(simulator: Simulator, query = ''): Promise<AccountRow[]> {
  const lines = (await control(simulator, 'GET', `account${query}`)).split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as AccountRow)
}

const streams = [
  ['attacks', '/v1/objects/attack', {}],
  ['incidents', '/v1/objects/attack', { '!vulnid': null }],
  ['vulnerabilities', '/v1/objects/vuln', { validated: true, testrun_id: null }],
  ['rules', '/v1/objects/hint', {}],
  ['conditions', '/v1/objects/action', {}],
] as const

test('in a nasty world the account names exactly what the lists show, by identity and version', async () => {
  await using simulator = await startSimulator({ frozen: true, pageMax: 5000, world: busy })
  const caller = createCaller(simulator)
  const seen = new Set<string>()
  for (let step = 0; step < 15; step++) {
    for (let tick = 0; tick < 20; tick++) simulator.tick()
    await breathe()
    const rows = await readAccount(simulator)
    for (const [stream, path, filter] of streams) {
      const records = await caller.list(path, { clientid: [4711], ...filter }, { limit: 5000 })
      const shown = records.map((record) => `${recordIdentity(stream, record)} ${recordVersion(record)}`)
      const visible = rows.filter((row) => row.stream === stream && row.shownUntil === null)
      expect(shown.toSorted()).toEqual(visible.map((row) => `${row.identity} ${row.version}`).toSorted())
      for (const one of shown) seen.add(`${stream} ${one}`)
    }
  }
  // Whatever was seen on the way stays in the account, and ends are after beginnings.
  const rows = await readAccount(simulator)
  const told = new Set(rows.map((row) => `${row.stream} ${row.identity} ${row.version}`))
  expect([...seen].filter((one) => !told.has(one))).toEqual([])
  expect(rows.filter((row) => row.shownUntil !== null && row.shownUntil < row.shownFrom)).toEqual([])
  for (const [stream] of streams) {
    expect(rows.some((row) => row.stream === stream && row.shownUntil !== null)).toBe(true)
  }
})

test('the nasty world has what breaks careless readers', async () => {
  await using simulator = await startSimulator({ frozen: true, pageMax: 5000, world: { ...busy, hugeShare: 0.02 } })
  for (let tick = 0; tick < 300; tick++) simulator.tick()
  const { text } = await createCaller(simulator).post('/v1/objects/attack', {
    filter: { clientid: [4711] },
    limit: 5000,
  })
  const pieces = ['"[multiple]"', '\\ud800', '\u2028', '\\r\\n', '\uFEFF', '.0,', '"__proto__":', '\u202e']
  expect(pieces.filter((piece) => !text.includes(piece))).toEqual([])
  const { body } = JSON.parse(text) as { body: Record<string, unknown>[] }
  expect(body.some((attack) => Array.isArray(attack['attackid']))).toBe(true)
  expect(body.some((attack) => attack['attackid'] === undefined)).toBe(true)
  expect(body.some((attack) => Number(attack['last_time']) > Date.now() / 1000 + 1)).toBe(true)
  expect(body.some((attack) => String(attack['path']).length > 10_000)).toBe(true)
})

test('counters by filter change with the query, and are no part of the version', async () => {
  const world = { ...stillWorld, filterCounters: 'changing', history: { attacks: 20, spanSeconds: 60 } } as const
  await using simulator = await startSimulator({ world })
  const caller = createCaller(simulator)
  const query = { filter: { clientid: [4711] }, order_by: 'last_time' }
  const [one, other] = [await caller.post('/v1/objects/attack', query), await caller.post('/v1/objects/attack', query)]
  expect(one.text).not.toBe(other.text)
  const versions = [one, other].map(({ body }) => (body as Record<string, unknown>[]).map(recordVersion))
  expect(versions[0]).toEqual(versions[1])
})

test('the same seed gives the same run', async () => {
  const run = async (seed: number): Promise<string[]> => {
    await using simulator = await startSimulator({ seed, frozen: true, world: { ...busy, hugeShare: 0 } })
    for (let tick = 0; tick < 50; tick++) simulator.tick()
    return simulator.world.records('attacks', 4711).map((record) => recordIdentity('attacks', record))
  }
  const [first, again, other] = [await run(7), await run(7), await run(8)]
  expect(first.length).toBeGreaterThan(50)
  expect(again.toSorted()).toEqual(first.toSorted())
  expect(other.some((identity) => first.includes(identity))).toBe(false)
})

test('the world lives by itself, freezes, and thaws', async () => {
  const world = { ...calmWorld, attacksPerSecond: 100, lateness: prompt }
  await using simulator = await startSimulator({ tickMs: 10, world })
  const count = () => simulator.world.count('attacks', 4711)
  await expect.poll(count).toBeGreaterThan(10)
  await control(simulator, 'POST', 'freeze')
  const { revision } = simulator.world
  for (let n = 0; n < 20; n++) await control(simulator, 'GET', 'state')
  expect(simulator.world.revision).toBe(revision)
  const frozen = count()
  await control(simulator, 'POST', 'thaw')
  await expect.poll(count).toBeGreaterThan(frozen)
})

test('attacks arrive late: their last hit is older than their being shown', async () => {
  const lateness = { minSeconds: 1.2, maxSeconds: 1.5, rareShare: 0, rareSeconds: 0 }
  const world = { ...stillWorld, attacksPerSecond: 50, lateness }
  await using simulator = await startSimulator({ tickMs: 10, world })
  await expect.poll(() => simulator.world.count('attacks', 4711), { timeout: 5000 }).toBeGreaterThan(5)
  for (const row of simulator.world.account({ stream: 'attacks' })) {
    const record = simulator.world.get('attacks', 4711, row.identity)
    expect(row.shownFrom - Number(record?.['last_time']) * 1000).toBeGreaterThanOrEqual(1200)
  }
})

test('the account can be narrowed to a time, a stream and a client', async () => {
  await using simulator = await startSimulator({ world: stillWorld, clients: [1, 2] })
  const attack = { last_time: 5, vulnid: null }
  simulator.world.add('attacks', { ...attack, attackid: 'a:1', clientid: 1 })
  simulator.world.add('attacks', { ...attack, attackid: 'a:2', clientid: 2 })
  simulator.world.remove('attacks', 1, 'a:1')
  expect(await readAccount(simulator)).toHaveLength(4)
  expect(await readAccount(simulator, '?stream=incidents&client=1')).toMatchObject([{ identity: 'a:1' }])
  expect(await readAccount(simulator, `?since=${Date.now() + 60_000}`)).toMatchObject([
    { identity: 'a:2', stream: 'attacks', shownUntil: null },
    { identity: 'a:2', stream: 'incidents', shownUntil: null },
  ])
})

test('records can be changed from outside', async () => {
  await using simulator = await startSimulator({ world: stillWorld, clients: [1] })
  const add = [{ attackid: 'a:1', last_time: 5 }]
  await control(simulator, 'POST', 'records', { kind: 'attacks', client: 1, add })
  await control(simulator, 'POST', 'records', { kind: 'attacks', client: 1, update: { 'a:1': { hits: 9 } } })
  expect(simulator.world.records('attacks', 1)).toEqual([{ attackid: 'a:1', clientid: 1, last_time: 5, hits: 9 }])
  await control(simulator, 'POST', 'records', { kind: 'attacks', client: 1, remove: ['a:1'] })
  expect(simulator.world.count('attacks', 1)).toBe(0)
})

test('a history of two hundred thousand is there at once, and can be changed', async () => {
  const world = { ...stillWorld, history: { attacks: 200_000, spanSeconds: 86_400 } }
  await using simulator = await startSimulator({ world })
  const caller = createCaller(simulator)
  const filter = { clientid: [4711], time: [[Math.floor(Date.now() / 1000) - 3600, null]] }
  const rest = { limit: 1000, order_by: 'last_time', order_desc: true }
  const [newest] = await caller.list('/v1/objects/attack', filter, rest)
  const identity = recordIdentity('attacks', newest ?? {})
  simulator.world.update('attacks', 4711, identity, { state: 'falsepositive' })
  const [changed] = await caller.list('/v1/objects/attack', filter, rest)
  expect(changed).toEqual({ ...newest, state: 'falsepositive' })
  simulator.world.remove('attacks', 4711, identity)
  const [next] = await caller.list('/v1/objects/attack', filter, rest)
  expect(next?.['attackid']).not.toBe(identity)
  expect(simulator.world.count('attacks', 4711)).toBe(199_999)
})
