// The contract over HTTP and HTTPS, what every status means, the bodies, and signatures that a foreign verifier takes.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Buffer } from 'node:buffer'
import { inspect } from 'node:util'
import { HTTP, type CloudEvent } from 'cloudevents'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import type { Action, Kind, SecurityEvent } from '../../src/event.ts'
import { encodingOf } from '../../src/ship/encoding.ts'
import { json } from '../../src/ship/formats/json.ts'
import { cloudEvent } from '../../src/ship/wire/cloud-events.ts'
import { webhook } from '../../src/ship/sinks/webhook.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { attack } from './events.ts'
import { benchOf, startHttpServer } from './http-server.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { testSinkContract } from './sink-contract.ts'

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())

for (const scheme of ['http', 'https'] as const) {
  testSinkContract(`webhook over ${scheme}`, async () => {
    const server = await startHttpServer(scheme === 'https' ? files.server : undefined)
    return benchOf(server, {
      openSink: () => openSink(webhook, { url: `${server.origin}/in`, tls: { ca: files.ca } }),
      async received() {
        return server.taken.flatMap((body) => body.toString().split('\n').slice(0, -1))
      },
    })
  })
}

const two = [Buffer.from('{"a":1}'), Buffer.from('{"b":"ж"}')]

test.for([
  [200, 2, undefined],
  [299, 2, undefined],
  [301, 2, 'sink_misconfigured'],
  [307, 2, 'sink_misconfigured'],
  [308, 1, 'sink_misconfigured'],
  [400, 2, 'sink_refused_batch'],
  [400, 1, 'sink_refused_event'],
  [401, 2, 'sink_credentials'],
  [403, 1, 'sink_credentials'],
  [404, 1, 'sink_misconfigured'],
  [405, 2, 'sink_misconfigured'],
  [408, 2, 'sink_unavailable'],
  [409, 2, 'sink_unavailable'],
  [410, 2, 'sink_misconfigured'],
  [413, 2, 'sink_refused_batch'],
  [413, 1, 'sink_refused_event'],
  [422, 2, 'sink_refused_batch'],
  [429, 2, 'sink_throttled'],
  [500, 1, 'sink_unavailable'],
  [501, 1, 'sink_misconfigured'],
  [503, 2, 'sink_unavailable'],
  [504, 2, 'sink_unavailable'],
] as const)('status %d to %d events', async ([status, events, code]) => {
  await using server = await startHttpServer()
  server.replies.usual = (response) => response.writeHead(status, { location: '/elsewhere' }).end('because')
  await using sink = openSink(webhook, { url: server.origin })
  const error = await sink.send(two.slice(0, events), batch, patient).catch((thrown: unknown) => thrown)
  expect(error instanceof TailraceError ? [error.code, error.status] : error).toEqual(code ? [code, status] : [])
  expect(server.requests.length).toBe(1)
})

test.for([429, 503])('%d says how long to wait', async (status) => {
  await using server = await startHttpServer()
  server.replies.usual = (response) => response.writeHead(status, { 'retry-after': '7' }).end()
  await using sink = openSink(webhook, { url: server.origin })
  const error = { code: 'sink_throttled', remedy: 'wait', waitMs: 7000 }
  await expect(sink.send(two, batch, patient)).rejects.toMatchObject(error)
})

test('the request says what it is', async () => {
  await using server = await startHttpServer()
  const url = `${server.origin}/in?key=url-secret`
  await using sink = openSink(webhook, { url, token: 'the-token', headers: { 'X-Team': 'soc' } })
  await sink.send(two, { ...batch, sendId: 'b-77' }, patient)
  expect(server.requests[0]).toMatchObject({ method: 'POST', url: '/in?key=url-secret' })
  expect(server.requests[0]?.headers).toMatchObject({
    authorization: 'Bearer the-token',
    'content-type': 'application/x-ndjson',
    'idempotency-key': 'b-77',
    'user-agent': 'tailrace',
    'x-team': 'soc',
  })
  expect(Object.keys(server.requests[0]?.headers ?? {}).filter((name) => name.startsWith('webhook-'))).toEqual([])
})

test('a content type of the configuration is sent instead of the usual one', async () => {
  await using server = await startHttpServer()
  await using sink = openSink(webhook, { url: server.origin, headers: { 'Content-Type': 'text/plain' } })
  await sink.send(two, batch, patient)
  expect(server.requests[0]?.headers['content-type']).toBe('text/plain')
})

test('a JSON array, compressed', async () => {
  await using server = await startHttpServer()
  await using sink = openSink(webhook, { url: server.origin, body: 'json-array', gzip: true })
  await sink.send(two, batch, patient)
  await sink.send(two.slice(0, 1), batch, patient)
  expect(server.requests[0]?.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': 'application/json' })
  const arrays = server.taken.map((body) => JSON.parse(body.toString()) as unknown)
  expect(arrays).toEqual([[{ a: 1 }, { b: 'ж' }], [{ a: 1 }]])
  const plain = { ...batch, contentType: 'text/plain' }
  await expect(sink.send(two, plain, patient)).rejects.toMatchObject({ code: 'sink_misconfigured' })
})

test('bodies that are JSON carry formats that are JSON, json first; lines carry any', () => {
  const carried = (body: string) => webhook.formats?.(optionsOf(webhook, { body }))
  expect(carried('ndjson')).toBeUndefined()
  expect(carried('cloudevents')?.[0]).toBe('json')
  expect(carried('json-array')).toEqual(carried('cloudevents'))
  for (const name of ['cef', 'leef']) expect(carried('json-array')).not.toContain(name)
})

const encoding = (body: string) => {
  const parts = { format: json, formatOptions: {}, streams: ['attacks'] as const, labels: {} }
  return encodingOf({ sink: webhook, options: optionsOf(webhook, { body }), ...parts })
}

test('CloudEvents: a foreign parser gets every event of a batch, valid', async () => {
  await using server = await startHttpServer()
  await using sink = openSink(webhook, { url: server.origin, body: 'cloudevents' })
  const events = [attack(), attack({ id: 'another', action: 'created', identity: 'Ж\u0007"\ud800' })]
  const records = events.map((event) => Buffer.from(encoding('cloudevents').encode(event) ?? ''))
  await sink.send(records, batch, patient)
  const headers = server.requests[0]?.headers ?? {}
  expect(headers['content-type']).toBe('application/cloudevents-batch+json; charset=utf-8')
  const parsed = HTTP.toEvent({ headers, body: server.taken[0]?.toString() }) as CloudEvent[]
  expect(parsed.map((event) => event.validate())).toEqual([true, true])
  expect(parsed[0]).toMatchObject({
    specversion: '1.0',
    id: attack().id,
    source: '/tailrace/acme/attacks',
    type: 'tailrace.attack.updated',
    subject: 'AM5CP50BU',
    time: '2026-03-30T17:44:59.007Z',
    datacontenttype: 'application/json',
    data: JSON.parse(json.compile({})(attack())),
  })
  expect(parsed[1]).toMatchObject({ type: 'tailrace.attack.created', subject: 'Ж\ufffd"\ufffd' })
})

test('CloudEvents: any event is a valid one, in one line', () => {
  const anything = fc.record({
    id: fc.string({ minLength: 1 }),
    tenant: fc.string({ unit: 'binary', minLength: 1 }),
    identity: fc.string({ unit: 'binary' }),
    time: fc.double(),
    kind: fc.constantFrom<Kind>('attack', 'gap', 'heartbeat'),
    action: fc.constantFrom<Action>('created', 'gap', 'heartbeat'),
  })
  const check = (replaced: Partial<SecurityEvent>) => {
    const text = cloudEvent(attack(replaced), '{"some":"thing"}')
    expect(text.includes('\n')).toBe(false)
    const headers = { 'content-type': 'application/cloudevents+json' }
    const parsed = HTTP.toEvent({ headers, body: text }) as CloudEvent
    expect(parsed.validate()).toBe(true)
    expect(parsed.data).toEqual({ some: 'thing' })
    expect(parsed.subject ?? '').not.toMatch(/[\p{Cc}\p{Cs}]/u)
  }
  fc.assert(fc.property(anything, check))
})

test('destinations share bytes unless one wants CloudEvents', () => {
  expect(encoding('ndjson').key).toBe(encoding('json-array').key)
  expect(encoding('ndjson').key).not.toBe(encoding('cloudevents').key)
  expect(encoding('ndjson').encode(attack())).toBe(json.compile({})(attack()))
})

const keyOf = (seed: number, length = 32) => `whsec_${Buffer.alloc(length, seed).toString('base64')}`

test('a foreign verifier takes the signature of every key, and of no other', async () => {
  await using server = await startHttpServer()
  const signingKeys = [keyOf(1, 24), keyOf(2, 64)]
  await using sink = openSink(webhook, { url: server.origin, body: 'json-array', signingKeys })
  await sink.send(two, { ...batch, sendId: 'b_1-2' }, patient)
  const headers = server.requests[0]?.headers as Record<string, string>
  const body = server.taken[0]?.toString() ?? ''
  expect(headers).toMatchObject({ 'webhook-id': 'b_1-2', 'idempotency-key': 'b_1-2' })
  for (const key of signingKeys) expect(new Webhook(key).verify(body, headers)).toEqual([{ a: 1 }, { b: 'ж' }])
  expect(() => new Webhook(keyOf(3)).verify(body, headers)).toThrow('signature')
  expect(() => new Webhook(keyOf(1, 24)).verify(`${body} `, headers)).toThrow('signature')
})

test('what is sent again has the same webhook-id, and is verified', async () => {
  await using server = await startHttpServer()
  await using sink = openSink(webhook, { url: server.origin, signingKeys: [keyOf(7)] })
  server.replies.usual = (response) => response.writeHead(500).end()
  await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ remedy: 'retry' })
  server.replies.usual = (response) => response.writeHead(204).end()
  await sink.send(two, batch, patient)
  expect(server.requests.map(({ headers }) => headers['webhook-id'])).toEqual([batch.sendId, batch.sendId])
  const headers = server.requests[1]?.headers as Record<string, string>
  const body = server.taken[0] ?? Buffer.alloc(0)
  expect(() => new Webhook(keyOf(7)).verify(body, headers, { jsonParse: false })).not.toThrow()
})

test('a look says what was found, and that a token is refused', async () => {
  await using server = await startHttpServer(files.server)
  await using sink = openSink(webhook, { url: server.origin, tls: { ca: files.ca } })
  const { findings } = await sink.look(patient)
  expect(findings.join('\n')).toMatch(/TLSv1\.3, certificate of CN=localhost, issued by CN=Test authority, valid until/)
  expect(findings.join('\n')).toMatch(/it answers \(OPTIONS: 204\)/)
  for (const [status, code] of [
    [401, 'sink_credentials'],
    [503, 'sink_unavailable'],
  ] as const) {
    server.replies.usual = (response) => response.writeHead(status).end()
    await expect(sink.look(patient)).rejects.toMatchObject({ code })
  }
  // Many receivers know POST alone.
  server.replies.usual = (response) => response.writeHead(405).end()
  expect((await sink.look(patient)).findings.join('\n')).toContain('OPTIONS: 405')
})

test('secrets are in no error, even when the receiver repeats them', async () => {
  await using server = await startHttpServer()
  server.replies.usual = (response, { headers, url }) => response.writeHead(400).end(JSON.stringify({ headers, url }))
  const key = keyOf(5)
  const secrets = { token: 'token-secret', headers: { 'x-key': 'header-secret' }, signingKeys: [key] }
  await using sink = openSink(webhook, { url: `${server.origin}/in/path-secret?key=url-secret`, ...secrets })
  const error = await sink.send(two, batch, patient).catch((thrown: unknown) => thrown)
  await server.stop()
  const gone = await sink.send(two, batch, patient).catch((thrown: unknown) => thrown)
  for (const thrown of [error, gone, sink]) {
    const all = inspect(thrown, { depth: 12, showHidden: true })
    expect(all).not.toMatch(/(token|header|url|path)-secret/)
    expect(all).not.toContain(key.slice(6))
  }
})

test.for(['elsewhere', 'expired', 'stranger'] as const)('HTTPS: the certificate %s is refused', async (name) => {
  await using server = await startHttpServer(files[name])
  await using sink = openSink(webhook, { url: server.origin, tls: { ca: files.ca } })
  const refused = { code: 'sink_certificate', remedy: 'halt', inDoubt: false }
  await expect(sink.send(two, batch, patient)).rejects.toMatchObject(refused)
  expect(server.requests).toEqual([])
})

test('HTTPS: another host name, or a fingerprint, may be expected', async () => {
  await using server = await startHttpServer(files.elsewhere)
  await using named = openSink(webhook, { url: server.origin, tls: { ca: files.ca, servername: 'elsewhere.example' } })
  await named.send(two, batch, patient)
  const { fingerprint256 } = new X509Certificate(readFileSync(files.elsewhere.cert))
  await using pinned = openSink(webhook, { url: server.origin, tls: { fingerprint: fingerprint256 } })
  await pinned.send(two, batch, patient)
  expect(server.taken.length).toBe(2)
  await using wrong = openSink(webhook, { url: server.origin, tls: { fingerprint: 'AB'.repeat(32) } })
  await expect(wrong.send(two, batch, patient)).rejects.toMatchObject({ code: 'sink_certificate', inDoubt: false })
})

test.for([
  { url: '' },
  { url: 'ftp://host/' },
  { url: 'http://user:password@host/' },
  { url: 'http://host/', headers: { 'bad name': 'x' } },
  { url: 'http://host/', headers: { name: 'a\r\nb: c' } },
  { url: 'http://host/', headers: { name: 5 } },
  { url: 'http://host/', headers: { Name: 'a', name: 'b' } },
  { url: 'http://host/', headers: { 'Transfer-Encoding': 'chunked' } },
  { url: 'http://host/', headers: { Host: 'elsewhere' } },
  { url: 'http://host/', token: 'a', headers: { Authorization: 'Basic b' } },
  { url: 'http://host/', token: 'a\nb' },
  { url: 'http://host/', proxy: 'socks5://proxy:1080' },
  { url: 'http://host/', signingKeys: [keyOf(1)], gzip: true },
  { url: 'http://host/', signingKeys: ['whsec_'] },
  { url: 'http://host/', signingKeys: [keyOf(1, 23)] },
  { url: 'http://host/', signingKeys: [keyOf(1, 65)] },
  { url: 'http://host/', signingKeys: [keyOf(1).slice(6)] },
  { url: 'http://host/', signingKeys: [`${keyOf(1).slice(0, 20)}-${keyOf(1).slice(20)}`] },
  { url: 'http://host/', signingKeys: [5] },
])('the options %j are refused', (options) => {
  const refused = { code: 'sink_misconfigured', message: expect.not.stringMatching(/user:password|AQEB/) as unknown }
  expect(() => openSink(webhook, options)).toThrow(expect.objectContaining(refused))
})
