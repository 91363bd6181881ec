import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSimulator } from '../src/simulator/simulator.ts'
import { startReceiver } from '../src/simulator/receiver.ts'
import { startDaemonProcess } from './faults/daemon.ts'
import { tailrace } from './command-line.ts'
import { startRedis } from './redis.ts'

async function writeConfig(content: object): Promise<AsyncDisposable & { readonly file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-commands-'))
  const file = join(folder, 'tailrace.yaml')
  await writeFile(file, JSON.stringify(content)) // JSON is YAML
  return { file, [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }) }
}

function tenant(baseUrl: string, secret: string): object {
  return {
    name: 'acme',
    baseUrl,
    credentials: { uuid: '11111111-1111-4111-8111-111111111111', secret },
    clients: [4711],
  }
}

test('misuse and a missing configuration end with 2 and say what to do', async () => {
  const [unknown, option, missing] = await Promise.all([
    tailrace('fly'),
    tailrace('check', '--nonsense'),
    tailrace('check', '--config', '/nowhere.yaml'),
  ])
  expect(unknown.code).toBe(2)
  expect(option.code).toBe(2)
  expect(missing.code).toBe(2)
  expect(missing.err).toContain('/nowhere.yaml')
})

test('the reference is rendered, and every command has help', async () => {
  const reference = await tailrace('reference')
  expect(reference.code).toBe(0)
  expect(reference.out).toContain('requestsPerSecond')
  const help = await tailrace('run', '--help')
  expect(help).toMatchObject({ code: 0 })
})

test('check --connect says what answers and what does not, and shows no secret', async () => {
  await using simulator = await startSimulator()
  await using redis = await startRedis()
  await using receiver = await startReceiver(0, () => undefined)
  const parts = {
    redis: { url: redis.url },
    destinations: [{ name: 'siem', sink: 'syslog', address: `127.0.0.1:${receiver.port}` }],
  }
  await using right = await writeConfig({ ...parts, inlineTenants: [tenant(simulator.url, 'simulated-secret')] })
  const good = await tailrace('check', '--config', right.file, '--connect')
  expect(good).toMatchObject({ code: 0, err: '' })
  expect(good.out).toContain('tenant acme, attacks: answers')
  expect(good.out).toContain('destination siem')

  await using wrong = await writeConfig({ ...parts, inlineTenants: [tenant(simulator.url, 'not-the-secret')] })
  const bad = await tailrace('check', '--config', wrong.file, '--connect', '--json')
  expect(bad.code).toBe(1)
  const findings = JSON.parse(bad.out) as { subject: string; ok: boolean }[]
  expect(findings).toContainEqual(expect.objectContaining({ subject: 'tenant acme, attacks', ok: false }))
  expect(bad.out + bad.err).not.toContain('not-the-secret')
})

test('check --send-test sends one event that says that it is a test', async () => {
  const received: string[] = []
  await using receiver = await startReceiver(0, (message) => void received.push(message))
  const destinations = [
    { name: 'siem', sink: 'syslog', address: `127.0.0.1:${receiver.port}`, streams: ['rules'] },
    { name: 'gone', sink: 'syslog', address: '127.0.0.1:1' },
  ]
  await using config = await writeConfig({ destinations, inlineTenants: [tenant('http://127.0.0.1:1', 'a-secret')] })
  const one = await tailrace('check', '--config', config.file, '--send-test', 'siem')
  expect(one).toMatchObject({ code: 0, err: '' })
  const [, id] = /sent and confirmed: look for (test-[\w-]+), tenant tailrace-test/.exec(one.out) ?? []
  expect(received).toEqual([expect.stringContaining(`id="${id}"`)])
  const all = await tailrace('check', '--config', config.file, '--send-test')
  expect(all.code).toBe(1)
  expect(all.out).toContain('FAIL  destination gone, test event')
  expect(received.length).toBe(2)
  expect(await tailrace('check', '--config', config.file, '--send-test', 'siam')).toMatchObject({ code: 1 })
})

test('status shows a running daemon as a table and as JSON', async () => {
  await using simulator = await startSimulator({ world: { attacksPerSecond: 20 } })
  await using redis = await startRedis()
  await using receiver = await startReceiver(0, () => undefined)
  await using config = await writeConfig({
    redis: { url: redis.url },
    http: { port: 19_664 },
    log: { level: 'silent' },
    destinations: [{ name: 'siem', sink: 'syslog', address: `127.0.0.1:${receiver.port}` }],
    inlineTenants: [{ ...tenant(simulator.url, 'simulated-secret'), streams: { attacks: { every: '1s' } } }],
  })
  await using daemon = startDaemonProcess(config.file, '/dev/null')
  const json = async (): Promise<string> => (await tailrace('status', '--config', config.file, '--json')).out
  await expect.poll(json, { timeout: 20_000, interval: 500 }).toContain('"completeAt": "2')
  const shown = await tailrace('status', '--config', config.file)
  expect(shown.code).toBe(0)
  expect(shown.out).toMatch(/acme\/attacks\s+\d+ s ago/)
  expect(daemon.deaths).toEqual([])
})

test('status says where nothing answers', async () => {
  const ended = await tailrace('status', '--url', 'http://127.0.0.1:9')
  expect(ended.code).not.toBe(0)
  expect(ended.err).toContain('http://127.0.0.1:9')
})
