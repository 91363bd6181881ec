// What is wrong stays with what is wrong: a tenant's file, an option, a secret, a record, an answer.

import { test } from 'vitest'
import { recordVersion } from '../../src/simulator/account.ts'
import { stillWorld } from '../../src/simulator/life.ts'
import { createRandom } from '../../src/simulator/random.ts'
import { makeAttack } from '../../src/simulator/records.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
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
} from './stage.ts'

const patient = { timeout: 20_000, interval: 100 }

function addAttack(simulator: Simulator, client: number, raw: string, more: object = {}): string {
  const now = simulator.world.nowSeconds()
  const frame = { client, raw, first: now - 10, last: now - 5, hits: 3, vulnerability: null }
  const attack = { ...makeAttack(createRandom(1), frame), ...more }
  simulator.world.add('attacks', attack)
  return String(attack['attackid'])
}

test.concurrent('a broken tenant file stops that tenant only, and is reported with file and key', async ({
  expect,
}) => {
  await using simulator = await startSimulator({ world: stillWorld, frozen: true, clients: [1, 2] })
  addAttack(simulator, 1, 'a')
  await using redis = await startRedis()
  await using folder = await openFolder()
  const { mkdir } = await import('node:fs/promises')
  await mkdir(folder.file('tenants'))
  const { name: _, ...good } = { name: '', ...tenantOf(simulator, { name: 'good', client: 1 }) }
  await folder.write('tenants/good.yaml', good)
  await folder.write('tenants/bad.yaml', { ...good, streams: { attacks: { evry: '1s' } } })
  await folder.write('tenants/torn.yaml', 'instance: [eu')
  const out = folder.file('events')
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    http: { port: 0 },
    tenants: 'tenants',
    destinations: [fileDestination('file', out)],
  })
  await using daemon = startProcess(['run', '--config', config])
  const url = await daemon.url()
  await expectAllIn(out, simulator, { client: 1 })
  const { failures } = await fetchStatus(url)
  expect(failures.map(({ code }) => code)).toEqual(['config_invalid', 'config_invalid'])
  const words = failures.map(({ message }) => message).join('\n')
  expect(words).toContain('bad.yaml')
  expect(words).toContain('streams.attacks.evry')
  expect(words).toContain('did you mean every?')
  expect(words).toContain('torn.yaml')
  expect(words).toContain('is not YAML at line 1')
})

test.concurrent('an unknown option ends the start with 2; file, path and key are named', async ({ expect }) => {
  await using folder = await openFolder()
  const config = await folder.write(
    'tailrace.yaml',
    ['service:', '  requestPerSecond: 400', 'destinations:', '  - { name: x, sink: file, path: /tmp/x }'].join('\n'),
  )
  for (const command of ['run', 'check']) {
    await using run = startProcess([command, '--config', config])
    expect(await run.ended()).toBe(2)
    expect(run.output()).toContain(config)
    expect(run.output()).toContain('service.requestPerSecond')
    expect(run.output()).toContain('line 2')
    expect(run.output()).toContain('did you mean requestsPerSecond?')
    expect(run.output()).toContain('config_invalid')
  }
})

test.concurrent('a missing secret ends the start with 2, and is named', async ({ expect }) => {
  await using folder = await openFolder()
  const config = await folder.write('tailrace.yaml', {
    redis: { url: 'redis://127.0.0.1:1', password: '${env:NO_SUCH_VARIABLE}' },
    destinations: [fileDestination('file', folder.file('x'))],
  })
  await using run = startProcess(['run', '--config', config])
  expect(await run.ended()).toBe(2)
  expect(run.output()).toContain('NO_SUCH_VARIABLE')
  expect(run.output()).toContain('redis.password')
  expect(run.output()).toContain('secret_missing')
})

test.concurrent('a command that does not exist ends with 2', async ({ expect }) => {
  await using run = startProcess(['runn'])
  expect(await run.ended()).toBe(2)
})

test.concurrent('a record of 300 KB is delivered whole', async ({ expect }) => {
  await using simulator = await startSimulator({ world: stillWorld, frozen: true, clients: [1] })
  await using redis = await startRedis()
  await using folder = await openFolder()
  const out = folder.file('events')
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    destinations: [fileDestination('file', out)],
    inlineTenants: [tenantOf(simulator, { name: 'acme', client: 1 })],
  })
  const pieces = ['é', '\u2028', '\n', '"', '\\', '\u0000', '漢', '😀', 'x'.repeat(50)]
  let path = ''
  for (let i = 0; path.length < 300_000; i++) path += pieces[i % pieces.length]
  addAttack(simulator, 1, 'small')
  const identity = addAttack(simulator, 1, 'huge', { path })
  await using running = await runDaemon(config)
  await expectAllIn(out, simulator, { client: 1 })
  const huge = (await eventsIn(out)).find((event) => event.identity === identity)
  expect(huge?.record['path']).toBe(path)
  expect(recordVersion(huge?.record ?? {})).toBe(recordVersion(simulator.world.get('attacks', 1, identity) ?? {}))
  expect(running.stream('acme')?.lastError).toBeNull()
})

test.concurrent.for(['html-200', 'truncate', 'cut'] as const)(
  'a page that is not JSON (%s) is reported with its stream, and asked for again',
  async (kind, { expect }) => {
    await using simulator = await startSimulator({ world: stillWorld, frozen: true, clients: [1, 2] })
    await using redis = await startRedis()
    await using folder = await openFolder()
    const out = folder.file('events')
    const streams = { vulnerabilities: { every: '1s' } }
    const config = await folder.write('tailrace.yaml', {
      redis: { url: redis.url },
      destinations: [fileDestination('file', out)],
      inlineTenants: [
        tenantOf(simulator, { name: 'acme', client: 1 }),
        tenantOf(simulator, { name: 'bolt', client: 2, streams }),
      ],
    })
    addAttack(simulator, 1, 'a')
    simulator.faults.inject({ kind, stream: 'attacks', count: 2 })
    await using running = await runDaemon(config)
    await expect.poll(() => running.stream('acme')?.lastError?.code, patient).toBe('service_unreadable')
    await expectAllIn(out, simulator, { client: 1 })
    expect(running.stream('acme')?.failures).toBe(0)
    expect(running.stream('bolt', 'vulnerabilities')?.lastError).toBeNull()
    const told = running.lines().filter((line) => line.level === 'warn')
    expect(told).toEqual([expect.objectContaining({ tenant: 'acme', stream: 'attacks' })])
    expect(running.lines().map(({ msg }) => msg)).toContain('reading works again')
  },
)
