import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { hasTerminals } from '../terminal.ts'
import { openStage, paths } from './stage.ts'

const client = ['--client', '4711']
const host = { type: 'equal', point: ['header', 'HOST'], value: 'example.com' }

test('virtual patches and regex rules are created as the interface shows them', async () => {
  await using stage = await openStage()
  const create = async (...words: string[]) => stage.service('rules', 'create', ...words, ...client, '--json')
  const [patch, application, regex] = await Promise.all([
    create('vpatch', '--path', '/api/v1/', '--header', 'host=example.com'),
    create('vpatch', '--path', '/api', '--application', '7'),
    create(
      'regex',
      '--header',
      'HOST=example.com',
      '--point',
      'X-FORWARDED-FOR',
      '--regex',
      '^10[.]',
      '--comment',
      'why',
    ),
  ])
  const rule = (ended: { out: string }) => (JSON.parse(ended.out) as object[])[0]
  expect(patch).toMatchObject({ code: 0, err: '' })
  expect(rule(patch)).toMatchObject({
    clientid: 4711,
    type: 'vpatch',
    attack_type: 'any',
    validated: false,
    action: [
      { type: 'equal', point: ['path', 0], value: 'api' },
      { type: 'equal', point: ['path', 1], value: 'v1' },
      host,
    ],
    point: ['header', 'HOST'],
  })
  expect(rule(application)).toMatchObject({
    action: [
      { type: 'equal', point: ['instance'], value: '7', weight: 1 },
      { type: 'equal', point: ['path', 0], value: 'api', weight: 2 },
    ],
  })
  expect(rule(regex)).toMatchObject({
    type: 'regex',
    attack_type: 'scanner',
    action: [host],
    point: ['header', 'X-FORWARDED-FOR'],
    regex: '^10[.]',
    comment: 'why',
  })
})

test('--dry-run shows the request and sends nothing', async () => {
  await using stage = await openStage()
  const [create, remove] = await Promise.all([
    stage.service('rules', 'create', 'vpatch', '--path', '/api', ...client, '--dry-run'),
    stage.service('rules', 'delete', '5', ...client, '--dry-run'),
  ])
  expect(create).toMatchObject({ code: 0, err: '' })
  expect(create.out).toContain(`POST ${stage.simulator.url}/v1/objects/hint/create\n`)
  expect(create.out).toContain('X-ServiceAPI-Secret: ***')
  expect(JSON.parse(remove.out.slice(remove.out.indexOf('{')))).toEqual({ filter: { clientid: [4711], id: 5 } })
  expect(stage.simulator.stats.report().total).toBe(0)
})

test('what would block too much, or cannot be, is not sent', async () => {
  await using stage = await openStage()
  const create = async (...words: string[]) => stage.service('rules', 'create', ...words, ...client)
  const file = await stage.write('bad.yaml', [{ type: 'vpatch', action: [{ ...host, type: 'glob' }] }])
  const typo = await stage.write('typo.yaml', [{ type: 'vpatch', action: [host], atack_type: 'any' }])
  const ended = await Promise.all([
    create('vpatch'),
    create('vpatch', '--path', '/'),
    create('vpatch', '--application', '7'),
    create('regex', '--header', 'HOST', '--point', 'HOST', '--regex', 'x'),
    create('--file', file),
    create('--file', typo),
    create(),
  ])
  expect(ended.map(({ code }) => code)).toEqual(ended.map(() => 2))
  expect(ended[4]?.err).toContain('rule 1: action[0] must be')
  expect(ended[5]?.err).toContain('did you mean attack_type')
  expect(stage.simulator.stats.report().total).toBe(0)
})

test('rules from a file, one after the other; where one is refused it says where to go on', async () => {
  await using stage = await openStage()
  const patch = (value: string) => ({ type: 'vpatch', action: [{ type: 'equal', point: ['path', 0], value }] })
  const before = stage.simulator.world.count('rules', 4711)
  const file = await stage.write('rules.yaml', [patch('a'), patch('b'), patch('c')])
  stage.simulator.faults.inject({ kind: 'truncate', path: paths.createRule })
  const create = async (...words: string[]) => stage.service('rules', 'create', '--file', file, ...client, ...words)
  const first = await create()
  expect(first.code).toBe(1)
  expect(first.err).toContain('Rule 1 of 3 failed; 0 exist. Rule 1 may have been created all the same')
  stage.simulator.faults.inject({ kind: '423', path: paths.createRule })
  const second = await create('--skip', '1')
  expect(second.err).toContain('--skip 1')
  expect(second.err).toContain('answered 423: Rules are locked')
  expect(second.err).toContain('service_locked')
  expect(await create('--skip', '1')).toMatchObject({ code: 0, err: '' })
  expect(stage.simulator.world.count('rules', 4711)).toBe(before + 3)
})

test('deletion asks, counts what was not there as an error, and passes on what the service says', async () => {
  await using stage = await openStage()
  const { world } = stage.simulator
  const [one, two] = world.records('rules', 4711).map((rule) => String(rule['id']))
  const remove = async (...words: string[]) => stage.service('rules', 'delete', ...words, ...client)
  const nobody = await remove(String(one))
  expect(nobody.code).toBe(2)
  expect(nobody.err).toContain('add --yes')
  stage.simulator.faults.inject({ kind: '423' })
  expect((await remove(String(one), '--yes')).err).toContain('423')
  expect(world.get('rules', 4711, String(one))).toBeDefined()
  const both = await remove(String(one), '99999', String(two), '--yes')
  expect(both.code).toBe(1)
  expect(both.out).toBe(`Deleted rule ${one}.\nDeleted rule ${two}.\n`)
  expect(both.err).toContain('has no rule 99999')
  expect(world.get('rules', 4711, String(two))).toBeUndefined()
})

test.skipIf(!hasTerminals)('on a terminal a person is asked', async () => {
  await using stage = await openStage()
  const { world, url, credentials } = stage.simulator
  const [rule] = world.records('rules', 4711).map((one) => String(one['id']))
  const words = `${rule} --client 4711 --instance ${url} --uuid-from env:U --secret-from env:S`
  const answering = async (answer: string): Promise<string> => {
    const env = { ...process.env, U: credentials[0]?.uuid, S: credentials[0]?.secret }
    const command = `${process.execPath} ${resolve('src/main.ts')} service rules delete ${words}`
    const child = spawn('script', ['-qec', command, '/dev/null'], { env, cwd: stage.folder })
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const asked = shown.includes('[y/N]')
      shown += chunk
      if (!asked && shown.includes('[y/N]')) child.stdin.write(answer)
    })
    await once(child, 'close')
    return shown
  }
  expect(await answering('n\r')).toContain('Nothing was done.')
  expect(await answering('\u0003')).toContain('Nothing was done.')
  expect(world.get('rules', 4711, String(rule))).toBeDefined()
  expect(await answering('y\r')).toContain(`Deleted rule ${rule}.`)
})
