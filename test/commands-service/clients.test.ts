import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { vulnPrefixOf } from '../../src/service/operations.ts'
import { openStage, paths, type Stage } from './stage.ts'

const partner = ['--partner-uuid-from', 'env:PARTNER_UUID']
const journal = 'data/provisioning'

function createIn({ folder }: Stage, name = 'Acme'): string[] {
  return ['clients', 'create', '--name', name, ...partner, '--journal', join(folder, journal)]
}

interface Recorded {
  readonly step: string
  readonly client: number | null
  readonly binding: number | null
}

async function journalOf(stage: Stage): Promise<Recorded & { readonly text: string; readonly mode: number }> {
  const folder = join(stage.folder, journal)
  const [name = ''] = await readdir(folder)
  const text = await stage.read(join(journal, name))
  const { mode } = await stat(join(folder, name))
  return { ...(JSON.parse(text) as Recorded), text, mode: mode & 0o777 }
}

function created(stage: Stage): number {
  return stage.simulator.world.clients.length - 1
}

test('a client is created, bound, recorded, and written as a tenant that the configuration accepts', async () => {
  await using stage = await openStage()
  await mkdir(join(stage.folder, 'tenants'))
  const config = await stage.write('tailrace.yaml', {
    destinations: [{ name: 'out', sink: 'stdout' }],
    tenants: 'tenants',
    service: { instances: { here: stage.simulator.url } },
  })
  const account = ['--instance', 'here', '--uuid-from', 'env:USER_UUID', '--secret-from', 'env:USER_SECRET']
  const words = ['--name', 'Acme', ...partner, ...account, '--config', config, '--binding-id', '99', '--disabled']
  const done = await stage.run('clients', 'create', ...words, '--write-tenant', '--json')
  expect(done).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(done.out)).toMatchObject({
    name: 'Acme',
    client: 4712,
    partner: 77,
    binding: 99,
    vulnPrefix: 'ACME',
  })
  const recorded = await journalOf(stage)
  expect(recorded).toMatchObject({ step: 'bound', client: 4712, binding: 99, mode: 0o600 })
  const tenant = await stage.read('tenants/acme.yaml')
  expect(tenant).toContain('instance: here')
  expect(tenant).toContain('secret: ${env:USER_SECRET}')
  for (const text of [recorded.text, tenant]) expect(text).not.toMatch(/simulated-secret|22222222/)
  const listed = await stage.bare('attacks', 'list', '--config', config, '--tenant', 'acme', '--json')
  expect(listed).toMatchObject({ code: 0, out: '[]\n' })
  // The same name is not created again; another name with the same beginning gets another prefix.
  const again = await stage.service(...createIn(stage), '--write-tenant', '--tenants', join(stage.folder, 'tenants'))
  expect(again).toMatchObject({ code: 0 })
  expect(again.out).toContain('There already; nothing was created')
  const other = await stage.service(...createIn(stage, 'Acme Labs'), '--json')
  expect(JSON.parse(other.out)).toMatchObject({ client: 4713, binding: 4713, vulnPrefix: 'ACM1' })
  const taken = await stage.service(...createIn(stage, 'Third'), '--vuln-prefix', 'acme')
  expect(taken).toMatchObject({ code: 2 })
  expect(created(stage)).toBe(2)
})

test('from a file, all fields; --dry-run shows both requests with the partner masked', async () => {
  await using stage = await openStage()
  const fields = { name: 'From file', vuln_prefix: 'FF01', language: 'ru', notifications: { a: 1 }, binding_id: 5 }
  const file = await stage.write('client.yaml', {
    ...fields,
    partner_uuid: '${env:PARTNER_UUID}',
    scanner_state: { b: 2 },
  })
  const shown = await stage.service('clients', 'create', '--file', file, '--language', 'en', '--dry-run')
  expect(shown).toMatchObject({ code: 0, err: '' })
  const [first = '', second = ''] = shown.out.split('\n\nPOST ')
  expect(JSON.parse(first.slice(first.indexOf('{')))).toEqual({
    name: 'From file',
    vuln_prefix: 'FF01',
    language: 'en',
    enabled: true,
    notifications: { a: 1 },
    mode: 'monitoring',
    blocking_type: 'incidents',
    thirdparty_blacklists: false,
    scanner_mode: 'off',
    partner_uuid: '***',
    thirdparty_mode: 'async',
    scanner_state: { b: 2 },
  })
  expect(second).toContain('"id": 5')
  expect(stage.simulator.stats.report().total).toBe(0)
})

test('killed while it creates: nothing is created again until the operator says what exists', async () => {
  await using stage = await openStage()
  const create = createIn(stage)
  stage.simulator.faults.inject({ kind: 'stall', path: paths.create })
  await stage.struck('SIGKILL', ...create)
  expect(await journalOf(stage)).toMatchObject({ step: 'creating', client: null })
  const blind = await stage.service(...create)
  expect(blind.code).toBe(2)
  expect(blind.err).toContain('--resume created=ID')
  expect(blind.err).toContain('the service has no list of clients')
  expect(created(stage)).toBe(1)
  // Started over all the same, the service refuses a second one.
  const over = await stage.service(...create, '--start-over')
  expect(over.code).toBe(1)
  expect(over.err).toContain('answered 409: Already exists')
  const resumed = await stage.service(...create, '--resume', 'created=4712', '--partner-id', '77')
  expect(resumed).toMatchObject({ code: 0, err: '' })
  expect(await journalOf(stage)).toMatchObject({ step: 'bound', client: 4712, binding: 4712 })
  expect(created(stage)).toBe(1)
})

test('killed before the service did anything: --start-over creates it', async () => {
  await using stage = await openStage()
  const create = createIn(stage)
  stage.simulator.faults.inject({ kind: 'swallow', path: paths.create })
  await stage.struck('SIGKILL', ...create)
  expect(created(stage)).toBe(0)
  expect(await stage.service(...create, '--start-over')).toMatchObject({ code: 0, err: '' })
  expect(created(stage)).toBe(1)
})

test('killed while it binds: the same command goes on, and binds once', async () => {
  await using stage = await openStage()
  const create = createIn(stage)
  stage.simulator.faults.inject({ kind: 'stall', path: '/v2/partner/:partnerid/partner_client' })
  await stage.struck('SIGKILL', ...create)
  expect(await journalOf(stage)).toMatchObject({ step: 'binding', client: 4712 })
  expect(await stage.service(...create)).toMatchObject({ code: 0, err: '' })
  expect(await journalOf(stage)).toMatchObject({ step: 'bound' })
  expect(created(stage)).toBe(1)
  expect(stage.count(paths.create)).toBe(1)
})

test('where binding fails, the command that is printed does the rest', async () => {
  await using stage = await openStage()
  const create = createIn(stage)
  stage.simulator.faults.inject({ kind: '403', path: paths.bind })
  const failed = await stage.service(...create)
  expect(failed.code).toBe(1)
  expect(failed.err).toContain('answered 403: User not authenticated')
  const [, command] = /^ +tailrace service (clients bind .*)$/m.exec(failed.err) ?? []
  expect(command).toContain('--client 4712 --partner-id 77 --binding-id 4712')
  const bound = await stage.bare(...(command ?? '').split(' '))
  expect(bound).toMatchObject({ code: 0, err: '' })
  expect(await journalOf(stage)).toMatchObject({ step: 'bound' })
  const twice = await stage.bare(...(command ?? '').split(' '))
  expect(twice.code).toBe(1)
  expect(twice.err).toContain('service_conflict')
})

test('refused: 400, 403, 409; a lost answer leaves the outcome open', async () => {
  await using stage = await openStage()
  const create = createIn(stage)
  const { faults } = stage.simulator
  const wrongPartner = [...createIn(stage), '--partner-uuid-from', 'env:WRONG']
  const forbidden = await stage.service(...wrongPartner)
  expect(forbidden).toMatchObject({ code: 1 })
  expect(forbidden.err).toContain('answered 403: Check permissions failed')
  faults.inject({ kind: '400', path: paths.create })
  const rejected = await stage.service(...create)
  expect(rejected.code).toBe(1)
  expect(rejected.err).toContain('answered 400: Invalid JSON')
  expect(await journalOf(stage)).toMatchObject({ step: 'refused' })
  faults.inject({ kind: 'html-200', path: paths.create })
  const open = await stage.service(...create)
  expect(open.code).toBe(1)
  expect(open.err).toContain('Whether the client "Acme" was created is not known')
  expect(await journalOf(stage)).toMatchObject({ step: 'creating' })
})

test('misuse of clients create sends nothing', async () => {
  await using stage = await openStage()
  const create = createIn(stage)
  const file = await stage.write('client.yaml', { nmae: 'Acme' })
  await stage.write('acme.yaml', { clients: [1] })
  const ended = await Promise.all([
    stage.service(...create, '--vuln-prefix', 'toolong'),
    stage.service('clients', 'create', '--file', file, ...partner),
    stage.service(...create, '--write-tenant', '--tenants', stage.folder),
  ])
  expect(ended.map(({ code }) => code)).toEqual([2, 2, 2])
  expect(ended[1]?.err).toContain('did you mean name')
  expect(ended[2]?.err).toContain('for another client')
  expect(stage.simulator.stats.report().total).toBe(0)
})

test('a prefix is four characters, whatever the name and however many are taken', () => {
  expect(vulnPrefixOf('Acme Ltd')).toBe('ACME')
  expect(vulnPrefixOf('Кафе')).toBe('0000')
  const taken = new Set<string>()
  for (let n = 0; n < 500; n++) {
    const prefix = vulnPrefixOf('Acme', taken)
    expect(prefix).toMatch(/^[A-Z0-9]{4}$/)
    expect(taken.has(prefix)).toBe(false)
    taken.add(prefix)
  }
})
