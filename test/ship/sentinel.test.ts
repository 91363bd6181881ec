// The contract against the Logs Ingestion API as documented, with tokens from a real server; and rows that fit.

import { Buffer } from 'node:buffer'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SecurityEvent } from '../../src/event.ts'
import { json } from '../../src/ship/formats/json.ts'
import { sentinelColumns, sentinelRow, sentinelRowBytesMax } from '../../src/ship/wire/sentinel-row.ts'
import type { Sink } from '../../src/ship/sink.ts'
import { sentinel } from '../../src/ship/sinks/sentinel.ts'
import { attack } from './events.ts'
import { hostileEvent } from './hostile.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import type { ApiAnswer } from './receivers/cloud-api.ts'
import { startSentinel, type Row } from './receivers/sentinel.ts'
import { application, startTokenServer, type TokenServer } from './receivers/token-server.ts'
import { testSinkContract } from './sink-contract.ts'

let identity: TokenServer

beforeAll(async () => {
  identity = await startTokenServer()
})
afterAll(() => identity[Symbol.asyncDispose]())

const rule = 'dcr-00a00a000a00000a000000aa000a0aa0'
const stream = 'Custom-Tailrace_CL'
const encode = json.compile({})
const row = (event: SecurityEvent) => sentinelRow(event, encode(event), true)
const rows = (count: number) =>
  Array.from({ length: count }, (_, sequence) => Buffer.from(row(attack({ sequence, id: `event-${sequence}` }))))

function optionsFor(endpoint: string, more: object = {}): object {
  return { ...application, endpoint, rule, loginUrl: identity.origin, ...more }
}

/** A receiver that trusts a token server. `revoked`: tokens that were good once. */
async function startBench(server = identity) {
  const revoked = new Set<string>()
  const tokens = () => server.good().filter((token) => !revoked.has(token))
  const receiver = await startSentinel({ rule, stream, columns: sentinelColumns, tokens })
  const open = (more: object = {}): Sink =>
    openSink(sentinel, optionsFor(receiver.api.origin, { loginUrl: server.origin, ...more }))
  return { ...receiver, revoked, open }
}

for (const gzip of [false, true]) {
  testSinkContract(gzip ? 'sentinel, compressed' : 'sentinel', async () => {
    const bench = await startBench()
    const { api } = bench
    const says = (answer: ApiAnswer | undefined) => () => void (api.says = answer)
    return {
      openSink: () => bench.open({ gzip }),
      wrap: (text: string) =>
        JSON.stringify({
          TimeGenerated: '2026-03-30T17:45:01.000Z',
          Identity: text.slice(0, 60_000),
          Domain: text.slice(60_000),
        }),
      async received() {
        return bench.rows.map((found) => `${String(found['Identity'])}${String(found['Domain'])}`)
      },
      stop: () => api.stop(),
      start: () => api.start(),
      unreachable: 'sink_unreachable',
      breakMidway: () => api.breakMidway(),
      stall: () => api.stall(),
      connections: () => api.waiting(),
      says: {
        throttled: says({ status: 429, headers: { 'retry-after': '7' } }),
        unavailable: says({ status: 503 }),
        credentials: says({ status: 403, body: { error: { code: 'OperationFailed' } } }),
        refused: says({ status: 413, body: { error: { code: 'ContentLengthLimitExceeded' } } }),
        recovers: says(undefined),
      },
      [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
    }
  })
}

test('throttled: it says for how long', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  bench.api.says = { status: 429, headers: { 'retry-after': '7' } }
  await expect(sink.send(rows(2), batch, patient)).rejects.toMatchObject({ code: 'sink_throttled', waitMs: 7000 })
})

test.for([
  [200, 2, 'sink_misconfigured'],
  [400, 2, 'sink_refused_batch'],
  [400, 1, 'sink_refused_event'],
  [403, 2, 'sink_credentials'],
  [404, 1, 'sink_misconfigured'],
  [413, 2, 'sink_refused_batch'],
  [415, 1, 'sink_misconfigured'],
  [500, 1, 'sink_unavailable'],
] as const)('status %d to %d rows', async ([status, count, code]) => {
  await using bench = await startBench()
  await using sink = bench.open()
  bench.api.says = { status, body: { error: { message: 'because' } } }
  const words = expect.stringMatching(/because.*x-ms-client-request-id [0-9a-f]{8}-/)
  await expect(sink.send(rows(count), batch, patient)).rejects.toMatchObject({ code, status, message: words })
})

test('the request id is a GUID, the same at each attempt, and another for another send', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  for (const sendId of ['a', 'a', 'b']) await sink.send(rows(1), { ...batch, sendId }, patient)
  const [first, second, third] = bench.api.requests.map(({ headers }) => headers['x-ms-client-request-id'])
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  expect([second === first, third === first]).toEqual([true, false])
})

test('parallel sends share one token', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  const before = identity.issued.length
  await Promise.all(Array.from({ length: 10 }, () => sink.send(rows(3), batch, patient)))
  expect(identity.issued.length - before).toBe(1)
  expect(bench.rows.length).toBe(30)
})

test('a short-lived token is replaced before it ends', async () => {
  await using server = await startTokenServer()
  server.life = 2
  await using bench = await startBench(server)
  await using sink = bench.open()
  const sendOne = async () => {
    await sink.send(rows(1), batch, patient)
    return server.issued.length
  }
  await expect.poll(sendOne, { timeout: 10_000 }).toBe(3)
  expect(bench.api.requests.length).toBe(bench.rows.length) // none was answered with 401
})

test('a token that is refused is replaced once; the send goes through', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  await sink.send(rows(1), batch, patient)
  for (const token of identity.issued) bench.revoked.add(token)
  await sink.send(rows(2), batch, patient)
  expect([bench.rows.length, bench.api.requests.length]).toEqual([3, 3])
})

test('tokens that are all refused are a matter of credentials, after two tries; none is in the message', async () => {
  const before = identity.issued.length
  await using receiver = await startSentinel({ rule, stream, columns: sentinelColumns, tokens: () => [] })
  await using sink = openSink(sentinel, optionsFor(receiver.api.origin))
  const error = await sink.send(rows(1), batch, patient).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'sink_credentials', status: 401, inDoubt: false })
  expect(String(error)).toContain('Not valid: [secret]')
  const used = identity.issued.slice(before)
  expect([used.length, receiver.api.requests.length]).toEqual([2, 2])
  for (const token of used) expect(inspect(error, { depth: 12, showHidden: true })).not.toContain(token)
})

test.for([{ clientSecret: 'wrong-secret-of-ours' }, { clientId: 'nobody' }])(
  'where no token is given for %j, a person must act, and the secret is not shown',
  async (wrong) => {
    await using bench = await startBench()
    await using sink = bench.open(wrong)
    for (const attempt of [sink.send(rows(1), batch, patient), sink.look(patient)]) {
      const error = await attempt.catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'sink_credentials', remedy: 'halt', inDoubt: false })
      const all = inspect([error, sink], { depth: 12, showHidden: true })
      expect(all).not.toMatch(/wrong-secret-of-ours|Q~secret/)
    }
    expect(bench.api.requests).toEqual([])
  },
)

test('who gives tokens is away: nothing is in doubt, and a token that is good still serves', async () => {
  await using server = await startTokenServer()
  await using bench = await startBench(server)
  await using ready = bench.open()
  await ready.send(rows(1), batch, patient)
  await server.stop()
  await ready.send(rows(1), batch, patient)
  await using sink = bench.open()
  const gone = { code: 'sink_unreachable', inDoubt: false, message: expect.stringContaining(server.origin) }
  await expect(sink.send(rows(1), batch, patient)).rejects.toMatchObject(gone)
  expect(bench.rows.length).toBe(2)
})

test('a look says who answered; it fails as a send would', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  const { findings } = await sink.look(patient)
  expect(findings.join('\n')).toMatch(/a token was issued.*status 204.*not encrypted\nhttp.*not encrypted/)
  bench.api.says = { status: 403 }
  const message = expect.stringContaining('Monitoring Metrics Publisher')
  await expect(sink.look(patient)).rejects.toMatchObject({ code: 'sink_credentials', message })
  await using elsewhere = bench.open({ rule: 'dcr-other' })
  bench.api.says = { status: 503 }
  await expect(sink.look(patient)).rejects.toMatchObject({ code: 'sink_unavailable' })
  bench.api.says = undefined
  await expect(elsewhere.look(patient)).rejects.toMatchObject({ code: 'sink_misconfigured' })
})

test('a call at the limits is taken: its brackets and commas count too', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  const limits = sentinel.limits(optionsOf(sentinel, {}))
  const size = Math.floor(limits.bytes / limits.events)
  const base = row(attack({ identity: '' }))
  const full = Array.from({ length: limits.events }, () => {
    const identity = 'x'.repeat(Math.max(0, size - Buffer.byteLength(base) - '"Identity":"",'.length))
    return Buffer.from(identity === '' ? base : base.replace('{', `{"Identity":"${identity}",`))
  })
  let bytes = 0
  const fitting = full.filter((record) => (bytes += record.length) <= limits.bytes)
  expect(limits.bytes - fitting.reduce((sum, record) => sum + record.length, 0)).toBeLessThan(3000)
  expect(await sink.send(fitting, batch, patient)).toEqual([])
  expect(limits.bytes + limits.events + 1).toBeLessThanOrEqual(1_000_000)
})

test('a row has its columns, and the whole event', () => {
  const event = attack({ labels: { team: 'soc' } })
  expect(JSON.parse(row(event))).toEqual({
    TimeGenerated: '2026-03-30T17:45:01.000Z',
    EventTime: '2026-03-30T17:44:59.007Z',
    ObservedTime: '2026-03-30T17:45:01.000Z',
    EventUid: 'q83vEjRWeJCrze8SNFZ4kA',
    Revision: 2,
    Sequence: 41,
    Action: 'updated',
    Kind: 'attack',
    Severity: 7,
    SeverityLevel: 'high',
    Tenant: 'acme',
    Client: 4711,
    Stream: 'attacks',
    Identity: 'AM5CP50BU',
    Replayed: false,
    Labels: { team: 'soc' },
    EventType: 'sqli',
    Domain: 'shop.example.com',
    Path: '/search',
    Method: 'GET',
    Parameter: 'q',
    Target: 'server',
    Threat: 75,
    BlockStatus: 'blocked',
    Hits: 17,
    SourceIp: '192.0.2.1',
    SourceCountry: 'DE',
    SourceCount: 1,
    Sources: [{ ip: '192.0.2.1', country: 'DE', count: 17 }],
    StatusCodes: [403],
    FirstTime: '2026-03-30T17:40:00.000Z',
    LastTime: '2026-03-30T17:44:59.000Z',
    Application: 1,
    Event: JSON.parse(encode(event)),
  })
})

test('a format that is no JSON is text in the column', () => {
  const found = JSON.parse(sentinelRow(attack(), 'CEF:0|a "quoted" thing', false)) as Row
  expect(found['Event']).toBe('CEF:0|a "quoted" thing')
})

test('what is too long is cut, and said to be; no character is torn', () => {
  const record = { payload: '😀'.repeat(20_000) }
  const { body } = attack()
  const event = attack({ record, recordJson: JSON.stringify(record), body: { ...body, path: `/${'ж'.repeat(5000)}` } })
  const found = JSON.parse(row(event)) as Row
  expect(found['CutColumns']).toBe('Path Event')
  expect(Buffer.byteLength(String(found['Event']))).toBeGreaterThan(63_990)
  expect(encode(event).startsWith(String(found['Event']))).toBe(true)
  expect(String(found['Event']).isWellFormed()).toBe(true)
  expect(Buffer.byteLength(String(found['Path']))).toBe(4095)
  expect(found).toMatchObject({ Identity: 'AM5CP50BU', Domain: 'shop.example.com', Sequence: 41 })
})

test('names of columns are what Azure allows', () => {
  const reserved = ['_ResourceId', 'id', '_SubscriptionId', 'TenantId', 'Type', 'UniqueId', 'Title']
  const names = sentinelColumns.map(({ name }) => name)
  expect(names.filter((name) => !/^[A-Za-z][A-Za-z0-9_]{0,44}$/.test(name) || reserved.includes(name))).toEqual([])
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
})

test('whatever is in an event, its row fits, and the receiver takes it', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  for (const event of fc.sample(hostileEvent, { numRuns: 200, seed: 7 })) {
    await sink.send([Buffer.from(row(event))], batch, patient)
  }
  expect([bench.rows.length, bench.cut]).toEqual([200, []])
})

test('no row is too long for a call, however long and odd its event', () => {
  const long = fc.constantFrom('\u0001', '"', 'ж', '😀', '\ud800').map((character) => character.repeat(200_000))
  const property = fc.property(hostileEvent, long, (event, text) => {
    const everything = Object.entries(event.body).map(([name, value]) => [name, Array.isArray(value) ? value : text])
    const sources = Array.from({ length: 500 }, () => ({
      ip: text.slice(0, 500),
      country: text.slice(0, 500),
      count: 1,
    }))
    const body = { ...attack().body, ...Object.fromEntries(everything), type: text, title: text, reason: text, sources }
    const odd = { ...event, body, identity: text, tenant: text, id: text, labels: { [text]: text } } as SecurityEvent
    const found = sentinelRow(odd, text, false)
    expect(Buffer.byteLength(found)).toBeLessThan(sentinelRowBytesMax)
    expect(JSON.parse(found)).toMatchObject({ CutColumns: expect.stringContaining('Event') })
  })
  fc.assert(property, { numRuns: 15 })
})

test.for([
  { endpoint: '' },
  { endpoint: 'ftp://host/' },
  { endpoint: 'https://user:password@host/' },
  { rule: '' },
  { stream: '' },
  { tenantId: '' },
  { clientId: '' },
  { clientSecret: '' },
  { loginUrl: 'login.microsoftonline.com' },
])('the options %j are refused', (wrong) => {
  const options = optionsFor('https://a.ingest.monitor.azure.com', wrong)
  expect(() => openSink(sentinel, options)).toThrow(expect.objectContaining({ code: 'sink_misconfigured' }))
})
