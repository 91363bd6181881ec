import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLists } from '../../src/simulator/list.ts'
import { stillWorld } from '../../src/simulator/life.ts'
import { readQuery } from '../../src/simulator/query.ts'
import { createRandom } from '../../src/simulator/random.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { createWorld } from '../../src/simulator/world.ts'
import { createCaller } from './caller.ts'

const attacks = '/v1/objects/attack'
const setup = { seed: 1, clients: [1, 2], incidentsMeans: 'withoutVulnerability', clockSkewSeconds: 0 } as const
const open = { pageMax: 1000, offsetMax: null, closedRanges: 'honoured' } as const
const plain = { timeMeans: 'lastTime', ties: 'stable', filterCounters: 'constant', counters: 'integers' } as const

interface Hit {
  readonly client: number
  readonly first: number
  readonly length: number
  readonly hits: number
  readonly vulnerable: boolean
}

const someHits = fc.array(
  fc.record({
    client: fc.constantFrom(1, 2),
    first: fc.integer({ min: 0, max: 30 }),
    length: fc.integer({ min: 0, max: 10 }),
    hits: fc.integer({ min: 1, max: 5 }),
    vulnerable: fc.boolean(),
  }),
  { maxLength: 40 },
)

function record(hit: Hit, number: number): Record<string, unknown> {
  return {
    attackid: `a:${number}`,
    clientid: hit.client,
    first_time: hit.first,
    last_time: hit.first + hit.length,
    hits: hit.hits,
    vulnid: hit.vulnerable ? 7 : null,
  }
}

test('a page is what filtering, sorting and cutting all records by hand would give', () => {
  const query = fc.record({
    clients: fc.constantFrom([1], [2], [1, 2]),
    from: fc.integer({ min: 0, max: 40 }),
    to: fc.option(fc.integer({ min: 0, max: 40 })),
    incidents: fc.boolean(),
    orderBy: fc.constantFrom('last_time', 'first_time', 'hits'),
    descending: fc.boolean(),
    offset: fc.integer({ min: 0, max: 20 }),
    limit: fc.integer({ min: 1, max: 15 }),
    timeMeans: fc.constantFrom('lastTime' as const, 'anyHit' as const),
  })
  fc.assert(
    fc.property(someHits, query, (hits, asked) => {
      const world = createWorld(setup)
      const records = hits.map(record)
      for (const one of records) world.add('attacks', one)
      const lists = createLists(world, { ...plain, timeMeans: asked.timeMeans }, createRandom(1))
      const filter = { clientid: asked.clients, time: [[asked.from, asked.to]] }
      const read = readQuery(
        'attacks',
        {
          filter: asked.incidents ? { ...filter, '!vulnid': null } : filter,
          offset: asked.offset,
          limit: asked.limit,
          order_by: asked.orderBy,
          order_desc: asked.descending,
        },
        open,
      )
      if ('problems' in read) throw new Error(JSON.stringify(read.problems))
      const page = lists.select('attacks', read.query).map((entry) => entry.record)

      const sign = asked.descending ? -1 : 1
      const upper = asked.timeMeans === 'anyHit' ? 'first_time' : 'last_time'
      const expected = records
        .filter((one) => asked.clients.some((client) => client === one['clientid']))
        .filter((one) => Number(one['last_time']) >= asked.from && Number(one[upper]) <= (asked.to ?? Infinity))
        .filter((one) => !asked.incidents || one['vulnid'] === null)
        .map((one, serial) => ({ one, serial }))
        .sort((a, b) => sign * (Number(a.one[asked.orderBy]) - Number(b.one[asked.orderBy]) || a.serial - b.serial))
        .map(({ one }) => one)
      expect(page).toEqual(expected.slice(asked.offset, asked.offset + asked.limit))
    }),
    { numRuns: 500 },
  )
})

test('whatever happens to records, the lists and the account tell the same', () => {
  const change = fc.record({ what: fc.constantFrom('update', 'remove', 'add'), number: fc.nat(50), time: fc.nat(50) })
  fc.assert(
    fc.property(someHits, fc.array(change, { maxLength: 30 }), (hits, changes) => {
      const world = createWorld(setup)
      const lists = createLists(world, plain, createRandom(1))
      for (const one of hits.map(record)) world.add('attacks', one)
      for (const { what, number, time } of changes) {
        const identity = `a:${number}`
        const known = world.get('attacks', 1, identity) !== undefined
        if (what === 'add' && !known) world.add('attacks', record({ ...late, first: time }, number))
        if (what === 'remove') world.remove('attacks', 1, identity)
        if (what === 'update' && known)
          world.update('attacks', 1, identity, { last_time: time, vulnid: time % 2 || null })
      }
      for (const incidents of [false, true]) {
        const filter = { clientid: [1], ...(incidents ? { '!vulnid': null } : {}) }
        const read = readQuery('attacks', { filter, limit: 1000, order_by: 'last_time' }, open)
        if ('problems' in read) throw new Error(JSON.stringify(read.problems))
        const shown = lists.select('attacks', read.query).map((entry) => String(entry.record?.['attackid']))
        const stream = incidents ? 'incidents' : 'attacks'
        const rows = [...world.account({ stream, client: 1 })].filter((row) => row.shownUntil === null)
        expect(shown.toSorted()).toEqual(rows.map((row) => row.identity).toSorted())
      }
    }),
    { numRuns: 200 },
  )
})

const late: Hit = { client: 1, first: 0, length: 3, hits: 1, vulnerable: false }

test('offsets walk through a history without a gap or a repetition, in any order', async () => {
  await using simulator = await startSimulator({
    world: { ...stillWorld, history: { attacks: 2500, spanSeconds: 600 } },
  })
  const caller = createCaller(simulator)
  for (const order of ['last_time', 'first_time', 'hits']) {
    const seen = new Set<unknown>()
    for (let offset = 0; offset < 3000; offset += 1000) {
      const rest = { offset, limit: 1000, order_by: order, order_desc: true }
      for (const attack of await caller.list(attacks, { clientid: [4711] }, rest)) seen.add(attack['attackid'])
    }
    expect(seen.size).toBe(2500)
  }
})

test('without an order attacks come by hits, a hundred of them', async () => {
  await using simulator = await startSimulator({
    world: { ...stillWorld, history: { attacks: 500, spanSeconds: 600 } },
  })
  const page = await createCaller(simulator).list(attacks, { clientid: [4711] })
  const hits = page.map((attack) => Number(attack['hits']))
  expect(hits).toHaveLength(100)
  expect(hits).toEqual(hits.toSorted((one, other) => other - one))
})

test('a limit is clamped, and a deep offset refused', async () => {
  const world = { ...stillWorld, history: { attacks: 500, spanSeconds: 600 } }
  await using simulator = await startSimulator({ pageMax: 50, offsetMax: 100, world })
  const caller = createCaller(simulator)
  expect(await caller.list(attacks, { clientid: [4711] }, { limit: 1000 })).toHaveLength(50)
  expect(await caller.list(attacks, { clientid: [4711] }, { offset: 100, limit: 10 })).toHaveLength(10)
  const deep = await caller.post(attacks, { filter: { clientid: [4711] }, offset: 101 })
  expect(deep).toMatchObject({ status: 400, body: { offset: { value: 101 } } })
})

test.for([
  ['[from]', [50], [50, 90]],
  ['[[from]]', [[50]], [50, 90]],
  ['[[from, null]]', [[50, null]], [50, 90]],
  ['[[from, to]]', [[10, 50]], [10, 50]],
  [
    'two ranges',
    [
      [0, 10],
      [90, null],
    ],
    [10, 90],
  ],
] as const)('time as %s', async ([, time, expected]) => {
  await using simulator = await startSimulator({ world: stillWorld, clients: [1] })
  for (const last of [10, 50, 90]) simulator.world.add('attacks', record({ ...late, first: last - 3 }, last))
  const found = await createCaller(simulator).list(attacks, { clientid: [1], time }, { order_by: 'last_time' })
  expect(found.map((attack) => attack['last_time'])).toEqual(expected)
})

test('closed ranges are honoured, ignored or refused', async () => {
  const found: Record<string, unknown> = {}
  for (const closedRanges of ['honoured', 'ignored', 'refused'] as const) {
    await using simulator = await startSimulator({ world: stillWorld, clients: [1], closedRanges })
    for (const last of [10, 50]) simulator.world.add('attacks', record({ ...late, first: last - 3 }, last))
    const reply = await createCaller(simulator).post(attacks, { filter: { clientid: [1], time: [[5, 20]] } })
    found[closedRanges] = reply.status === 200 ? (reply.body as unknown[]).length : reply.status
  }
  expect(found).toEqual({ honoured: 1, ignored: 2, refused: 400 })
})

test('the incident filter can be read either way', async () => {
  for (const incidentsMeans of ['withoutVulnerability', 'withVulnerability'] as const) {
    await using simulator = await startSimulator({ world: stillWorld, clients: [1], incidentsMeans })
    simulator.world.add('attacks', record(late, 1))
    simulator.world.add('attacks', record({ ...late, vulnerable: true }, 2))
    const found = await createCaller(simulator).list(attacks, { clientid: [1], '!vulnid': null })
    const wanted = incidentsMeans === 'withoutVulnerability' ? 'a:1' : 'a:2'
    expect(found.map((attack) => attack['attackid'])).toEqual([wanted])
    const rows = [...simulator.world.account({ stream: 'incidents' })]
    expect(rows.map((row) => row.identity)).toEqual([wanted])
  }
})

test('ties can fall differently from one request to the next', async () => {
  await using simulator = await startSimulator({ world: stillWorld, clients: [1], ties: 'unstable' })
  for (let n = 0; n < 20; n++) simulator.world.add('attacks', record({ ...late, first: n < 10 ? 1 : 2 }, n))
  const caller = createCaller(simulator)
  const orders = new Set<string>()
  for (let n = 0; n < 5; n++) {
    const page = await caller.list(attacks, { clientid: [1] }, { order_by: 'last_time' })
    expect(page.map((attack) => attack['last_time'])).toEqual([...Array(10).fill(4), ...Array(10).fill(5)])
    orders.add(JSON.stringify(page.map((attack) => attack['attackid'])))
  }
  expect(orders.size).toBeGreaterThan(1)
})

test.for([
  [{ filter: { clientid: [4711], time: ['yesterday'] } }, 'time'],
  [{ filter: { clientid: [4711], time: [[1_774_882_806_000, null]] } }, 'time'],
  [{ filter: { clientid: [4711], time: [] } }, 'time'],
  [{ filter: { clientid: 4711 } }, 'clientid'],
  [{ filter: {} }, 'clientid'],
  [{ filter: { clientid: [4711], colour: 1 } }, 'colour'],
  [{ filter: { clientid: [4711] }, limit: 0 }, 'limit'],
  [{ filter: { clientid: [4711] }, offset: -1 }, 'offset'],
  [{ filter: { clientid: [4711] }, order_by: 'colour' }, 'order_by'],
  [{ filter: { clientid: [4711] }, order_desc: 'yes' }, 'order_desc'],
  [{ filter: { clientid: [4711] }, size: 5 }, 'size'],
] as const)('%j is refused with a map of fields', async ([body, field]) => {
  await using simulator = await startSimulator({ world: stillWorld })
  const reply = await createCaller(simulator).post(attacks, body)
  expect(reply.status).toBe(400)
  expect(reply.body).toMatchObject({ [field]: { error: expect.any(String) } })
})

test('rules know no time filter', async () => {
  await using simulator = await startSimulator({ world: stillWorld })
  const reply = await createCaller(simulator).post('/v1/objects/hint', {
    filter: { clientid: [4711], time: [[0, null]] },
  })
  expect(reply).toMatchObject({ status: 400, body: { time: { error: 'unknown filter' } } })
})

test('active vulnerabilities are validated ones of no test run', async () => {
  await using simulator = await startSimulator({ world: stillWorld, clients: [1] })
  const one = { clientid: 1, status: 'open', validated: true, testrun_id: null }
  simulator.world.add('vulnerabilities', { ...one, id: 1 })
  simulator.world.add('vulnerabilities', { ...one, id: 2, testrun_id: 5 })
  simulator.world.add('vulnerabilities', { ...one, id: 3, validated: false })
  const caller = createCaller(simulator)
  const found = await caller.list('/v1/objects/vuln', { clientid: [1], validated: true, testrun_id: null })
  expect(found.map((vulnerability) => vulnerability['id'])).toEqual([1])
  expect([...simulator.world.account()].map((row) => row.identity)).toEqual(['1'])
})
