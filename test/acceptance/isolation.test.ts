// Nobody holds up anybody else: a dead destination, refused credentials, a long history, a full backlog.

import { test } from 'vitest'
import type { AccountRow } from '../../src/simulator/account.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startReceiver } from '../faults/receiver.ts'
import type { Receiver } from '../faults/receiver.ts'
import { startRedis } from '../redis.ts'
import { backfillBesideSmall } from './isolation-scene.ts'
import {
  expectAllIn,
  fileDestination,
  missingOf,
  openFolder,
  runDaemon,
  syslogDestination,
  tenantOf,
  versionName,
} from './stage.ts'

const patient = { timeout: 20_000, interval: 100 }
// A gate that has been closed for some seconds may stay so for up to 30 s more.
const untilGateOpens = { timeout: 45_000, interval: 250 }
const lateness = { minSeconds: 0, maxSeconds: 0.5, rareShare: 0, rareSeconds: 1 }
const lively = { attacksPerSecond: 10, growthsPerSecond: 0, removalsPerMinute: 0, lateness }

/** From being shown to the first arrival, at most, of what was shown since then; ms. */
function longestDelay(simulator: Simulator, receiver: Receiver, choice: { client: number; since: number }): number {
  const name = (row: AccountRow): string => `${row.stream} ${row.identity} ${row.version}`
  const shown = new Map<string, number>()
  for (const row of simulator.world.account({ client: choice.client })) shown.set(name(row), row.shownFrom)
  let longest = 0
  for (const event of receiver.arrived.values()) {
    const from = shown.get(versionName(event))
    const at = event.deliveries[0]?.at
    if (from !== undefined && at !== undefined && from >= choice.since) longest = Math.max(longest, at - from)
  }
  return longest
}

test.concurrent('a dead destination delays only itself, and catches up', { timeout: 90_000 }, async ({ expect }) => {
  await using simulator = await startSimulator({ clients: [1], world: lively })
  await using redis = await startRedis()
  await using folder = await openFolder()
  await using good = await startReceiver()
  await using frail = await startReceiver()
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    destinations: [syslogDestination('good', good.port), syslogDestination('frail', frail.port)],
    inlineTenants: [tenantOf(simulator, { name: 'acme', client: 1 })],
  })
  await using running = await runDaemon(config)
  await expect.poll(() => frail.arrived.size, patient).toBeGreaterThan(10)
  const since = Date.now()
  await frail.mood('closed')
  const dead = frail.arrived.size
  const count = good.arrived.size
  // At ten a second: about ten seconds.
  await expect.poll(() => good.arrived.size, patient).toBeGreaterThan(count + 100)
  expect(longestDelay(simulator, good, { client: 1, since })).toBeLessThan(5_000)
  expect(frail.arrived.size).toBe(dead)
  expect(running.destination('frail')).toMatchObject({ state: 'down', lastError: { code: 'sink_unreachable' } })
  expect(running.destination('good')?.state).toBe('up')
  await frail.mood('well')
  simulator.freeze()
  await expect.poll(() => missingOf(simulator, frail.arrived.values(), { client: 1 }), untilGateOpens).toEqual([])
  await expect.poll(() => missingOf(simulator, good.arrived.values(), { client: 1 }), patient).toEqual([])
  expect(running.destination('frail')?.state).toBe('up')
  // The good one got everything once.
  expect([...good.arrived.values()].filter(({ deliveries }) => deliveries.length > 1)).toEqual([])
})

test.concurrent('refused credentials stop one tenant, visibly, and disturb no other', async ({ expect }) => {
  await using simulator = await startSimulator({ clients: [1, 2], world: lively })
  await using redis = await startRedis()
  await using folder = await openFolder()
  const out = folder.file('events')
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    destinations: [fileDestination('file', out)],
    inlineTenants: [
      tenantOf(simulator, { name: 'acme', client: 1 }),
      tenantOf(simulator, { name: 'bolt', client: 2, secret: 'not-the-secret' }),
    ],
  })
  await using running = await runDaemon(config)
  await expect.poll(() => running.stream('bolt')?.lastError?.code, patient).toBe('service_refused')
  expect(running.stream('bolt')?.failures).toBe(1)
  const asked = Date.now()
  // Five looks later …
  await expect
    .poll(() => Date.parse(running.stream('acme')?.completeAt ?? '1970-01-01T00:00:00Z'), patient)
    .toBeGreaterThan(asked + 5_000)
  expect(running.stream('acme')?.watermarkAgeSeconds).toBeLessThan(4)
  expect(running.stream('acme')?.lastError).toBeNull()
  // … the refused ones were not asked for again: that could lock an account.
  expect(running.stream('bolt')?.failures).toBe(1)
  const lines = running.lines().filter(({ tenant }) => tenant === 'bolt')
  expect(lines).toEqual([expect.objectContaining({ level: 'error', stream: 'attacks' })])
  expect(JSON.stringify(running.picture()) + JSON.stringify(running.lines())).not.toContain('not-the-secret')
  simulator.freeze()
  await expectAllIn(out, simulator, { client: 1 })
})

test.concurrent(
  'a full backlog pauses the streams that feed it only, and loses nothing',
  { timeout: 90_000 },
  async ({ expect }) => {
    await using simulator = await startSimulator({ clients: [1, 2], world: lively })
    await using redis = await startRedis()
    await using folder = await openFolder()
    await using frail = await startReceiver()
    const out = folder.file('events')
    await frail.mood('closed')
    const config = await folder.write('tailrace.yaml', {
      redis: { url: redis.url },
      destinations: [syslogDestination('frail', frail.port, { backlogBytes: '8kb' }), fileDestination('file', out)],
      inlineTenants: [
        tenantOf(simulator, { name: 'acme', client: 1, destinations: ['frail'] }),
        tenantOf(simulator, { name: 'bolt', client: 2, destinations: ['file'] }),
      ],
    })
    await using running = await runDaemon(config)
    await expect.poll(() => running.stream('acme')?.pausedBy, patient).toEqual(['frail'])
    const read = running.stream('acme')?.eventsRead
    const others = running.stream('bolt')?.eventsRead ?? 0
    await expect.poll(() => running.stream('bolt')?.eventsRead, patient).toBeGreaterThan(others + 40)
    expect(running.stream('acme')?.eventsRead).toBe(read)
    expect(running.stream('bolt')?.pausedBy).toEqual([])
    expect(running.destination('frail')?.backlogBytes).toBeLessThan(60_000)
    await frail.mood('well')
    await expect.poll(() => running.stream('acme')?.pausedBy, untilGateOpens).toEqual([])
    simulator.freeze()
    await expect.poll(() => missingOf(simulator, frail.arrived.values(), { client: 1 }), untilGateOpens).toEqual([])
    await expectAllIn(out, simulator, { client: 2 })
  },
)

// The long form, a million records: node test/acceptance/isolation-main.ts
test.concurrent('a back-fill of 100 000 records holds up nobody', { timeout: 90_000 }, async ({ expect }) => {
  // This process simulates the service too, and runs the daemons of the tests above: seconds, not halves of them.
  const figures = await backfillBesideSmall(100_000, 4, 80_000)
  expect(figures.delivered).toBe(100_000)
  expect(figures.samples).toBeGreaterThan(5)
  expect(figures.oldestWatermark).toBeLessThan(2 * figures.everySeconds)
})
