import { expect, test } from 'vitest'
import { wellKnownCredentials } from '../../src/simulator/directory.ts'
import { stillWorld } from '../../src/simulator/life.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { control, createCaller } from './caller.ts'

const still = { world: stillWorld }
const newClient = {
  name: 'Acme',
  vuln_prefix: 'ACME',
  language: 'en',
  enabled: true,
  notifications: {},
  mode: 'monitoring',
  blocking_type: 'incidents',
  thirdparty_blacklists: false,
  scanner_mode: 'off',
  partner_uuid: wellKnownCredentials.partnerUuid,
  thirdparty_mode: 'async',
  scanner_state: {},
}
const newRule = {
  clientid: 4711,
  type: 'vpatch',
  action: [{ type: 'equal', value: 'api', point: ['path', 0] }],
  validated: false,
  point: [['header', 'HOST']],
  attack_type: 'any',
}

test('a stranger is refused with 403 by every operation', async () => {
  await using simulator = await startSimulator(still)
  const stranger = createCaller(simulator, { uuid: wellKnownCredentials.uuid, secret: 'wrong' })
  for (const path of ['/v1/objects/attack', '/v1/user', '/v1/objects/hint/create', '/v1/objects/client/create']) {
    const reply = await stranger.post(path, {})
    expect(reply).toMatchObject({ status: 403, text: '{"status":403,"body":"User not authenticated"}' })
  }
})

test('a client is created once, and bound once', async () => {
  await using simulator = await startSimulator(still)
  const caller = createCaller(simulator)
  const created = await caller.post('/v1/objects/client/create', newClient)
  expect(created).toMatchObject({ status: 200, body: { name: 'Acme', partnerid: 77 } })
  const { id, partnerid } = created.body as { id: number; partnerid: number }
  const again = await caller.post('/v1/objects/client/create', { ...newClient, name: 'Other' })
  expect(again).toMatchObject({ status: 409, body: 'Already exists' })

  const binding = { clientid: id, id: 5, params: {} }
  const bound = await caller.post(`/v2/partner/${partnerid}/partner_client`, binding)
  expect(JSON.parse(bound.text)).toEqual({ body: { partnerid, ...binding } })
  expect((await caller.post(`/v2/partner/${partnerid}/partner_client`, binding)).status).toBe(409)
  expect((await caller.post('/v2/partner/1/partner_client', binding)).status).toBe(403)
  expect(await caller.list('/v1/objects/attack', { clientid: [id] })).toEqual([])
})

test.for([
  ['a missing field', { vuln_prefix: undefined }, 400, { vuln_prefix: { error: 'required' } }],
  ['a prefix of five', { vuln_prefix: 'ACMES' }, 400, { vuln_prefix: { value: 'ACMES' } }],
  ['an unknown language', { language: 'fr' }, 400, { language: { value: 'fr' } }],
  ['a flag as text', { enabled: 'yes' }, 400, { enabled: { error: 'boolean expected' } }],
  ['another partner', { partner_uuid: 'x' }, 403, 'Check permissions failed'],
] as const)('client creation is refused for %s', async ([, change, status, body]) => {
  await using simulator = await startSimulator(still)
  const reply = await createCaller(simulator).post('/v1/objects/client/create', { ...newClient, ...change })
  expect(reply).toMatchObject({ status, body })
})

test('only a partner creates clients, and only with its own', async () => {
  const plain = { uuid: 'u', secret: 's' }
  await using simulator = await startSimulator({ ...still, credentials: [plain] })
  expect((await createCaller(simulator, plain).post('/v1/objects/client/create', newClient)).status).toBe(403)
})

test('renewing the secret kills the old one at once', async () => {
  await using simulator = await startSimulator(still)
  const caller = createCaller(simulator)
  const user = await caller.post('/v1/user', '')
  expect(user.body).toMatchObject({ uuid: wellKnownCredentials.uuid, client_id: 4711 })
  const { secret } = (await caller.post('/v1/user/renew_secret', '')).body as { secret: string }
  expect((await caller.post('/v1/user', {})).status).toBe(403)
  const renewed = createCaller(simulator, { uuid: wellKnownCredentials.uuid, secret })
  expect((await renewed.post('/v1/user', {})).status).toBe(200)
})

test('credentials see the clients that they are limited to', async () => {
  const limited = { uuid: 'u', secret: 's', clients: [1] }
  await using simulator = await startSimulator({ ...still, clients: [1, 2], credentials: [limited] })
  const caller = createCaller(simulator, limited)
  expect(await caller.list('/v1/objects/attack', { clientid: [1] })).toEqual([])
  expect((await caller.post('/v1/objects/attack', { filter: { clientid: [1, 2] } })).status).toBe(403)
})

test('a rule comes with defaults, a flat point and a condition, and goes with them', async () => {
  await using simulator = await startSimulator(still)
  const caller = createCaller(simulator)
  const made = await caller.post('/v1/objects/hint/create', newRule)
  expect(made.body).toMatchObject({ point: ['header', 'HOST'], active: true, comment: null, clientid: 4711 })
  const { id, actionid } = made.body as { id: number; actionid: number }
  await caller.post('/v1/objects/hint/create', newRule)
  expect(await caller.list('/v1/objects/action', { clientid: [4711] })).toMatchObject([{ id: actionid, hints: 2 }])
  expect(await caller.list('/v1/objects/hint', { clientid: [4711], actionid })).toHaveLength(2)
  expect(await caller.list('/v1/objects/hint', { clientid: [4711], '!actionid': actionid })).toHaveLength(0)

  const remove = (rule: number) => caller.post('/v1/objects/hint/delete', { filter: { clientid: [4711], id: rule } })
  expect((await remove(id)).body).toMatchObject([{ id }])
  expect(await remove(id)).toMatchObject({ status: 200, body: [] })
  const [left] = await caller.list('/v1/objects/hint', { clientid: [4711] })
  await remove(Number(left?.['id']))
  expect(await caller.list('/v1/objects/action', { clientid: [4711] })).toEqual([])
})

test.for([
  ['regex without an expression', { type: 'regex' }, 'regex'],
  ['an unknown type', { type: 'magic' }, 'type'],
  ['a flat point', { point: ['header', 'HOST'] }, 'point'],
  ['a condition without a point', { action: [{ type: 'equal', value: 'x' }] }, 'action'],
  ['no client', { clientid: undefined }, 'clientid'],
] as const)('rule creation is refused for %s', async ([, change, field]) => {
  await using simulator = await startSimulator(still)
  const reply = await createCaller(simulator).post('/v1/objects/hint/create', { ...newRule, ...change })
  expect(reply.status).toBe(400)
  expect(Object.keys(reply.body as object)).toEqual([field])
})

test('the other two documented forms of a rule are accepted', async () => {
  await using simulator = await startSimulator(still)
  const caller = createCaller(simulator)
  const application = { type: 'equal', value: '7', point: ['instance'], weight: 1 }
  const scoped = { ...newRule, action: [application, { ...newRule.action[0], weight: 1 }] }
  expect((await caller.post('/v1/objects/hint/create', scoped)).status).toBe(200)
  const regex = { ...newRule, type: 'regex', attack_type: 'scanner', regex: '(?i)^10\\.', comment: 'only ours' }
  const made = await caller.post('/v1/objects/hint/create', regex)
  expect(made.body).toMatchObject({ type: 'regex', regex: '(?i)^10\\.', comment: 'only ours' })
})

test('rules are locked while a snapshot is restored', async () => {
  await using simulator = await startSimulator(still)
  const caller = createCaller(simulator)
  await control(simulator, 'POST', 'restoring', { restoring: true })
  expect((await caller.post('/v1/objects/hint/create', newRule)).status).toBe(423)
  await control(simulator, 'POST', 'restoring', { restoring: false })
  expect((await caller.post('/v1/objects/hint/create', newRule)).status).toBe(200)
})

test.for([
  ['broken JSON', '{', {}, 400],
  ['an array', '[]', {}, 400],
  ['another content type', '{}', { 'content-type': 'text/plain' }, 400],
] as const)('%s is refused in the words of the service', async ([, body, headers, status]) => {
  await using simulator = await startSimulator(still)
  const reply = await createCaller(simulator).post('/v1/objects/attack', body, headers)
  expect(reply.status).toBe(status)
  expect(JSON.parse(reply.text)).toMatchObject({ status, body: { error: expect.any(String) } })
})

test('what is no operation is not found', async () => {
  await using simulator = await startSimulator(still)
  expect(await createCaller(simulator).post('/v1/objects/nothing', {})).toMatchObject({
    status: 404,
    body: 'Not found',
  })
})

test('the date is that of the service, whose clock may be wrong', async () => {
  await using simulator = await startSimulator({ ...still, clockSkewSeconds: 3600 })
  const reply = await createCaller(simulator).post('/v1/user', {})
  const ahead = Date.parse(String(reply.headers['date'])) - Date.now()
  expect(ahead).toBeGreaterThan(3_590_000)
  expect(ahead).toBeLessThan(3_610_000)
})

test('large answers are compressed when asked for, and are the same', async () => {
  await using simulator = await startSimulator({ world: { ...stillWorld, history: { attacks: 50, spanSeconds: 60 } } })
  const caller = createCaller(simulator)
  const query = { filter: { clientid: [4711] }, order_by: 'last_time', order_desc: true }
  const plain = await caller.post('/v1/objects/attack', query)
  // fetch asks for gzip, and unpacks.
  const answer = await fetch(`${simulator.url}/v1/objects/attack`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-serviceapi-uuid': wellKnownCredentials.uuid,
      'x-serviceapi-secret': wellKnownCredentials.secret,
    },
    body: JSON.stringify(query),
  })
  expect(answer.headers.get('content-encoding')).toBe('gzip')
  expect(await answer.text()).toBe(plain.text)
})
