// The contract against the Chronicle API as documented: raw logs and UDM events, with tokens for signed assertions.

import { Buffer } from 'node:buffer'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SecurityEvent } from '../../src/event.ts'
import { json } from '../../src/ship/formats/json.ts'
import { udm as udmFormat } from '../../src/ship/formats/udm.ts'
import type { Sink } from '../../src/ship/sink.ts'
import { googleSecOps } from '../../src/ship/sinks/google-secops.ts'
import { attack } from './events.ts'
import { hostileEvent } from './hostile.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import type { ApiAnswer } from './receivers/cloud-api.ts'
import { instance, startSecOps } from './receivers/secops.ts'
import { testSinkContract } from './sink-contract.ts'

const raw = { import: 'raw', logType: 'TAILRACE_CUSTOM' }
const udm = { import: 'udm' }
const encode = json.compile({})

async function startBench() {
  const receiver = await startSecOps()
  const options = { ...instance, endpoint: receiver.api.origin, serviceAccount: receiver.key, ...raw }
  const open = (more: object = {}): Sink => openSink(googleSecOps, { ...options, ...more })
  return Object.assign(receiver, { open })
}

function framed(options: object, event: SecurityEvent, encoded: string): Buffer {
  const frame = googleSecOps.frame?.(optionsOf(googleSecOps, options), json)
  return Buffer.from(frame?.(event, encoded) ?? '')
}

const logs = (count: number) =>
  Array.from({ length: count }, (_, sequence) => framed(raw, attack(), encode(attack({ sequence }))))

for (const mode of [raw, udm]) {
  testSinkContract(`google-secops, ${mode.import}`, async () => {
    const bench = await startBench()
    const { api } = bench
    const says = (answer: ApiAnswer | undefined) => () => void (api.says = answer)
    const wrapUdm = (text: string) => JSON.stringify({ udm: { metadata: { description: text } } })
    return {
      openSink: () => bench.open(mode),
      wrap: (text: string) => (mode === raw ? framed(raw, attack(), text).toString() : wrapUdm(text)),
      async received() {
        const found = bench.events as { readonly metadata: { readonly description: string } }[]
        return mode === raw ? bench.logs : found.map(({ metadata }) => metadata.description)
      },
      stop: () => api.stop(),
      start: () => api.start(),
      unreachable: 'sink_unreachable',
      breakMidway: () => api.breakMidway(),
      stall: () => api.stall(),
      connections: () => api.waiting(),
      says: {
        throttled: says({ status: 429, headers: { 'retry-after': '7' }, body: { error: { code: 429 } } }),
        unavailable: says({ status: 503, body: { error: { status: 'UNAVAILABLE' } } }),
        credentials: says({ status: 403, body: { error: { status: 'PERMISSION_DENIED' } } }),
        refused: says({ status: 400, body: { error: { status: 'INVALID_ARGUMENT' } } }),
        recovers: says(undefined),
      },
      [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
    }
  })
}

test('a log has its times, namespace and labels; the batch has its forwarder', async () => {
  await using bench = await startBench()
  const options = { ...raw, namespace: 'waf', forwarder: 'f-1' }
  await using sink = bench.open(options)
  const event = attack({ labels: { team: 'soc' } })
  await sink.send([framed(options, event, encode(event))], batch, patient)
  const parent = `projects/${instance.project}/locations/eu/instances/${instance.instance}`
  expect(bench.bodies).toEqual([
    {
      logs: [
        {
          data: Buffer.from(encode(event)).toString('base64'),
          logEntryTime: '2026-03-30T17:44:59.007Z',
          collectionTime: '2026-03-30T17:45:01.000Z',
          environmentNamespace: 'waf',
          labels: { team: { value: 'soc' }, tenant: { value: 'acme' }, stream: { value: 'attacks' } },
        },
      ],
      forwarder: `${parent}/forwarders/f-1`,
    },
  ])
})

test.for([
  ['in the future', Date.UTC(2099, 0)],
  ['just when it was read', attack().observedTime],
  ['no time', Number.NaN],
  ['before 1970', -1],
] as const)('an event whose time is %s is dated to before it was read', ([, time]) => {
  const log = JSON.parse(framed(raw, attack({ time }), '').toString()) as Record<string, string>
  expect(log['logEntryTime']).toBe('2026-03-30T17:45:00.999Z')
  expect(log['collectionTime']).toBe('2026-03-30T17:45:01.000Z')
})

test('whatever is in an event, its log is taken', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  const events = fc.sample(hostileEvent, { numRuns: 200, seed: 7 })
  for (const event of events) await sink.send([framed(raw, event, encode(event))], batch, patient)
  expect(bench.logs).toEqual(events.map(encode))
})

test('a UDM event is put where it belongs, as it is', () => {
  expect(framed(udm, attack(), '{"metadata":{}}').toString()).toBe('{"udm":{"metadata":{}}}')
})

test('what the format udm makes of an event is taken, whatever is in it', async () => {
  await using bench = await startBench()
  await using sink = bench.open(udm)
  const make = udmFormat.compile({ original: true, originalLimit: 65_536 })
  const events = fc.sample(hostileEvent, { numRuns: 100, seed: 7 })
  for (const event of events) await sink.send([framed(udm, event, make(event))], batch, patient)
  expect(bench.events).toEqual(events.map((event) => JSON.parse(make(event))))
})

test('formats: udm for UDM events, any for raw logs', () => {
  const of = (options: object) => googleSecOps.formats?.(optionsOf(googleSecOps, options))
  expect(of(udm)).toEqual(['udm'])
  expect(of(raw)).toBeUndefined()
})

test('one event that is wrong refuses all; alone it is refused for good', async () => {
  await using bench = await startBench()
  await using sink = bench.open(udm)
  const good = Buffer.from('{"udm":{"metadata":{}}}')
  const bad = Buffer.from('{"udm":{}}')
  const refused = { code: 'sink_refused_batch', message: expect.stringContaining('udm has no metadata') }
  await expect(sink.send([good, bad], batch, patient)).rejects.toMatchObject(refused)
  expect(bench.events).toEqual([])
  await expect(sink.send([bad], batch, patient)).rejects.toMatchObject({ code: 'sink_refused_event' })
})

test.for([
  [204, 2, 'sink_misconfigured'],
  [400, 1, 'sink_refused_event'],
  [404, 2, 'sink_misconfigured'],
  [413, 2, 'sink_refused_batch'],
  [429, 1, 'sink_throttled'],
  [500, 1, 'sink_unavailable'],
] as const)('status %d to %d logs', async ([status, count, code]) => {
  await using bench = await startBench()
  await using sink = bench.open()
  bench.api.says = { status, headers: { 'retry-after': '7' } }
  const waitMs = status === 429 ? 7000 : undefined
  await expect(sink.send(logs(count), batch, patient)).rejects.toMatchObject({ code, status, waitMs })
})

test('a call at the limits is taken', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  const { events, bytes } = googleSecOps.limits(optionsOf(googleSecOps, {}))
  const small = logs(1)[0]?.length ?? 0
  const size = Math.floor((Math.floor(bytes / events) - small) * 0.75)
  const full = Array.from({ length: events }, () => framed(raw, attack(), `${encode(attack())}${'x'.repeat(size - 2)}`))
  const sum = full.reduce((total, log) => total + log.length, 0)
  expect(sum).toBeLessThanOrEqual(bytes)
  expect(bytes - sum).toBeLessThan(20_000)
  expect(await sink.send(full, batch, patient)).toEqual([])
})

test('parallel sends share one token; a refused one is replaced once', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  await Promise.all(Array.from({ length: 10 }, () => sink.send(logs(3), batch, patient)))
  expect([bench.tokens.length, bench.logs.length]).toEqual([1, 30])
  bench.tokens.splice(0)
  await sink.send(logs(1), batch, patient)
  expect([bench.tokens.length, bench.logs.length]).toEqual([1, 31])
})

test('a short-lived token is replaced before it ends', async () => {
  await using bench = await startBench()
  bench.life = 1
  await using sink = bench.open()
  const sendOne = async () => {
    await sink.send(logs(1), batch, patient)
    return bench.tokens.length
  }
  await expect.poll(sendOne, { timeout: 10_000 }).toBe(3)
})

test('an account that Google does not know: a person must act, and no part of the key is shown', async () => {
  await using bench = await startBench()
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const key = JSON.stringify({ ...(JSON.parse(bench.key) as object), private_key: pem })
  await using sink = bench.open({ serviceAccount: key })
  const error = await sink.send(logs(1), batch, patient).catch((thrown: unknown) => thrown)
  const message = expect.stringContaining('Invalid JWT Signature')
  expect(error).toMatchObject({ code: 'sink_credentials', remedy: 'halt', inDoubt: false, message })
  expect(inspect([error, sink], { depth: 12, showHidden: true })).not.toContain(pem.slice(40, 60))
  expect(bench.api.requests).toEqual([])
})

test('who gives tokens is away, or repeats the assertion', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  bench.identity.says = { status: 500 }
  const sent = sink.send(logs(1), batch, patient)
  await expect(sent).rejects.toMatchObject({ code: 'sink_unavailable', inDoubt: false })
  await bench.identity.stop()
  const gone = { code: 'sink_unreachable', inDoubt: false, message: expect.stringContaining(bench.identity.origin) }
  await expect(sink.send(logs(1), batch, patient)).rejects.toMatchObject(gone)
})

test('a token that the API repeats is not shown', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  await sink.send(logs(1), batch, patient)
  const token = bench.tokens[0] ?? ''
  bench.api.says = { status: 403, body: { error: { message: `Bearer ${token} may not` } } }
  const error = await sink.send(logs(1), batch, patient).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'sink_credentials', message: expect.stringContaining('Bearer [secret] may not') })
})

test('a look says who answered; it fails as a send would', async () => {
  await using bench = await startBench()
  await using sink = bench.open()
  const { findings } = await sink.look(patient)
  expect(findings.join('\n')).toMatch(/a token was issued.*status 400.*not encrypted\nhttp.*not encrypted/)
  await using elsewhere = bench.open({ project: 'other' })
  await expect(elsewhere.look(patient)).rejects.toMatchObject({ code: 'sink_misconfigured' })
  bench.api.says = { status: 403 }
  await expect(sink.look(patient)).rejects.toMatchObject({ code: 'sink_credentials' })
  bench.api.says = { status: 503 }
  await expect(sink.look(patient)).rejects.toMatchObject({ code: 'sink_unavailable' })
})

test('the key may be in a file', async () => {
  await using bench = await startBench()
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tailrace-'))
  const file = join(folder.path, 'key.json')
  await writeFile(file, bench.key, { mode: 0o600 })
  await using sink = bench.open({ serviceAccount: file })
  expect(await sink.send(logs(2), batch, patient)).toEqual([])
})

const account = { client_email: 'a@b', private_key: 'nothing', token_uri: 'https://oauth2.googleapis.com/token' }

test.for([
  { project: '' },
  { instance: '' },
  { logType: '' },
  { scope: '' },
  { endpoint: 'ftp://host/' },
  { endpoint: '', region: 'eu.evil.example/' },
  { serviceAccount: '' },
  { serviceAccount: '/nowhere/key.json' },
  { serviceAccount: '{not json, secret-of-ours}' },
  { serviceAccount: '{}' },
  { serviceAccount: JSON.stringify(account) },
])('the options %j are refused', async (wrong) => {
  await using bench = await startBench()
  const refused = expect.objectContaining({
    code: 'sink_misconfigured',
    message: expect.not.stringContaining('secret-of-ours'),
  })
  expect(() => bench.open(wrong)).toThrow(refused)
})
