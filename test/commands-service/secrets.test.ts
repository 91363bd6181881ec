import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStage, paths, type Stage } from './stage.ts'

function renewing(stage: Stage, file = 'secret'): string[] {
  const { url } = stage.simulator
  return [
    'secrets',
    'renew',
    '--yes',
    '--instance',
    url,
    '--uuid-from',
    'env:USER_UUID',
    '--secret-from',
    `file:${join(stage.folder, file)}`,
  ]
}

async function works(stage: Stage, secret: string): Promise<boolean> {
  const [{ uuid } = { uuid: '' }] = stage.simulator.credentials
  const headers = { 'x-serviceapi-uuid': uuid, 'x-serviceapi-secret': secret, 'content-type': 'application/json' }
  return (await fetch(`${stage.simulator.url}/v1/user`, { method: 'POST', headers, body: '{}' })).ok
}

function renewals(stage: Stage): number {
  return stage.count(paths.renew)
}

test('the new secret goes to the file of the tenant, whole, with mode 0600, and is not shown', async () => {
  await using stage = await openStage()
  await mkdir(join(stage.folder, 'mounted'))
  await stage.write('mounted/data', 'simulated-secret\n')
  await chmod(join(stage.folder, 'mounted/data'), 0o644)
  await symlink('mounted/data', join(stage.folder, 'secret'))
  const credentials = { uuid: '${env:USER_UUID}', secret: '${file:../secret}' }
  await mkdir(join(stage.folder, 'tenants'))
  await stage.write('tenants/acme.yaml', { baseUrl: stage.simulator.url, credentials, clients: [4711] })
  const config = await stage.write('tailrace.yaml', {
    tenants: 'tenants',
    destinations: [{ name: 'out', sink: 'stdout' }],
  })
  const renew = ['secrets', 'renew', '--config', config, '--tenant', 'acme']
  const asked = await stage.bare(...renew)
  expect(asked.code).toBe(2)
  expect(asked.err).toContain('add --yes')
  expect(await stage.read('secret')).toBe('simulated-secret\n')

  const done = await stage.run(...renew, '--yes')
  expect(done).toMatchObject({ code: 0, err: 'Its mode was 0644, and is 0600 now.\n' })
  const secret = (await stage.read('secret')).trimEnd()
  expect(secret).not.toBe('simulated-secret')
  expect(done.out + done.err).not.toContain(secret)
  expect(await works(stage, secret)).toBe(true)
  expect(await works(stage, 'simulated-secret')).toBe(false)
  expect((await stat(join(stage.folder, 'mounted/data'))).mode & 0o777).toBe(0o600)
  expect(await readdir(join(stage.folder, 'mounted'))).toEqual(['data'])
})

test('from a variable only with --to or --print', async () => {
  await using stage = await openStage()
  const refused = await stage.service('secrets', 'renew', '--yes')
  expect(refused.code).toBe(2)
  expect(refused.err).toContain('--to FILE, or --print')
  const printed = await stage.service('secrets', 'renew', '--yes', '--print', '--to', join(stage.folder, 'fresh'))
  expect(printed).toMatchObject({ code: 0, err: '' })
  expect(printed.out).toBe(`${await stage.read('fresh')}The secret was renewed: ${join(stage.folder, 'fresh')}\n`)
})

test('nothing is asked for where the file cannot be written, or is another one', async () => {
  await using stage = await openStage()
  await stage.write('other', 'something precious\n')
  const ended = await Promise.all([
    stage.service('secrets', 'renew', '--yes', '--to', join(stage.folder, 'missing/folder/secret')),
    stage.service('secrets', 'renew', '--yes', '--to', join(stage.folder, 'other')),
    stage.service('secrets', 'renew', '--yes', '--to', stage.folder),
  ])
  expect(ended.map(({ code }) => code)).toEqual([2, 2, 2])
  expect(renewals(stage)).toBe(0)
  expect(await stage.read('other')).toBe('something precious\n')
  expect((await readdir(stage.folder)).toSorted()).toEqual(['other'])
})

test('killed before it was renewed: the next run finds the old secret alive, and renews once', async () => {
  await using stage = await openStage()
  await writeFile(join(stage.folder, 'secret'), 'simulated-secret', { mode: 0o600 })
  stage.simulator.faults.inject({ kind: 'swallow', path: paths.renew })
  await stage.struck('SIGKILL', ...renewing(stage))
  expect(await stage.read('secret')).toBe('simulated-secret')
  expect(await stage.bare(...renewing(stage))).toMatchObject({ code: 0, err: '' })
  expect(await works(stage, (await stage.read('secret')).trimEnd())).toBe(true)
  expect(stage.simulator.stats.report().operations[paths.renew]).toEqual({ swallow: 1, '200': 1 })
  expect(await readdir(stage.folder)).toEqual(['secret'])
})

test('killed when the answer was on its way: the next run says that the secret is lost, and renews nothing', async () => {
  await using stage = await openStage()
  await stage.write('secret', 'simulated-secret')
  stage.simulator.faults.inject({ kind: 'stall', path: paths.renew })
  await stage.struck('SIGKILL', ...renewing(stage))
  const next = await stage.bare(...renewing(stage))
  expect(next.code).toBe(1)
  expect(next.err).toContain('renew it in the reference interface')
  expect(next.err).toContain('service_refused')
  expect(renewals(stage)).toBe(1)
})

test('killed when the secret had arrived: the next run puts it in its place, and renews nothing', async () => {
  await using stage = await openStage()
  await writeFile(join(stage.folder, 'secret'), 'dead-secret', { mode: 0o600 })
  await writeFile(join(stage.folder, '.secret.renewing'), 'simulated-secret\n'.padEnd(4096), { mode: 0o600 })
  const next = await stage.bare(...renewing(stage))
  expect(next).toMatchObject({ code: 0, err: '' })
  expect(next.out).toContain('It was not renewed again')
  expect(await stage.read('secret')).toBe('simulated-secret\n')
  expect(renewals(stage)).toBe(0)
  expect(await readdir(stage.folder)).toEqual(['secret'])
})

test('a secret that cannot be stored any more is not lost', async () => {
  await using stage = await openStage()
  await mkdir(join(stage.folder, 'gone'))
  await stage.write('gone/secret', 'simulated-secret')
  stage.simulator.faults.inject({ kind: 'slow', path: paths.renew, seconds: 2 })
  const running = stage.run(...renewing(stage, 'gone/secret'))
  await expect.poll(() => stage.simulator.faults.list(), { timeout: 20_000 }).toEqual([])
  await rm(join(stage.folder, 'gone'), { recursive: true })
  const ended = await running
  expect(ended.code).toBe(1)
  const [, place = ''] = /^ {2}mv (\S+) /m.exec(ended.err) ?? []
  expect(place.startsWith(stage.folder)).toBe(true)
  expect((await stat(place)).mode & 0o777).toBe(0o600)
  const secret = (await stage.read(place.slice(stage.folder.length + 1))).trimEnd()
  expect(await works(stage, secret)).toBe(true)
  expect(ended.out + ended.err).not.toContain(secret)
})

test('Ctrl-C does not break off a renewal that is under way', async () => {
  await using stage = await openStage()
  await writeFile(join(stage.folder, 'secret'), 'simulated-secret', { mode: 0o600 })
  stage.simulator.faults.inject({ kind: 'slow', path: paths.renew, seconds: 1 })
  const ended = await stage.struck('SIGINT', ...renewing(stage))
  expect(ended).toMatchObject({ code: 0, err: 'Waiting for what is under way; once more ends at once.\n' })
  expect(await works(stage, (await stage.read('secret')).trimEnd())).toBe(true)
})

test('refused credentials are told of before anything is touched', async () => {
  await using stage = await openStage()
  await stage.write('secret', 'wrong-secret')
  const ended = await stage.bare(...renewing(stage))
  expect(ended.code).toBe(1)
  expect(ended.err).toContain('answered 403')
  expect(renewals(stage)).toBe(0)
  expect(await readdir(stage.folder)).toEqual(['secret'])
})
