import fc from 'fast-check'
import { Agent, request } from 'undici'
import { expect, test } from 'vitest'
import { stillWorld } from '../../src/simulator/life.ts'
import { createRateWindow } from '../../src/simulator/rate-window.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { createStats, type StatsReport } from '../../src/simulator/stats.ts'
import { control, createCaller } from './caller.ts'

const world = { ...stillWorld, history: { attacks: 30, spanSeconds: 60 } }
const attacks = '/v1/objects/attack'
const query = { filter: { clientid: [4711] } }

test.for([
  [{ kind: '429', retryAfterSeconds: 3 }, 429, { 'retry-after': '3' }, /^\{/],
  [{ kind: '429' }, 429, {}, /^\{/],
  [{ kind: '429-date', retryAfterSeconds: 60 }, 429, { 'retry-after': expect.stringMatching(/GMT$/) }, /^\{/],
  [{ kind: '503', retryAfterSeconds: 1 }, 503, { 'retry-after': '1' }, /^\{/],
  [{ kind: '503-html' }, 503, { 'content-type': 'text/html' }, /^<!DOCTYPE/],
  [{ kind: 'html-200' }, 200, { 'content-type': 'text/html' }, /^<!DOCTYPE/],
  [{ kind: '403' }, 403, {}, /not authenticated/],
  [{ kind: '423' }, 423, {}, /locked/],
  [{ kind: '500' }, 500, {}, /^\{/],
  [{ kind: 'inner-error', status: 502 }, 200, {}, /"status":502/],
] as const)('the next answer suffers %j, the one after does not', async ([fault, status, headers, text]) => {
  await using simulator = await startSimulator({ world })
  const caller = createCaller(simulator)
  await control(simulator, 'POST', 'faults', fault)
  const broken = await caller.post(attacks, query)
  expect(broken).toMatchObject({ status, headers })
  expect(broken.text).toMatch(text)
  expect((await caller.post(attacks, query)).status).toBe(200)
})

test('answers are truncated, cut, reset, stalled and slowed down', async () => {
  await using simulator = await startSimulator({ world })
  const caller = createCaller(simulator)
  const whole = (await caller.post(attacks, query)).text

  simulator.faults.inject({ kind: 'truncate' })
  const half = (await caller.post(attacks, query)).text
  expect(whole.startsWith(half)).toBe(true)
  expect(() => JSON.parse(half) as unknown).toThrow(SyntaxError)

  simulator.faults.inject({ kind: 'cut' })
  await expect(caller.post(attacks, query)).rejects.toBeInstanceOf(Error)
  simulator.faults.inject({ kind: 'reset' })
  await expect(caller.post(attacks, query)).rejects.toBeInstanceOf(Error)

  simulator.faults.inject({ kind: 'stall' })
  const impatient = request(simulator.url + attacks, { method: 'POST', body: '{}', headersTimeout: 100 })
  await expect(impatient).rejects.toBeInstanceOf(Error)

  simulator.faults.inject({ kind: 'slow', seconds: 0.2 })
  const before = performance.now()
  expect((await caller.post(attacks, query)).text).toBe(whole)
  expect(performance.now() - before).toBeGreaterThan(150)
  const expected = { '200': 1, truncate: 1, cut: 1, reset: 1, stall: 1, slow: 1 }
  await expect.poll(() => simulator.stats.report().operations[attacks]).toMatchObject(expected)
})

test('a stalled request does not hold up the end', async () => {
  const simulator = await startSimulator({ world })
  simulator.faults.inject({ kind: 'stall' })
  const stalled = createCaller(simulator).post(attacks, query)
  const outcome = stalled.catch((error: unknown) => error)
  await expect.poll(() => simulator.stats.report().total).toBe(1)
  await simulator[Symbol.asyncDispose]()
  expect(await outcome).toBeInstanceOf(Error)
})

test('faults can be aimed at a stream, counted, drawn by lot and called off', async () => {
  await using simulator = await startSimulator({ world })
  const caller = createCaller(simulator)
  const incidents = { filter: { ...query.filter, '!vulnid': null } }
  await control(simulator, 'POST', 'faults', { kind: '503', stream: 'incidents', count: 2 })
  const statuses: number[] = []
  for (const body of [query, incidents, query, incidents, incidents]) {
    statuses.push((await caller.post(attacks, body)).status)
  }
  expect(statuses).toEqual([200, 503, 200, 503, 200])

  await control(simulator, 'POST', 'faults', { kind: '503', probability: 0.5 })
  const drawn = await Promise.all(Array.from({ length: 100 }, async () => (await caller.post(attacks, query)).status))
  const hit = drawn.filter((status) => status === 503).length
  expect(hit).toBeGreaterThan(25)
  expect(hit).toBeLessThan(75)
  await control(simulator, 'DELETE', 'faults')
  expect((await caller.post(attacks, query)).status).toBe(200)
  expect(await control(simulator, 'POST', 'faults', { kind: 'plague' })).toContain('must be one of')
  expect(await control(simulator, 'POST', 'faults', { kind: '503', often: 3 })).toContain('not known')
})

test('a revoked credential is refused, and a new one accepted', async () => {
  await using simulator = await startSimulator({ world })
  const [{ uuid } = { uuid: '' }] = simulator.credentials
  await control(simulator, 'POST', 'credentials', { revoke: uuid })
  expect((await createCaller(simulator).post(attacks, query)).status).toBe(403)
  const fresh = { uuid: 'new', secret: 'newer' }
  await control(simulator, 'POST', 'credentials', fresh)
  expect((await createCaller(simulator, fresh).post(attacks, query)).status).toBe(200)
})

test('in no second of any run are more admitted than permitted, and never fewer than possible', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 8 }), (waits, limit) => {
      const window = createRateWindow(limit)
      const admitted: number[] = []
      let now = 0
      for (const wait of waits) {
        now += wait
        const within = admitted.filter((time) => now - time < 1000).length
        const waitMs = window.admit('a', now)
        expect(waitMs === undefined).toBe(within < limit)
        if (waitMs === undefined) admitted.push(now)
        const then = now + (waitMs ?? 1000)
        expect(admitted.filter((time) => then - time < 1000).length).toBeLessThan(limit)
      }
    }),
  )
})

test('the statistics count the fullest second as by hand', () => {
  const gaps = fc.array(fc.tuple(fc.integer({ min: 0, max: 500 }), fc.constantFrom('a', 'b')), {
    minLength: 1,
    maxLength: 80,
  })
  fc.assert(
    fc.property(gaps, (arrivals) => {
      const stats = createStats()
      const times: { at: number; address: string }[] = []
      let now = 5
      for (const [gap, address] of arrivals) {
        now += gap
        times.push({ at: now, address })
        stats.arrived(address, now)
      }
      const fullest = (list: { at: number }[]) =>
        Math.max(...list.map(({ at }) => list.filter((other) => other.at <= at && at - other.at < 1000).length))
      const report = stats.report()
      expect(report.total).toBe(times.length)
      expect(report.highestPerSecond).toBe(fullest(times))
      for (const [address, highest] of Object.entries(report.highestPerSecondByAddress)) {
        expect(highest).toBe(fullest(times.filter((time) => time.address === address)))
      }
    }),
  )
})

test.for([
  ['seconds', /^1$/],
  ['date', /GMT$/],
  ['none', /^undefined$/],
] as const)('past the limit requests are refused, with Retry-After as %s', async ([retryAfter, expected]) => {
  await using simulator = await startSimulator({ world, requestsPerSecond: 5, retryAfter })
  const caller = createCaller(simulator)
  const replies = await Promise.all(Array.from({ length: 8 }, () => caller.post(attacks, query)))
  const refused = replies.filter((reply) => reply.status === 429)
  expect(refused).toHaveLength(3)
  for (const reply of refused) expect(String(reply.headers['retry-after'])).toMatch(expected)
  const report = JSON.parse(await control(simulator, 'GET', 'stats')) as StatsReport
  expect(report).toMatchObject({ total: 8, highestPerSecond: 8, operations: { [attacks]: { '200': 5, '429': 3 } } })
  await control(simulator, 'POST', 'stats/reset')
  expect(simulator.stats.report()).toMatchObject({ total: 0, firstArrival: null })
})

test('each source address has a limit of its own', async () => {
  await using simulator = await startSimulator({ world, requestsPerSecond: 3 })
  const from = async (localAddress: string): Promise<number> => {
    const agent = new Agent({ localAddress })
    let admitted = 0
    for (let n = 0; n < 5; n++) {
      const answer = await request(simulator.url + attacks, { method: 'POST', body: '{}', dispatcher: agent })
      await answer.body.dump()
      if (answer.statusCode !== 429) admitted++
    }
    await agent.close()
    return admitted
  }
  expect([await from('127.0.0.2'), await from('127.0.0.3')]).toEqual([3, 3])
  expect(simulator.stats.report().highestPerSecondByAddress).toEqual({ '127.0.0.2': 5, '127.0.0.3': 5 })
})

test('latency delays every answer, not one after the other', async () => {
  await using simulator = await startSimulator({ world, latencyMs: 50 })
  const caller = createCaller(simulator)
  const before = performance.now()
  await Promise.all(Array.from({ length: 40 }, () => caller.post(attacks, query)))
  const took = performance.now() - before
  expect(took).toBeGreaterThan(45)
  expect(took).toBeLessThan(1500)
})
