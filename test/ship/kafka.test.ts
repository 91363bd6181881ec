// The contract against a mock cluster of librdkafka, what the messages have in them, and what each error means.

import { Buffer } from 'node:buffer'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { MultipleErrors, UserError } from '@platformatic/kafka'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import type { SecurityEvent } from '../../src/event.ts'
import { json } from '../../src/ship/formats/json.ts'
import { kafkaError } from '../../src/ship/wire/kafka-errors.ts'
import { kafka, openKafka } from '../../src/ship/sinks/kafka.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { attack } from './events.ts'
import { hasKcat, startKafka, type DoorState } from './kafka-broker.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { testSinkContract } from './sink-contract.ts'

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())

const topic = 'waf'
const here = { brokers: '127.0.0.1:9092', topic }

function framed(text: string, event: Partial<SecurityEvent> = {}): string {
  const frame = kafka.frame?.(optionsOf(kafka, here), json)
  return frame?.(attack(event), text) ?? ''
}

/** One record for each identity. */
function records(...identities: string[]): Buffer[] {
  return identities.map((identity) => Buffer.from(framed(`of ${identity}`, { identity })))
}

describe.skipIf(!hasKcat)('with kcat', () => {
  testSinkContract('kafka', async () => {
    const broker = await startKafka(topic)
    const says = (code: number) => () => void (broker.state.mode = { codeOf: () => code })
    const mode = (next: DoorState['mode']) => () => void (broker.state.mode = next)
    return {
      ...broker,
      openSink: () => openSink(kafka, { ...here, brokers: broker.address }),
      received: async () => (await broker.readAll()).map(({ payload }) => payload),
      wrap: (text) => framed(text),
      unreachable: 'sink_unreachable',
      breakMidway: mode('break'),
      stall: mode('stall'),
      says: {
        throttled: says(89),
        unavailable: says(19),
        credentials: says(29),
        refused: says(10),
        recovers: mode('pass'),
      },
    }
  })

  test.for(['none', 'gzip', 'zstd', 'lz4', 'snappy'])(
    'key, headers and value, compressed by %s',
    async (compression) => {
      await using broker = await startKafka(topic)
      await using sink = openSink(kafka, { ...here, brokers: broker.address, compression })
      const odd = { identity: 'ид "1"\n☃', client: null }
      await sink.send([...records('a'), Buffer.from(framed('{"ж":1}', odd))], batch, patient)
      await expect.poll(() => broker.consumed.length).toBe(2)
      const event = attack()
      const about = ['id', event.id, 'kind', 'attack', 'action', 'updated', 'tenant', 'acme', 'stream', 'attacks']
      const headers = [...about, 'content-type', 'application/x-ndjson']
      expect(broker.consumed.toSorted((a, b) => a.key.localeCompare(b.key))).toMatchObject([
        { topic, key: '4711:a', payload: 'of a', headers },
        { topic, key: 'acme:ид "1"\n☃', payload: '{"ж":1}', headers },
      ])
    },
  )

  test('a key has one place, the same as for other clients', async () => {
    await using broker = await startKafka(topic)
    await using sink = openSink(kafka, { ...here, brokers: broker.address })
    const identities = Array.from({ length: 50 }, (_, index) => `i${index}`)
    await sink.send(records(...identities), batch, patient)
    await broker.produceKeys(identities.map((identity) => `4711:${identity}`))
    await expect.poll(() => broker.consumed.length).toBe(100)
    const places = new Map(broker.consumed.map(({ key, partition }) => [key, partition]))
    expect(broker.consumed.every(({ key, partition }) => places.get(key) === partition)).toBe(true)
    expect(new Set(places.values())).toEqual(new Set([0, 1, 2, 3]))
  })

  test('a topic for each stream', async () => {
    await using broker = await startKafka('waf.attacks')
    await using sink = openSink(kafka, { brokers: broker.address, topic: 'waf.{stream}' })
    expect((await sink.look(patient)).findings.join(' ')).toContain('a cluster of 1 brokers')
    await sink.send([...records('a'), Buffer.from(framed('b', { stream: 'rules' }))], batch, patient)
    await expect.poll(() => broker.consumed.map(({ payload }) => payload)).toEqual(['of a'])
  })

  test('an answer that is lost is asked for again under the same number', async () => {
    await using broker = await startKafka(topic)
    await using sink = openSink(kafka, { ...here, brokers: broker.address })
    await sink.send(records('a'), batch, patient)
    broker.state.mode = 'lose'
    expect(await sink.send(records('b'), batch, patient)).toEqual([])
    expect(broker.requests.filter(({ key }) => key === 0).length).toBe(3)
    await using hasty = openSink(kafka, { ...here, brokers: broker.address, idempotent: false })
    broker.state.mode = 'lose'
    await expect(hasty.send(records('c'), batch, patient)).rejects.toMatchObject({ code: 'sink_reset', inDoubt: true })
  })

  test('each partition answers for itself', async () => {
    await using broker = await startKafka(topic)
    await using sink = openSink(kafka, { ...here, brokers: broker.address, idempotent: false })
    const identities = Array.from({ length: 40 }, (_, index) => `i${index}`)
    await sink.send(records(...identities), batch, patient)
    await expect.poll(() => broker.consumed.length).toBe(40)
    const places = new Map(broker.consumed.map(({ payload, partition }) => [payload, partition]))
    broker.state.mode = { codeOf: (partition) => (partition === 2 ? 19 : partition === 3 ? 10 : 0) }
    const untaken = await sink.send(records(...identities), batch, patient)
    const expected = identities.flatMap((name, index) => (Number(places.get(`of ${name}`)) >= 2 ? [index] : []))
    expect(untaken.map(({ index }) => index)).toEqual(expected)
    // Of many in one partition nobody knows which is too large: they are halved until one is alone.
    expect(new Set(untaken.map(({ error }) => error.remedy))).toEqual(new Set(['retry', 'split']))
    broker.state.mode = { codeOf: (partition) => (partition === places.get('of i0') ? 10 : 0) }
    const stranger = identities.find((name) => places.get(`of ${name}`) !== places.get('of i0')) ?? ''
    const [alone] = await sink.send(records(stranger, 'i0'), batch, patient)
    expect(alone).toMatchObject({ index: 1, error: { code: 'sink_refused_event' } })
  })

  test.for([
    [2, 'sink_unavailable', true],
    [3, 'sink_misconfigured', false],
    [6, 'sink_unavailable', false],
    [7, 'sink_timeout', true],
    [10, 'sink_refused_event', false],
    [18, 'sink_refused_event', false],
    [19, 'sink_unavailable', false],
    [20, 'sink_unavailable', true],
    [29, 'sink_credentials', false],
    [31, 'sink_credentials', false],
    [56, 'sink_unavailable', true],
    [76, 'sink_misconfigured', false],
    [87, 'sink_refused_event', false],
    [89, 'sink_throttled', false],
  ] as const)('error %d of the protocol', async ([number, code]) => {
    await using broker = await startKafka(topic)
    broker.state.mode = { codeOf: () => number }
    await using sink = openSink(kafka, { ...here, brokers: broker.address })
    await expect(sink.send(records('a'), batch, patient)).rejects.toMatchObject({ code })
  })

  test('a login: taken, or refused without the password', async () => {
    await using broker = await startKafka(topic)
    broker.state.login = { username: 'waf', password: 'the-password' }
    const login = { sasl: 'PLAIN', username: 'waf', password: 'the-password' }
    await using sink = openSink(kafka, { ...here, brokers: broker.address, ...login })
    await sink.send(records('a'), batch, patient)
    expect((await sink.look(patient)).findings.join(' ')).toMatch(/as waf by PLAIN; the password goes over the network/)
    await using wrong = openSink(kafka, { ...here, brokers: broker.address, ...login, password: 'not-the-password' })
    const error = await wrong.send(records('b'), batch, patient).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'sink_credentials', inDoubt: false })
    expect(inspect([error, wrong], { depth: 20, showHidden: true })).not.toContain('not-the-password')
    await using other = openSink(kafka, { ...here, brokers: broker.address, ...login, sasl: 'SCRAM-SHA-512' })
    await expect(other.send(records('b'), batch, patient)).rejects.toBeInstanceOf(TailraceError)
  })

  test('over TLS: our own authority, or a fingerprint; a stranger gets nothing, not even the password', async () => {
    await using broker = await startKafka(topic, files.server)
    broker.state.login = { username: 'waf', password: 'the-password' }
    const login = { sasl: 'PLAIN', username: 'waf', password: 'the-password' }
    const options = { ...here, brokers: broker.address, transport: 'tls', ...login }
    await using sink = openSink(kafka, { ...options, tls: { ca: files.ca } })
    await sink.send(records('a'), batch, patient)
    expect((await sink.look(patient)).findings.join(' ')).toMatch(/TLSv1\.3, certificate of/)
    const { fingerprint256 } = new X509Certificate(readFileSync(files.server.cert))
    await using pinned = openSink(kafka, { ...options, tls: { fingerprint: fingerprint256 } })
    await pinned.send(records('b'), batch, patient)
    await expect.poll(() => broker.consumed.length).toBe(2)
    const before = broker.requests.length
    for (const tls of [{}, { fingerprint: 'AB'.repeat(32) }]) {
      await using wary = openSink(kafka, { ...options, tls })
      await expect(wary.send(records('c'), batch, patient)).rejects.toMatchObject({
        code: 'sink_certificate',
        inDoubt: false,
      })
    }
    expect(broker.requests.length).toBe(before)
  })

  test('TLS where there is none', async () => {
    await using broker = await startKafka(topic)
    await using sink = openSink(kafka, { ...here, brokers: broker.address, transport: 'tls', timeout: 500 })
    await expect(sink.send(records('c'), batch, patient)).rejects.toMatchObject({ inDoubt: false })
  })

  test('no TLS where there should be', async () => {
    await using broker = await startKafka(topic, files.server)
    await using sink = openSink(kafka, { ...here, brokers: broker.address, timeout: 2000 })
    const refused = { code: 'sink_unreachable', message: expect.stringContaining('look at transport') as string }
    await expect(sink.send(records('c'), batch, patient)).rejects.toMatchObject(refused)
  })

  test('an answer that never comes is in doubt after the time-out', async () => {
    await using broker = await startKafka(topic)
    await using sink = openSink(kafka, { ...here, brokers: broker.address, timeout: 300 })
    await sink.send(records('a'), batch, patient)
    broker.state.mode = 'stall'
    await expect(sink.send(records('b'), batch, patient)).rejects.toMatchObject({ code: 'sink_timeout' })
    await expect.poll(() => broker.connections()).toBe(0)
  })
})

test('a topic that does not exist', () => {
  const thrown = new MultipleErrors('metadata failed 3 times.', [new UserError('Unknown topic waf.')])
  const error = kafkaError(thrown, { where: 'kafka', phase: 'connecting', events: 1 })
  expect(error).toMatchObject({
    code: 'sink_misconfigured',
    message: expect.stringContaining('create the topic') as string,
  })
})

test('a package that is missing: what to install', async () => {
  const missing = Object.assign(new Error('gone'), { code: 'ERR_MODULE_NOT_FOUND' })
  await using sink = openKafka(optionsOf(kafka, here), () => Promise.reject(missing))
  const error = await sink.send(records('a'), batch, patient).catch((thrown: unknown) => thrown)
  const wanted = JSON.parse(readFileSync('package.json', 'utf8')) as { optionalDependencies: Record<string, string> }
  const version = wanted.optionalDependencies['@platformatic/kafka']
  expect(error).toMatchObject({ code: 'sink_misconfigured', inDoubt: false })
  expect((error as TailraceError).message).toContain(`npm install @platformatic/kafka@${version}`)
})

test.for([
  { brokers: '' },
  { brokers: 'host' },
  { brokers: 'a:1,,b:2' },
  { topic: '' },
  { topic: 'a b' },
  { topic: '..' },
  { topic: '{id}' },
  { sasl: 'PLAIN' },
  { username: 'u', password: 'p' },
  { transport: 'tls', tls: { fingerprint: 'ab' } },
])('the options %j are refused', (options) => {
  expect(() => openSink(kafka, { ...here, ...options })).toThrow(
    expect.objectContaining({ code: 'sink_misconfigured' }),
  )
})
