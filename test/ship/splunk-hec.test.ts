// The contract against an event collector, and what is peculiar to it: its codes, acknowledgement, the envelope.

import { Buffer } from 'node:buffer'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import type { Format } from '../../src/ship/format.ts'
import { json } from '../../src/ship/formats/json.ts'
import { splunkHec } from '../../src/ship/sinks/splunk-hec.ts'
import { attack } from './events.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { hec, startHec, type Hec, type HecSetup } from './receivers/hec.ts'
import { testSinkContract } from './sink-contract.ts'

const token = 'b5a79aad-d822-46cc-80d1-819f80d7bfb0'
const plain: Format = { ...json, name: 'plain', contentType: 'text/plain' }

function framer(options: object = {}): (text: string) => string {
  const frame = splunkHec.frame?.(optionsOf(splunkHec, { token, ...options }), plain)
  return (text) => frame?.(attack(), text) ?? ''
}

const framed = framer()

function bytesOf(texts: readonly string[]): Buffer[] {
  return texts.map((text) => Buffer.from(framed(text)))
}

function open(receiver: Hec, options: object = {}) {
  return openSink(splunkHec, { url: receiver.url, token, ...options })
}

function eventsOf({ events }: Hec): unknown[] {
  return events.map(({ event }) => event)
}

const benches: readonly (readonly [name: string, setup: object, options: object])[] = [
  ['splunk-hec', {}, {}],
  ['splunk-hec acknowledged', { ack: true, sticky: true }, { acknowledge: 'on', gzip: true }],
  ['splunk-hec raw', {}, { endpoint: 'raw' }],
]

for (const [name, setup, options] of benches) {
  testSinkContract(name, async () => {
    const receiver = await startHec({ token, ...setup })
    return {
      ...receiver,
      openSink: () => open(receiver, options),
      async received() {
        return eventsOf(receiver).map(String)
      },
      unreachable: 'sink_unreachable',
      wrap: framer(options),
      says: {
        throttled: () => receiver.says({ ...hec(429, 26), headers: { 'retry-after': '7' } }),
        unavailable: () => receiver.says(hec(503, 9)),
        credentials: () => receiver.says(hec(403, 4)),
        refused: () => receiver.says(hec(400, 6)),
        recovers: () => receiver.says(undefined),
      },
    }
  })
}

test.for([
  // HTTP status, code, events; the error, its remedy, whether some may have arrived.
  [403, 1, 2, 'sink_credentials', 'halt', false],
  [401, 2, 2, 'sink_credentials', 'halt', false],
  [401, 3, 2, 'sink_credentials', 'halt', false],
  [403, 4, 2, 'sink_credentials', 'halt', false],
  [400, 5, 2, 'sink_refused_batch', 'split', false],
  [400, 6, 2, 'sink_refused_batch', 'split', false],
  [400, 6, 1, 'sink_refused_event', 'stop', false],
  [400, 7, 2, 'sink_misconfigured', 'halt', false],
  [500, 8, 2, 'sink_unavailable', 'retry', true],
  [503, 9, 2, 'sink_unavailable', 'retry', false],
  [400, 10, 2, 'sink_misconfigured', 'halt', false],
  [400, 11, 2, 'sink_misconfigured', 'halt', false],
  [400, 12, 1, 'sink_refused_event', 'stop', false],
  [400, 13, 2, 'sink_refused_batch', 'split', false],
  [400, 14, 2, 'sink_misconfigured', 'halt', false],
  [400, 15, 1, 'sink_refused_event', 'stop', false],
  [400, 16, 2, 'sink_misconfigured', 'halt', false],
  [200, 17, 2, 'sink_misconfigured', 'halt', true],
  [503, 18, 2, 'sink_unavailable', 'retry', false],
  [503, 19, 2, 'sink_unavailable', 'retry', false],
  [503, 20, 2, 'sink_unavailable', 'retry', false],
  [400, 21, 2, 'sink_credentials', 'halt', false],
  [400, 22, 2, 'sink_credentials', 'halt', false],
  [503, 23, 2, 'sink_unavailable', 'retry', false],
  [429, 26, 2, 'sink_throttled', 'wait', false],
  [429, 27, 2, 'sink_throttled', 'wait', false],
  // What it never says together, or at all: nothing is confirmed.
  [200, 6, 2, 'sink_refused_batch', 'split', false],
  [200, 9, 2, 'sink_unavailable', 'retry', false],
  [200, 99, 2, 'sink_misconfigured', 'halt', true],
  [400, 0, 2, 'sink_refused_batch', 'split', false],
  [500, 0, 2, 'sink_unavailable', 'retry', true],
  [418, 99, 2, 'sink_misconfigured', 'halt', false],
] as const)('status %d with code %d to %d events', async ([status, code, events, error, remedy, inDoubt]) => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver)
  receiver.says(hec(status, code))
  const sent = sink.send(bytesOf(['a', 'b'].slice(0, events)), batch, patient)
  await expect(sent).rejects.toMatchObject({ code: error, remedy, inDoubt, status })
})

test.for([0, 24, 25])('code %d with status 200: taken', async (code) => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver)
  receiver.says(hec(200, code))
  expect(await sink.send(bytesOf(['a']), batch, patient)).toEqual([])
})

test.for(['', 'OK', '<html>Sign in</html>', '"OK"', '[]', '{}', '{"status":"ok"}', '{"text":"Success","co'])(
  'status 200 with %j is no confirmation',
  async (body) => {
    await using receiver = await startHec({ token })
    await using sink = open(receiver)
    receiver.says({ status: 200, body })
    const sent = sink.send(bytesOf(['a']), batch, patient)
    await expect(sent).rejects.toMatchObject({ code: 'sink_misconfigured', inDoubt: true })
  },
)

test.for([
  [413, 'sink_refused_batch'],
  [415, 'sink_misconfigured'],
  [404, 'sink_misconfigured'],
  [502, 'sink_unavailable'],
] as const)('status %d without a code', async ([status, code]) => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver)
  receiver.says({ status, body: '<html><title>no</title>' })
  await expect(sink.send(bytesOf(['a', 'b']), batch, patient)).rejects.toMatchObject({ code, status })
})

test('busy, with the time to wait', async () => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver)
  receiver.says({ ...hec(503, 9, { 'invalid-event-number': 1 }), headers: { 'retry-after': '3' } })
  const error = { code: 'sink_throttled', waitMs: 3000, inDoubt: true }
  await expect(sink.send(bytesOf(['a', 'b']), batch, patient)).rejects.toMatchObject(error)
})

test('one invalid event dies; of the others nothing counts as taken', async () => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver)
  const untaken = await sink.send(bytesOf(['a', 'b', '', 'c']), batch, patient)
  expect(untaken.map(({ index, error: { code, remedy, inDoubt } }) => [index, code, remedy, inDoubt])).toEqual([
    [0, 'sink_unavailable', 'retry', true],
    [1, 'sink_unavailable', 'retry', true],
    [2, 'sink_refused_event', 'stop', false],
    [3, 'sink_unavailable', 'retry', true],
  ])
  expect(untaken[2]?.error.message).toContain('code 13: Event field cannot be blank')
})

test.for([4, 5, -1, 1.5, 'x', null])('with %j as the number of the invalid event, all is split', async (number) => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver)
  receiver.says(hec(400, 6, { 'invalid-event-number': number }))
  const sent = sink.send(bytesOf(['a', 'b', 'c', 'd']), batch, patient)
  await expect(sent).rejects.toMatchObject({ code: 'sink_refused_batch' })
})

test('whatever is invalid: exactly that dies, and all else arrives, once where nothing is kept before it', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
    fc.boolean(),
    async (good, keepsBefore) => {
      await using receiver = await startHec({ token, keepsBefore })
      await using sink = open(receiver)
      const texts = good.map((isGood, index) => (isGood ? `event ${index}` : ''))
      const dead: number[] = []
      let left = texts.map((_, index) => index)
      while (left.length > 0) {
        const [only] = left
        const sent = sink.send(bytesOf(left.map((index) => texts[index] ?? '')), batch, patient)
        const untaken = await sent.catch((error: unknown) => {
          if (left.length > 1 || !(error instanceof TailraceError) || error.remedy !== 'stop') throw error
          return [{ index: 0, error }]
        })
        dead.push(
          ...untaken.flatMap(({ index, error }) => (error.remedy === 'stop' ? [left[index] ?? only ?? -1] : [])),
        )
        left = untaken.flatMap(({ index, error }) => (error.remedy === 'stop' ? [] : [left[index] ?? -1]))
      }
      expect(dead).toEqual(texts.flatMap((text, index) => (text === '' ? [index] : [])))
      const arrived = keepsBefore ? [...new Set(eventsOf(receiver))] : eventsOf(receiver)
      expect(arrived).toEqual(texts.filter((text) => text !== ''))
    },
  )
  await fc.assert(property, { numRuns: 40 })
})

test('a wrong index kills nothing: it halts, whatever event it is about', async () => {
  await using receiver = await startHec({ token, indexes: ['waf'] })
  await using sink = open(receiver)
  const records = [framer({ index: 'waf' })('a'), framer({ index: '{tenant}' })('b')].map((text) => Buffer.from(text))
  const error = {
    code: 'sink_misconfigured',
    inDoubt: true,
    message: expect.stringMatching(/Incorrect index.*allowed/) as string,
  }
  await expect(sink.send(records, batch, patient)).rejects.toMatchObject(error)
})

test('taken, and then the connection breaks: in doubt, and the next attempt is taken', async () => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver)
  receiver.resetAfterTaking(1)
  await expect(sink.send(bytesOf(['a']), batch, patient)).rejects.toMatchObject({ code: 'sink_reset', inDoubt: true })
  await sink.send(bytesOf(['a']), batch, patient)
  expect(new Set(receiver.events.map(({ fields }) => fields?.['tailrace_id'])).size).toBe(1)
})

// Acknowledgement

const acking: HecSetup = { token, ack: true }

function asks({ requests }: Hec): number {
  return requests.filter(({ url }) => url.pathname.endsWith('/ack')).length
}

test('auto waits for an acknowledgement where there is one: no, then yes', async () => {
  await using receiver = await startHec(acking)
  receiver.acknowledgesAfter(2)
  await using sink = open(receiver)
  expect(await sink.send(bytesOf(['a', 'b']), batch, patient)).toEqual([])
  const asked = receiver.requests.filter(({ url }) => url.pathname === '/services/collector/ack')
  const channels = receiver.requests.map(
    ({ url, headers }) => url.searchParams.get('channel') ?? headers['x-splunk-request-channel'],
  )
  expect(asked.map(({ body }) => body.toString())).toEqual(Array.from({ length: 3 }, () => '{"acks":[0]}'))
  expect(new Set(channels).size).toBe(1)
})

test('the question goes to the server that has the events: its cookies are kept', async () => {
  await using receiver = await startHec({ ...acking, sticky: true })
  await using sink = open(receiver, { channel: '0aeeac95-ac74-4aa9-b30d-6c4c0ac581ba' })
  await sink.send(bytesOf(['a']), batch, patient)
  expect(receiver.requests.at(-1)).toMatchObject({ headers: { cookie: 'node=seven; b=c' } })
  expect(receiver.requests.at(0)?.headers).toMatchObject({
    'x-splunk-request-channel': '0aeeac95-ac74-4aa9-b30d-6c4c0ac581ba',
  })
})

test.for(['', '0aeeac95-ac74-4aa9-b30d-6c4c0ac581ba'])(
  'channel "%s": the acknowledgement of a request after a crash is not taken for that of one before',
  async (channel) => {
    await using receiver = await startHec(acking)
    receiver.acknowledgesAfter(Infinity)
    await using sink = open(receiver, { channel, ackTimeout: 1000 })
    const before = sink.send(bytesOf(['a']), batch, patient).catch((thrown: unknown) => thrown)
    await expect.poll(() => asks(receiver)).toBeGreaterThan(0)
    receiver.crash()
    receiver.acknowledgesAfter(1)
    // In the same channel it would have the number of the one before, and the second question would be the other's.
    expect(await sink.send(bytesOf(['b']), batch, patient)).toEqual([])
    expect(await before).toMatchObject({ code: 'sink_timeout', inDoubt: true })
  },
)

test('an acknowledgement that never comes: in doubt when the time is over', async () => {
  await using receiver = await startHec(acking)
  receiver.acknowledgesAfter(Infinity)
  await using sink = open(receiver, { ackTimeout: 1000 })
  const error = { code: 'sink_timeout', remedy: 'retry', inDoubt: true }
  await expect(sink.send(bytesOf(['a']), batch, patient)).rejects.toMatchObject(error)
})

test('what ends the wait for an acknowledgement: the signal, or closing the destination', async () => {
  await using receiver = await startHec(acking)
  receiver.acknowledgesAfter(Infinity)
  await using sink = open(receiver)
  const controller = new AbortController()
  const reason = new Error('enough')
  const aborted = sink.send(bytesOf(['a']), batch, controller.signal).catch((error: unknown) => error)
  const closed = sink.send(bytesOf(['b']), batch, patient).catch((error: unknown) => error)
  await expect.poll(() => asks(receiver)).toBeGreaterThanOrEqual(2)
  controller.abort(reason)
  expect(await aborted).toBe(reason)
  await sink[Symbol.asyncDispose]()
  expect(await closed).toMatchObject({ code: 'sink_unreachable', inDoubt: true })
})

test('while it is asked, it may be busy, and gone', async () => {
  await using receiver = await startHec(acking)
  await using sink = open(receiver)
  receiver.saysOfAcks(hec(503, 9))
  const sent = sink.send(bytesOf(['a']), batch, patient)
  await expect.poll(() => asks(receiver)).toBeGreaterThanOrEqual(1)
  await receiver.stop()
  receiver.saysOfAcks(undefined)
  await receiver.start()
  expect(await sent).toEqual([])
  expect(receiver.events.length).toBe(1)
})

test.for([
  [403, 4, 'sink_credentials'],
  [400, 14, 'sink_misconfigured'],
  [400, 6, 'sink_misconfigured'],
  [200, 0, 'sink_misconfigured'],
] as const)('an answer to the question that makes it useless: %d, code %d', async ([status, code, error]) => {
  await using receiver = await startHec(acking)
  await using sink = open(receiver)
  receiver.saysOfAcks(hec(status, code))
  const halted = { code: error, remedy: 'halt', inDoubt: true }
  await expect(sink.send(bytesOf(['a']), batch, patient)).rejects.toMatchObject(halted)
})

test.for([
  ['on', 'sink_misconfigured'],
  ['auto', undefined],
  ['off', undefined],
] as const)('a token without acknowledgement, acknowledge %s', async ([acknowledge, code]) => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver, { acknowledge })
  const error = await sink.send(bytesOf(['a']), batch, patient).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error instanceof TailraceError ? error.code : error).toBe(code)
})

test('off: an acknowledgement is not asked for', async () => {
  await using receiver = await startHec(acking)
  await using sink = open(receiver, { acknowledge: 'off' })
  await sink.send(bytesOf(['a']), batch, patient)
  expect(receiver.requests.map(({ url }) => url.pathname)).toEqual(['/services/collector/event'])
})

test('the identifier of an acknowledgement, as versions have it', async () => {
  const bodies = ['{"ackID":"7"}', '{"ackId":7}', '{"text":"Success","code":0,"ackID":"7"}']
  const tries = bodies.map(async (body) => {
    await using receiver = await startHec(acking)
    await using sink = open(receiver)
    receiver.says({ status: 200, body })
    receiver.saysOfAcks({ status: 200, body: { acks: { 7: true } } })
    await sink.send(bytesOf(['a']), batch, patient)
    return receiver.requests.at(-1)?.body.toString()
  })
  expect(await Promise.all(tries)).toEqual(bodies.map(() => '{"acks":[7]}'))
})

// A look

test.for([
  [{ ack: true }, {}, /delivered means indexed/],
  [{ ack: true }, { acknowledge: 'off' }, /acknowledge is off/],
  [{}, {}, /no acknowledgement: .*not indexed/],
] as const)('a look at %j with %j', async ([setup, options, words]) => {
  await using receiver = await startHec({ token, ...setup })
  await using sink = open(receiver, options)
  const { findings } = await sink.look(patient)
  expect(findings.join('\n')).toMatch(/event collector is healthy\nconnected, not encrypted/)
  expect(findings.at(-1)).toMatch(words)
  expect(receiver.events).toEqual([])
})

test('a look refuses a wrong token, and a token that cannot do what is wanted', async () => {
  await using receiver = await startHec({ token })
  await using stranger = openSink(splunkHec, { url: receiver.url, token: 'another-token' })
  await expect(stranger.look(patient)).rejects.toMatchObject({ code: 'sink_credentials' })
  await using strict = open(receiver, { acknowledge: 'on' })
  await expect(strict.look(patient)).rejects.toMatchObject({ code: 'sink_misconfigured' })
  await using lost = openSink(splunkHec, { url: `${receiver.url}/elsewhere`, token })
  await expect(lost.look(patient)).rejects.toMatchObject({ code: 'sink_misconfigured' })
})

// What is sent

test('an event in its envelope', () => {
  const options = { index: 'waf_{tenant}', sourcetype: 'tailrace:{kind}', host: '{client}', source: '"{stream}"' }
  const frame = splunkHec.frame?.(optionsOf(splunkHec, { token, ...options }), json)
  const text = frame?.(attack(), '{"a":[1]}') ?? ''
  expect(text).toMatch(/^\{"time":1774892699\.007,"host":/)
  expect(JSON.parse(text)).toEqual({
    time: 1_774_892_699.007,
    host: '4711',
    source: '"attacks"',
    sourcetype: 'tailrace:attack',
    index: 'waf_acme',
    event: { a: [1] },
    fields: {
      tailrace_id: 'q83vEjRWeJCrze8SNFZ4kA',
      tailrace_sequence: 41,
      tailrace_tenant: 'acme',
      tailrace_stream: 'attacks',
    },
  })
  expect(JSON.parse(framer({ source: '', sourcetype: '' })('CEF:0|a "b"\\'))).toMatchObject({ event: 'CEF:0|a "b"\\' })
  expect(frame?.(attack({ time: NaN }), '{}')).toMatch(/^\{"host":/)
  expect(frame?.(attack({ client: null }), '{}')).not.toContain('"host"')
})

test('raw lines, and what is said of them in the query', async () => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver, { endpoint: 'raw', index: 'waf & co', sourcetype: 'cef' })
  await sink.send([Buffer.from('CEF:0|a'), Buffer.from('CEF:0|b')], batch, patient)
  expect(eventsOf(receiver)).toEqual(['CEF:0|a', 'CEF:0|b'])
  const query = { index: 'waf & co', source: 'tailrace', sourcetype: 'cef' }
  expect(Object.fromEntries(receiver.requests[0]?.url.searchParams ?? [])).toEqual(query)
})

test.for(['', '/', '/services/collector', '/services/collector/event', '/services/collector/raw/1.0'])(
  'the address may end in %j',
  async (end) => {
    await using receiver = await startHec({ token })
    await using sink = openSink(splunkHec, { url: receiver.url + end, token })
    await sink.send(bytesOf(['a']), batch, patient)
    expect(receiver.requests[0]?.url.pathname).toBe('/services/collector/event')
  },
)

test('the token is in no error, even when the receiver repeats it', async () => {
  await using receiver = await startHec({ token })
  await using sink = open(receiver)
  const thrown: unknown[] = []
  for (const body of [{ code: 6, text: `Splunk ${token}` }, `Splunk ${token}`]) {
    receiver.says({ status: 400, body })
    thrown.push(await sink.send(bytesOf(['a']), batch, patient).catch((error: unknown) => error))
  }
  await receiver.stop()
  thrown.push(await sink.send(bytesOf(['a']), batch, patient).catch((error: unknown) => error))
  expect(thrown.every((error) => error instanceof TailraceError)).toBe(true)
  expect(inspect([...thrown, sink], { depth: 12, showHidden: true })).not.toContain(token)
})

test.for([
  { token: '' },
  { token: 'a b' },
  { token, channel: 'mine' },
  { token, index: 'waf-{domain}' },
  { token, host: 'waf-{tenant' },
  { token, sourcetype: '{Kind}' },
  { token, maxEvents: 0 },
])('the options %j are not valid', (options) => {
  expect(() => optionsOf(splunkHec, { url: 'https://splunk.example', ...options })).toThrow(/^[a-zA-Z]+: /)
})

test.for([
  { url: '' },
  { url: 'https://user:password@splunk.example' },
  { url: 'https://splunk.example/?token=x' },
  { url: 'https://splunk.example', endpoint: 'raw', sourcetype: 'tailrace:{kind}' },
])('the options %j are refused', (options) => {
  expect(() => openSink(splunkHec, { token, ...options })).toThrow(
    expect.objectContaining({ code: 'sink_misconfigured' }),
  )
})
