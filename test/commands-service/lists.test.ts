import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openStage, paths } from './stage.ts'

const history = { world: { history: { attacks: 250, spanSeconds: 40_000 } } }

interface Shown {
  readonly attackid: string
  readonly last_time: number
  readonly type: string
}

test('attacks: a table, JSON, filters, order, times', async () => {
  await using stage = await openStage(history)
  const list = async (...words: string[]) => stage.service('attacks', 'list', '--client', '4711', ...words)
  const [shown, json, filtered, old] = await Promise.all([
    list('--limit', '3'),
    list('--json', '--order', 'hits:asc', '--limit', '20'),
    list('--json', '--type', 'sqli,xss', '--status', 'blocked', '--from', '0'),
    list('--json', '--to', '1000000000'),
  ])
  expect(shown).toMatchObject({ code: 0, err: '' })
  expect(shown.out).toMatch(/^last hit +client +type/)
  expect(shown.out).toContain('3 records; for more: --offset 3, or --all')
  const hits = (JSON.parse(json.out) as { hits: number }[]).map((record) => record.hits)
  expect(hits).toHaveLength(20)
  expect(hits).toEqual(hits.toSorted((a, b) => a - b))
  const types = new Set((JSON.parse(filtered.out) as Shown[]).map(({ type }) => type))
  expect([...types].toSorted()).toEqual(['sqli', 'xss'])
  expect(JSON.parse(old.out)).toEqual([])
})

test('--all reads page by page, past pages that the service makes shorter, and waits when it is asked to', async () => {
  await using stage = await openStage({ ...history, pageMax: 100 })
  stage.simulator.faults.inject({ kind: '429', retryAfterSeconds: 0.1 })
  const words = ['attacks', 'list', '--client', '4711', '--all', '--ndjson']
  const all = await stage.service(...words)
  expect(all).toMatchObject({ code: 0, err: '' })
  const lines = all.out.trimEnd().split('\n')
  expect(new Set(lines.map((line) => (JSON.parse(line) as Shown).attackid)).size).toBe(250)
  // One was refused, three had records, one was empty.
  expect(stage.count(paths.attacks)).toBe(5)
})

test('whoever takes the first lines only is no failure', async () => {
  await using stage = await openStage({ world: { history: { attacks: 3000, spanSeconds: 40_000 } } })
  const words = '--client 4711 --all --ndjson --limit 500 --uuid-from env:USER_UUID --secret-from env:USER_SECRET'
  const command = `node ${resolve('src/main.ts')} service attacks list --instance ${stage.simulator.url} ${words}`
  const [{ uuid, secret } = { uuid: '', secret: '' }] = stage.simulator.credentials
  const env = { ...process.env, USER_UUID: uuid, USER_SECRET: secret }
  const piped = promisify(execFile)('bash', ['-c', `set -o pipefail; ${command} | head -n 1`], {
    env,
    cwd: stage.folder,
  })
  await expect(piped).resolves.toMatchObject({ stderr: '' })
})

test('a list that cannot be read to its end says so', async () => {
  await using stage = await openStage({ ...history, offsetMax: 100 })
  const words = ['attacks', 'list', '--client', '4711', '--all', '--limit', '90', '--ndjson']
  const ended = await stage.service(...words)
  expect(ended.code).toBe(1)
  expect(ended.out.trimEnd().split('\n')).toHaveLength(180)
  expect(ended.err).toContain('the list is incomplete, as it could be read up to offset 180 only')
})

test('incidents, vulnerabilities, rules and conditions', async () => {
  await using stage = await openStage(history)
  const { world } = stage.simulator
  const [rule] = world.records('rules', 4711)
  const list = async (...words: string[]) => stage.service(...words, '--client', '4711', '--json')
  const [incidents, active, any, rules, ofCondition, conditions] = await Promise.all([
    list('incidents', 'list', '--limit', '1000'),
    list('vulnerabilities', 'list', '--limit', '1000'),
    list('vulnerabilities', 'list', '--limit', '1000', '--any'),
    list('rules', 'list'),
    list('rules', 'list', '--condition', String(rule?.['actionid'])),
    list('conditions', 'list'),
  ])
  const count = (ended: { out: string }) => (JSON.parse(ended.out) as object[]).length
  expect(count(incidents)).toBeGreaterThan(0)
  expect(count(incidents)).toBeLessThan(250)
  expect(count(any)).toBe(world.count('vulnerabilities', 4711))
  expect(count(active)).toBeLessThanOrEqual(count(any))
  expect(count(rules)).toBe(world.count('rules', 4711))
  expect(count(ofCondition)).toBe(1)
  expect(count(conditions)).toBe(world.count('conditions', 4711))
})

test('what attackers sent does nothing to a terminal', async () => {
  await using stage = await openStage()
  const now = Math.floor(Date.now() / 1000)
  const evil = '/\u001b[2J\u009b31m\u202e\nforged line'
  const times = { first_time: now, last_time: now, hits: 1 }
  stage.simulator.world.add('attacks', {
    id: ['i', 'x'],
    attackid: 'i:x',
    clientid: 4711,
    path: evil,
    type: 'xss',
    ...times,
  })
  const list = async (...words: string[]) => stage.service('attacks', 'list', '--client', '4711', ...words)
  const [table, json] = await Promise.all([list(), list('--ndjson')])
  for (const { out } of [table, json]) expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  expect(table.out.trimEnd().split('\n')).toHaveLength(4)
  expect((JSON.parse(json.out) as { path: string }).path).toBe(evil)
})

test('refused: wrong credentials, a client of somebody else, an unknown filter, each in the words of the service', async () => {
  await using stage = await openStage()
  const { url } = stage.simulator
  const wrong = ['--instance', url, '--uuid-from', 'env:USER_UUID', '--secret-from', 'env:WRONG']
  const [stranger, other, filter] = await Promise.all([
    stage.run('attacks', 'list', '--client', '4711', ...wrong),
    stage.service('rules', 'list', '--client', '9999'),
    stage.service('attacks', 'list', '--client', '4711', '--filter', '{"!nope":[1]}'),
  ])
  expect(stranger.code).toBe(1)
  expect(stranger.err).toContain('answered 403: User not authenticated')
  expect(stranger.err).toContain('service_refused: ')
  expect(stranger.err).not.toContain('wrong-secret')
  expect(other.err).toContain('answered 403: Check permissions failed')
  expect(filter.code).toBe(1)
  expect(filter.err).toContain('answered 400: !nope: unknown filter')
})

test('misuse ends with 2, sends nothing and repeats no secret', async () => {
  await using stage = await openStage()
  const { url } = stage.simulator
  const list = ['attacks', 'list', '--client', '4711']
  const ended = await Promise.all([
    stage.run(...list),
    stage.bare(...list, '--tenant', 'acme'),
    stage.bare(...list, '--instance', url, '--uuid-from', 'env:USER_UUID', '--secret-from', 'hunter2'),
    stage.bare(...list, '--instance', url, '--uuid-from', 'env:USER_UUID', '--secret-from', 'env:MISSING'),
    stage.service('attacks', 'list'),
    stage.service(...list, '--from', 'yesterday'),
    stage.service(...list, '--filter', '{"type":"xss"}', '--type', 'sqli'),
    stage.service(...list, '--json', '--ndjson'),
    stage.service(),
  ])
  expect(ended.map(({ code }) => code)).toEqual(ended.map(() => 2))
  expect(ended.map(({ err }) => err).join('')).not.toContain('hunter2')
  expect(ended[3]?.err).toContain('MISSING, which is not set')
  expect(stage.simulator.stats.report().total).toBe(0)
})

test('a tenant of the configuration: its instance, credentials and clients', async () => {
  await using stage = await openStage(history)
  const secret = await stage.write('secret', 'simulated-secret\n')
  const credentials = { uuid: '${env:USER_UUID}', secret: '${file:secret}' }
  const file = await stage.write('tailrace.yaml', {
    service: { instances: { here: stage.simulator.url } },
    destinations: [{ name: 'out', sink: 'stdout' }],
    inlineTenants: [{ name: 'acme', instance: 'here', credentials, clients: [4711] }],
  })
  const config = ['--config', file]
  const [listed, user, unknown, named] = await Promise.all([
    stage.bare('attacks', 'list', ...config, '--tenant', 'acme'),
    stage.bare('users', 'show', ...config, '--tenant', 'acme'),
    stage.bare('users', 'show', ...config, '--tenant', 'acne'),
    stage.bare(
      'users',
      'show',
      '--json',
      ...config,
      '--instance',
      'here',
      '--uuid-from',
      'env:USER_UUID',
      '--secret-from',
      `file:${secret}`,
    ),
  ])
  expect(listed).toMatchObject({ code: 0, err: '' })
  expect(listed.out).toContain('50 records')
  expect(user.out).toMatch(/uuid +\*\*\*\n/)
  expect(unknown).toMatchObject({ code: 2 })
  expect(unknown.err).toContain('there are: acme')
  expect(JSON.parse(named.out)).toMatchObject({ uuid: '***', client_id: 4711, partner: true })
})
