// What changes while the daemon runs: tenants, destinations and secrets come, change and go without a restart.

import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'vitest'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { startRedis } from '../redis.ts'
import { eventsIn, fetchStatus, fileDestination, openFolder, startProcess, tenantOf, twice } from './stage.ts'
import type { DaemonProcess, Folder } from './stage.ts'

const patience = { timeout: 30_000 }

interface Stage extends AsyncDisposable {
  readonly folder: Folder
  readonly daemon: DaemonProcess
  readonly url: string
  writeTenant(name: string, more?: object): Promise<void>
  writeMain(destinations: readonly object[]): Promise<void>
  tenantsIn(file: string): Promise<string[]>
}

async function openStage(): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const redis = stack.use(await startRedis())
  const folder = stack.use(await openFolder())
  const simulator = stack.use(await startSimulator({ clients: [1, 2], world: { attacksPerSecond: 5 } }))
  await mkdir(folder.file('tenants'))
  const writeTenant = async (name: string, more: object = {}): Promise<void> => {
    const { name: _, ...content } = { ...tenantOf(simulator, { name, client: name === 'acme' ? 1 : 2 }), name, ...more }
    await folder.write(`tenants/${name}.yaml`, content)
  }
  const writeMain = async (destinations: readonly object[]): Promise<void> => {
    const parts = { redis: { url: redis.url }, http: { port: 0 }, tenants: 'tenants', destinations }
    await folder.write('tailrace.yaml', parts)
  }
  await writeMain([fileDestination('out', folder.file('out'))])
  await writeTenant('acme')
  const daemon = stack.use(startProcess(['run', '--config', folder.file('tailrace.yaml')]))
  const url = await daemon.url()
  const kept = stack.move()
  return {
    folder,
    daemon,
    url,
    writeTenant,
    writeMain,
    tenantsIn: async (file) => [...new Set((await eventsIn(folder.file(file))).map(({ tenant }) => tenant))].toSorted(),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  }
}

test.concurrent(
  'a tenant is added, changed and removed; a wrong file changes nothing',
  { timeout: 90_000 },
  async ({ expect }) => {
    await using stage = await openStage()
    const { folder, daemon, url } = stage
    await expect.poll(async () => stage.tenantsIn('out'), patience).toEqual(['acme'])

    await stage.writeTenant('bolt')
    await expect.poll(async () => stage.tenantsIn('out'), patience).toEqual(['acme', 'bolt'])

    await folder.write('tenants/bolt.yaml', 'clients: none')
    await expect.poll(async () => (await fetchStatus(url)).config.brokenTenants, patience).toBe(1)
    await expect.poll(() => daemon.output(), patience).toContain('must be a list')
    const before = (await eventsIn(folder.file('out'))).filter(({ tenant }) => tenant === 'bolt').length
    const ofBolt = async (): Promise<number> =>
      (await eventsIn(folder.file('out'))).filter(({ tenant }) => tenant === 'bolt').length
    await expect.poll(ofBolt, patience).toBeGreaterThan(before)

    await rm(folder.file('tenants/bolt.yaml'))
    const streamsOf = async (): Promise<string[]> => (await fetchStatus(url)).streams.map(({ tenant }) => tenant)
    await expect.poll(streamsOf, patience).toEqual(['acme'])
    const metrics = await (await fetch(`${url}/metrics`)).text()
    expect(metrics).not.toMatch(/watermark_age_seconds\{tenant="bolt"/)
    expect(metrics).toMatch(/watermark_age_seconds\{tenant="acme"/)
    const events = await eventsIn(folder.file('out'))
    expect(twice(events)).toEqual([])
  },
)

test.concurrent(
  'destinations come, change and go; what waits for one that changes is delivered',
  { timeout: 90_000 },
  async ({ expect }) => {
    await using stage = await openStage()
    const { folder, url, daemon } = stage
    const out = fileDestination('out', folder.file('out'))
    // Its folder does not exist: everything waits.
    const other = fileDestination('other', folder.file('missing/other'))
    await stage.writeMain([out, other])
    const waiting = async (): Promise<number> =>
      (await fetchStatus(url)).destinations.find(({ destination }) => destination === 'other')?.backlogBatches ?? 0
    await expect.poll(waiting, patience).toBeGreaterThan(0)

    await stage.writeMain([out, fileDestination('other', folder.file('elsewhere'))])
    await expect.poll(async () => (await eventsIn(folder.file('elsewhere'))).length, patience).toBeGreaterThan(0)
    await expect.poll(waiting, patience).toBe(0)

    await folder.write('tailrace.yaml', '{ destinations: [')
    await expect.poll(async () => (await fetchStatus(url)).config.refused?.code, patience).toBe('config_invalid')
    const before = (await eventsIn(folder.file('elsewhere'))).length
    await expect.poll(async () => (await eventsIn(folder.file('elsewhere'))).length, patience).toBeGreaterThan(before)

    await stage.writeMain([out])
    const names = async (): Promise<string[]> => (await fetchStatus(url)).destinations.map((d) => d.destination)
    await expect.poll(names, patience).toEqual(['out'])
    await expect.poll(async () => (await fetchStatus(url)).config.refused, patience).toBeNull()
    daemon.signal('SIGHUP')
    await expect
      .poll(() => daemon.lines().filter(({ msg }) => msg === 'the configuration is in force').length, patience)
      .toBe(5)
  },
)

test.concurrent(
  'a secret is rotated, behind a symbolic link as Kubernetes does it',
  { timeout: 90_000 },
  async ({ expect }) => {
    await using stage = await openStage()
    const { folder, url } = stage
    await mkdir(folder.file('v1'))
    await mkdir(folder.file('v2'))
    await writeFile(folder.file('v1/secret'), 'wrong')
    await symlink('v1', folder.file('secrets'))
    const tenant = {
      credentials: { uuid: '11111111-1111-4111-8111-111111111111', secret: '${file:../secrets/secret}' },
    }
    await stage.writeTenant('bolt', tenant)
    const error = async (): Promise<string | undefined> =>
      (await fetchStatus(url)).streams.find((stream) => stream.tenant === 'bolt')?.lastError?.code
    await expect.poll(error, patience).toBe('service_refused')
    await writeFile(folder.file('v2/secret'), 'simulated-secret')
    await symlink('v2', folder.file('secrets.new'))
    await rename(folder.file('secrets.new'), join(folder.path, 'secrets'))
    // Credentials that were refused are looked at again only after minutes, unless they have changed.
    await expect.poll(async () => stage.tenantsIn('out'), patience).toEqual(['acme', 'bolt'])
  },
)
