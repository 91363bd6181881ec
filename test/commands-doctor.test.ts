import { expect, test } from 'vitest'
import { createBatches } from '../src/queue/batches.ts'
import { streamKeys, streamsKey } from '../src/queue/keys.ts'
import { startReceiver } from '../src/simulator/receiver.ts'
import { startSimulator } from '../src/simulator/simulator.ts'
import { openFolder, tenantOf } from './acceptance/stage.ts'
import { startDaemonProcess } from './faults/daemon.ts'
import { runCommand, type Ended } from './command-line.ts'
import { startRedis } from './redis.ts'
import type { TestRedis } from './redis.ts'

interface Examined {
  readonly wrong: number
  readonly findings: readonly { severity: string; subject: string; text: string; remedy: string | null }[]
}

async function doctor(...args: string[]): Promise<Ended> {
  return await runCommand(['doctor', ...args])
}

async function examined(file: string, ...args: string[]): Promise<Examined & { code: number }> {
  const { out, code } = await doctor('--config', file, '--json', ...args)
  return { ...(JSON.parse(out) as Examined), code }
}

/** What a stream remembers, as a daemon would have left it. */
async function remember(redis: TestRedis, key: 'acme/attacks', state: object, trouble: object = {}): Promise<void> {
  await redis.client.sadd(streamsKey('tailrace'), key)
  const fields = { state: JSON.stringify(state), trouble: JSON.stringify(trouble) }
  await redis.client.hset(streamKeys('tailrace', key).state, fields)
}

test('nothing wrong is 0, and fits on a page', async () => {
  await using simulator = await startSimulator({ world: { attacksPerSecond: 5 } })
  await using redis = await startRedis('--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory', '100mb')
  await using receiver = await startReceiver(0, () => undefined)
  await using folder = await openFolder()
  const file = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    http: { port: 19_667, token: 'a-token-of-the-daemon' },
    log: { level: 'silent' },
    destinations: [{ name: 'siem', sink: 'syslog', address: `127.0.0.1:${receiver.port}` }],
    inlineTenants: [tenantOf(simulator, { name: 'acme', client: 4711 })],
  })
  await using daemon = startDaemonProcess(file, '/dev/null')
  await expect
    .poll(async () => (await doctor('--config', file)).out, { timeout: 25_000 })
    .toMatch(/nothing is wrong, 0 pieces/)
  const { code, out, err } = await doctor('--config', file)
  expect([code, err]).toEqual([0, ''])
  for (const part of ['version', 'clock of 127.0.0.1', 'destination siem', 'requests to', '1 tenant asked; 1 answered'])
    expect(out).toContain(part)
  expect(out.split('\n').length).toBeLessThan(20)
  expect(out).not.toContain('a-token-of-the-daemon')
  expect(daemon.deaths).toEqual([])
})

test('everything wrong is told, the worst first, with what to do, and no secret', async () => {
  await using simulator = await startSimulator()
  await using redis = await startRedis('--maxmemory', '100mb')
  await using folder = await openFolder()
  const secret = 'not-the-right-secret'
  const file = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    http: { port: 19_668, host: '0.0.0.0' },
    service: { requestsPerSecond: 1 },
    destinations: [{ name: 'siem', sink: 'syslog', address: '127.0.0.1:1' }],
    inlineTenants: [
      tenantOf(simulator, { name: 'acme', client: 4711, secret, streams: { attacks: { every: '1s' }, rules: {} } }),
    ],
    tenants: '.',
  })
  await folder.write('broken.yaml', { instance: 'nowhere' })
  await remember(redis, 'acme/attacks', { v: 1, completeAt: Date.now() / 1_000 - 7_200, latest: 900 })
  const { debt } = streamKeys('tailrace', 'acme/attacks')
  await redis.client.hset(debt, { 'old/bytes': 5_000, 'old/batches': 3, 'siem/dead': 7 })
  expect(await createBatches(redis.client, 'tailrace').debts('acme/attacks')).toHaveLength(2)

  const { code, findings, wrong } = await examined(file)
  expect(code).toBe(1)
  const ranks = findings.map(({ severity }) => ['wrong', 'advice', 'fine'].indexOf(severity))
  expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
  expect(findings.filter(({ severity }) => severity === 'wrong')).toHaveLength(wrong)
  for (const { severity, remedy } of findings) expect(remedy === null).toBe(severity === 'fine')
  const told = findings.map(({ severity, subject, text }) => `${severity} ${subject}: ${text}`).join('\n')
  for (const part of [
    /wrong tenant broken: /,
    /wrong tenant acme: .*403/,
    /wrong destination siem: .*ECONNREFUSED/,
    /wrong destination siem: 7 events set aside as dead letters/,
    /wrong destination old: no longer configured, but 3 batches \(4.9 kB\) wait/,
    /wrong stream acme\/attacks: complete up to 2 h ago/,
    /wrong requests to .*: 2 streams ask for at least 1 requests a second; the limit is 1/,
    /advice stream acme\/attacks: records came up to 15 min late; an overlap of 1m? ?.*/,
    /advice stream acme\/rules: was never read/,
    /advice redis: .*append-only file is off/,
    /advice http: .*0\.0\.0\.0/,
    /advice daemon: none answers/,
  ])
    expect(told).toMatch(part)
  expect(told).not.toContain(secret)
  const overlap = findings.find(({ text }) => text.includes('late; an overlap'))
  expect(overlap?.remedy).toContain('Set overlap: 25m')
})

test('many tenants are sampled, and what is alike is told once', { timeout: 60_000 }, async () => {
  await using simulator = await startSimulator()
  await using folder = await openFolder()
  const inlineTenants = Array.from({ length: 250 }, (_, i) =>
    tenantOf(simulator, { name: `t${i}`, client: 4711, secret: i % 2 === 0 ? 'wrong-secret' : undefined } as never),
  )
  const file = await folder.write('tailrace.yaml', {
    redis: { url: 'redis://127.0.0.1:1' },
    http: { port: 19_669 },
    destinations: [{ name: 'file', sink: 'file', path: folder.file('events') }],
    inlineTenants,
  })
  const some = await examined(file)
  expect(some.code).toBe(1)
  expect(some.findings).toContainEqual(expect.objectContaining({ severity: 'wrong', subject: 'redis' }))
  expect(some.findings).toContainEqual(
    expect.objectContaining({ subject: 'credentials', text: expect.stringMatching(/^100 tenants asked of 250;/) }),
  )
  expect(some.findings).toContainEqual(
    expect.objectContaining({ severity: 'wrong', subject: expect.stringMatching(/^\d+ alike: t0, /) }),
  )
  const all = await examined(file, '--all')
  expect(all.findings).toContainEqual(
    expect.objectContaining({ text: '250 tenants asked; 125 answered as they should' }),
  )
  expect(all.findings.length).toBeLessThan(15)
})

test('a main file with mistakes is 2, as JSON too', async () => {
  await using folder = await openFolder()
  const file = await folder.write('tailrace.yaml', { htttp: {} })
  expect(await examined(file)).toMatchObject({
    code: 2,
    findings: [{ severity: 'wrong', subject: 'configuration', text: expect.stringContaining('htttp') }],
  })
})
