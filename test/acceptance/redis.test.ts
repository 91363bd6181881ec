// Redis while the daemon runs: full and empty again, without its scripts, and as a cluster.

import { test } from 'vitest'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startCluster } from '../redis-cluster.ts'
import { startRedis } from '../redis.ts'
import {
  eventsIn,
  expectAllIn,
  fetchStatus,
  fileDestination,
  openFolder,
  runDaemon,
  startProcess,
  tenantOf,
  twice,
} from './stage.ts'
import type { Folder } from './stage.ts'

const client = 4711
const patient = { timeout: 20_000, interval: 100 }
const lateness = { minSeconds: 0, maxSeconds: 0.5, rareShare: 0, rareSeconds: 1 }
const world = { attacksPerSecond: 20, growthsPerSecond: 10, lateness }

const streams = {
  attacks: { every: '1s', overlap: '1m', start: '10m' },
  incidents: { every: '1s', overlap: '1m', start: '10m' },
  vulnerabilities: { every: '2s' },
  rules: { every: '1s', reconcileEvery: '2s' },
  conditions: { every: '2s' },
}

async function configure(folder: Folder, simulator: Simulator, url: string): Promise<string> {
  return folder.write('tailrace.yaml', {
    redis: { url },
    http: { port: 0 },
    destinations: [fileDestination('file', folder.file('events'))],
    inlineTenants: [tenantOf(simulator, { name: 'acme', client, streams })],
  })
}

test.concurrent(
  'a full Redis: reading pauses, little is logged, and all goes on by itself',
  { timeout: 90_000 },
  async ({ expect }) => {
    await using simulator = await startSimulator({ clients: [client], world })
    await using redis = await startRedis()
    await using folder = await openFolder()
    await using daemon = startProcess(['run', '--config', await configure(folder, simulator, redis.url)])
    const url = await daemon.url()
    const out = folder.file('events')
    await expect.poll(async () => (await eventsIn(out)).length, patient).toBeGreaterThan(20)
    const before = daemon.lines().length
    await redis.client.config('SET', 'maxmemory', '1mb')
    await expect.poll(async () => (await fetchStatus(url)).redis?.state, patient).toBe('full')
    // Long enough for each stream to try several times.
    const { count } = simulator.world
    const known = count('attacks', client)
    await expect.poll(() => count('attacks', client), patient).toBeGreaterThan(known + 120)
    const told = daemon.lines().slice(before)
    // Five streams and three queues may each say once that they cannot go on.
    expect(told.length, told.map(({ msg }) => msg).join('\n')).toBeLessThan(30)
    expect(told.some(({ msg }) => msg.includes('Redis is full'))).toBe(true)
    expect(told.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([])
    await redis.client.config('SET', 'maxmemory', '0')
    simulator.freeze()
    // A turn whose end could not be recorded is taken up again when its lock has run out.
    for (const stream of ['attacks', 'incidents'] as const)
      await expectAllIn(out, simulator, { client, stream, timeoutMs: 45_000 })
    await expect.poll(async () => (await fetchStatus(url)).redis?.state, patient).toBe('ready')
    expect(twice(await eventsIn(out))).toEqual([])
    daemon.signal('SIGTERM')
    expect(await daemon.ended()).toBe(0)
  },
)

test.concurrent('scripts that Redis forgets are sent again; nobody notices', async ({ expect }) => {
  await using simulator = await startSimulator({ clients: [client], world })
  await using redis = await startRedis()
  await using folder = await openFolder()
  const out = folder.file('events')
  await using running = await runDaemon(await configure(folder, simulator, redis.url))
  for (let i = 1; i <= 8; i++) {
    const { length } = await eventsIn(out)
    await redis.client.script('FLUSH')
    await expect.poll(async () => (await eventsIn(out)).length, patient).toBeGreaterThan(length)
  }
  simulator.freeze()
  await expectAllIn(out, simulator, { client })
  expect(twice(await eventsIn(out))).toEqual([])
  expect(running.picture().failures).toEqual([])
  expect(running.stream('acme')?.lastError).toBeNull()
  expect(running.lines().filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
})

test.concurrent('on a Redis Cluster, from the service to a file', async ({ expect }) => {
  await using simulator = await startSimulator({ clients: [client], world })
  await using cluster = await startCluster()
  await using folder = await openFolder()
  const out = folder.file('events')
  await using running = await runDaemon(await configure(folder, simulator, cluster.url))
  await expect.poll(async () => (await eventsIn(out)).length, patient).toBeGreaterThan(100)
  simulator.freeze()
  for (const stream of ['attacks', 'incidents', 'vulnerabilities', 'rules', 'conditions'] as const)
    await expectAllIn(out, simulator, { client, stream, shownMs: 30_000 })
  expect(twice(await eventsIn(out))).toEqual([])
  expect(running.picture().failures).toEqual([])
  expect(running.picture().streams.filter(({ lastError }) => lastError !== null)).toEqual([])
})
