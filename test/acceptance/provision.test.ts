// From nothing to delivered events, and through a change of the secret, while one daemon runs all the time.

import { mkdir, rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { wellKnownCredentials } from '../../src/simulator/directory.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { runCommand } from '../command-line.ts'
import { startRedis } from '../redis.ts'
import { eventsIn, fetchStatus, fileDestination, openFolder, startProcess, twice } from './stage.ts'

const { uuid, secret, partnerUuid } = wellKnownCredentials
const patience = { timeout: 30_000 }

async function tailrace(...args: string[]): Promise<{ readonly code: number; readonly out: string }> {
  const { code, out, err } = await runCommand(args, { USER_UUID: uuid, PARTNER_UUID: partnerUuid })
  return { code, out: out + err }
}

test('a client is created, its tenant written, polled, delivered, its secret renewed, and the tenant removed', async () => {
  await using simulator = await startSimulator({ clients: [1], world: { attacksPerSecond: 5 } })
  await using redis = await startRedis()
  await using folder = await openFolder()
  for (const name of ['tenants', 'secrets']) await mkdir(folder.file(name))
  const key = await folder.write('secrets/key', `${secret}\n`)
  const out = folder.file('out')
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    http: { port: 0 },
    service: { instances: { here: simulator.url } },
    tenants: 'tenants',
    destinations: [fileDestination('out', out)],
  })
  await using daemon = startProcess(['run', '--config', config], { ...process.env, USER_UUID: uuid })
  const url = await daemon.url()

  const account = ['--instance', 'here', '--uuid-from', 'env:USER_UUID', '--secret-from', `file:${key}`]
  const create = ['service', 'clients', 'create', '--name', 'Acme', '--partner-uuid-from', 'env:PARTNER_UUID']
  const journal = ['--journal', folder.file('journal')]
  const created = await tailrace(...create, ...journal, ...account, '--config', config, '--write-tenant')
  expect(created).toMatchObject({ code: 0 })
  const count = async (): Promise<number> => (await eventsIn(out)).filter(({ tenant }) => tenant === 'acme').length
  await expect.poll(count, patience).toBeGreaterThan(0)

  const renewed = await tailrace('service', 'secrets', 'renew', '--tenant', 'acme', '--config', config, '--yes')
  expect(renewed).toMatchObject({ code: 0 })
  expect(renewed.out).not.toContain(secret)
  const troubles = async (): Promise<number> =>
    (await fetchStatus(url)).streams.reduce((sum, stream) => sum + stream.failures, 0)
  await expect.poll(troubles, patience).toBe(0)
  const before = await count()
  await expect.poll(count, patience).toBeGreaterThan(before)
  expect(daemon.output()).not.toContain(secret)

  await rm(folder.file('tenants/acme.yaml'))
  await expect.poll(async () => (await fetchStatus(url)).streams, patience).toEqual([])
  expect(twice(await eventsIn(out))).toEqual([])
}, 120_000)
