// How the process ends, and what is there when it starts again. With the Redis that it runs by itself.

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect, test, vi } from 'vitest'
import { lives, parseMark } from '../../src/data-lock.ts'
import type { ProcessMark } from '../../src/data-lock.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startReceiver } from '../faults/receiver.ts'
import type { Receiver } from '../faults/receiver.ts'
import { startRedis } from '../redis.ts'
import { fetchStatus, missingOf, openFolder, startProcess, syslogDestination, tenantOf } from './stage.ts'
import type { Folder } from './stage.ts'

const client = 4711
const patient = { timeout: 20_000, interval: 100 }

interface Stage extends AsyncDisposable {
  readonly simulator: Simulator
  readonly receiver: Receiver
  readonly folder: Folder
  readonly config: string
  /** The same with a Redis of its own. */
  configure(url: string): Promise<string>
  /** The redis-server of the data folder, as its record names it. */
  server(): Promise<ProcessMark>
}

async function openStage(grace: string): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const lateness = { minSeconds: 0, maxSeconds: 0.5, rareShare: 0, rareSeconds: 1 }
  const world = { attacksPerSecond: 20, growthsPerSecond: 10, lateness }
  const simulator = stack.use(await startSimulator({ clients: [client], world }))
  const receiver = stack.use(await startReceiver())
  const folder = stack.use(await openFolder())
  const configure = async (url: string): Promise<string> =>
    folder.write('tailrace.yaml', {
      redis: { url, data: folder.file('data') },
      http: { port: 0 },
      shutdown: { grace },
      destinations: [syslogDestination('siem', receiver.port)],
      inlineTenants: [tenantOf(simulator, { name: 'acme', client })],
    })
  const config = await configure('')
  const record = folder.file('data/redis/server.json')
  const server = async (): Promise<ProcessMark> => {
    const mark = parseMark(await readFile(record, 'utf8'))
    if (!mark) throw new Error('the record names no process')
    return mark
  }
  // Whatever a test does, no server of its own is left behind.
  stack.defer(async () => {
    if (!existsSync(record)) return
    const mark = await server()
    if (!(await lives(mark))) return
    process.kill(mark.pid, 'SIGKILL')
    await vi.waitFor(async () => expect(await lives(mark)).toBe(false), patient)
  })
  const kept = stack.move()
  return {
    simulator,
    receiver,
    folder,
    config,
    configure,
    server,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  }
}

/** Events have been read, and so are on their way. */
async function expectRead(url: string): Promise<void> {
  const look = async (): Promise<boolean> => (await fetchStatus(url)).streams.some(({ eventsRead }) => eventsRead > 0)
  await vi.waitFor(async () => expect(await look()).toBe(true), patient)
}

async function expectAllArrived({ simulator, receiver }: Stage): Promise<void> {
  const look = (): string[] => missingOf(simulator, receiver.arrived.values(), { client })
  await vi.waitFor(() => expect(look()).toEqual([]), { timeout: 30_000, interval: 250 })
}

test.concurrent('SIGTERM ends it with 0 within the grace, its Redis with it, and nothing is lost', async ({
  expect,
}) => {
  await using stage = await openStage('5s')
  const { receiver, simulator } = stage
  {
    await using daemon = startProcess(['run', '--config', stage.config])
    await expect.poll(() => receiver.arrived.size, patient).toBeGreaterThan(20)
    const server = await stage.server()
    expect(await lives(server)).toBe(true)
    const asked = Date.now()
    daemon.signal('SIGTERM')
    expect(await daemon.ended()).toBe(0)
    expect(Date.now() - asked).toBeLessThan(6_500)
    expect(await lives(server)).toBe(false)
    expect(existsSync(stage.folder.file('data/tailrace.lock'))).toBe(false)
  }
  const before = receiver.arrived.size
  await expect.poll(() => simulator.world.count('attacks', client), patient).toBeGreaterThan(before + 20)
  await using again = startProcess(['run', '--config', stage.config])
  simulator.freeze()
  await expectAllArrived(stage)
  again.signal('SIGTERM')
  expect(await again.ended()).toBe(0)
  // An orderly end leaves no confirmation unrecorded: nothing was sent twice.
  expect([...receiver.arrived.values()].filter(({ deliveries }) => deliveries.length > 1)).toEqual([])
})

test.concurrent('SIGTERM while the receiver stalls: the grace is kept, and what was in doubt is sent again', async ({
  expect,
}) => {
  await using stage = await openStage('2s')
  const { receiver, simulator } = stage
  await receiver.mood('stalling')
  {
    await using daemon = startProcess(['run', '--config', stage.config])
    await expect.poll(() => simulator.world.count('attacks', client), patient).toBeGreaterThan(40)
    await expectRead(await daemon.url())
    daemon.signal('SIGTERM')
    const asked = Date.now()
    expect(await daemon.ended()).toBe(0)
    expect(Date.now() - asked).toBeLessThan(5_000)
  }
  await receiver.mood('well')
  simulator.freeze()
  await using again = startProcess(['run', '--config', stage.config])
  await expectAllArrived(stage)
  again.signal('SIGTERM')
  expect(await again.ended()).toBe(0)
})

test.concurrent('a second SIGTERM ends it at once; its Redis lives on and is found again, also after SIGKILL', async ({
  expect,
}) => {
  await using stage = await openStage('60s')
  const { receiver, simulator } = stage
  await receiver.mood('stalling')
  let server: ProcessMark
  {
    await using daemon = startProcess(['run', '--config', stage.config])
    await expectRead(await daemon.url())
    server = await stage.server()
    daemon.signal('SIGTERM')
    // It drains as long as the receiver stalls: a minute is allowed.
    const early = await Promise.race([daemon.ended(), new Promise((resolve) => setTimeout(resolve, 1_500, 'runs'))])
    expect(early).toBe('runs')
    const asked = Date.now()
    daemon.signal('SIGTERM')
    expect(await daemon.ended()).toBe(1)
    expect(Date.now() - asked).toBeLessThan(2_000)
    expect(await lives(server)).toBe(true)
  }
  await receiver.mood('well')
  {
    await using daemon = startProcess(['run', '--config', stage.config])
    await expect.poll(() => receiver.arrived.size, patient).toBeGreaterThan(20)
    expect((await stage.server()).pid).toBe(server.pid)
    daemon.signal('SIGKILL')
    expect(await daemon.ended()).toBe('SIGKILL')
    expect(await lives(server)).toBe(true)
  }
  simulator.freeze()
  await using daemon = startProcess(['run', '--config', stage.config])
  await expectAllArrived(stage)
  expect((await stage.server()).pid).toBe(server.pid)
  daemon.signal('SIGTERM')
  expect(await daemon.ended()).toBe(0)
  expect(await lives(server)).toBe(false)
})

test.concurrent('a second daemon on the same data folder is refused', async ({ expect }) => {
  await using stage = await openStage('2s')
  await using first = startProcess(['run', '--config', stage.config])
  await expect.poll(() => stage.receiver.arrived.size, patient).toBeGreaterThan(0)
  await using second = startProcess(['run', '--config', stage.config])
  expect(await second.ended()).toBe(1)
  expect(second.output()).toContain('data_in_use')
  const { size } = stage.receiver.arrived
  await expect.poll(() => stage.receiver.arrived.size, patient).toBeGreaterThan(size)
  first.signal('SIGTERM')
  expect(await first.ended()).toBe(0)
})

test.concurrent('SIGTERM while Redis is away ends it soon after the grace, and nothing is lost', async ({ expect }) => {
  await using stage = await openStage('3s')
  await using redis = await startRedis('--appendonly', 'yes')
  const config = await stage.configure(redis.url)
  {
    await using daemon = startProcess(['run', '--config', config])
    await expect.poll(() => stage.receiver.arrived.size, patient).toBeGreaterThan(20)
    await redis.kill()
    await expect.poll(() => daemon.output(), patient).toContain('Redis does not answer')
    const asked = Date.now()
    daemon.signal('SIGTERM')
    expect(await daemon.ended()).toBe(0)
    // Polling, then shipping, then a second each for what does not answer.
    expect(Date.now() - asked).toBeLessThan(9_000)
  }
  await redis.start()
  stage.simulator.freeze()
  await using again = startProcess(['run', '--config', config])
  await expectAllArrived(stage)
  again.signal('SIGTERM')
  expect(await again.ended()).toBe(0)
})
