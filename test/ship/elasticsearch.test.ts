// The contract against `_bulk`, and what is peculiar to it: an answer for each document.

import { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import { ecs } from '../../src/ship/formats/ecs.ts'
import { json } from '../../src/ship/formats/json.ts'
import { elasticsearch } from '../../src/ship/sinks/elasticsearch.ts'
import { attack } from './events.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { failure, startElasticsearch, type Elasticsearch, type ItemError } from './receivers/elasticsearch.ts'
import type { Reply } from './receivers/http-receiver.ts'
import { testSinkContract } from './sink-contract.ts'

const apiKey = 'aWQ6c2VjcmV0LWtleQ=='
const authorization = `ApiKey ${apiKey}`
const frame = elasticsearch.frame?.(optionsOf(elasticsearch, {}), json)

function wrap(message: string): string {
  const id = hash('sha256', message, 'base64url').slice(0, 22)
  return frame?.(attack({ id }), JSON.stringify({ message })) ?? ''
}

function bytesOf(messages: readonly string[]): Buffer[] {
  return messages.map((message) => Buffer.from(wrap(message)))
}

function open(receiver: Elasticsearch, options: object = {}) {
  return openSink(elasticsearch, { url: receiver.url, apiKey, ...options })
}

function messagesOf({ stored }: Elasticsearch): string[] {
  return stored.map(({ document }) => String(document['message']))
}

const poisoned = { status: 400, type: 'document_parsing_exception', reason: 'failed to parse field [time]' }

for (const options of [{}, { gzip: true }]) {
  testSinkContract(`elasticsearch ${JSON.stringify(options)}`, async () => {
    const receiver = await startElasticsearch({ authorization })
    return {
      ...receiver,
      openSink: () => open(receiver, options),
      async received() {
        return messagesOf(receiver)
      },
      unreachable: 'sink_unreachable',
      wrap,
      says: {
        throttled: () =>
          receiver.says({
            ...failure(429, 'es_rejected_execution_exception', 'full'),
            headers: { 'retry-after': '7' },
          }),
        unavailable: () => receiver.says(failure(503, 'cluster_block_exception', 'blocked by: [no master]')),
        credentials: () => receiver.says(failure(401, 'security_exception', 'unable to authenticate')),
        refused: () => receiver.says({ status: 413 }),
        partly: () =>
          receiver.refuses(({ document }) => (/poison/.test(String(document['message'])) ? poisoned : undefined)),
        recovers: () => receiver.says(undefined),
      },
    }
  })
}

const rejected = {
  status: 429,
  type: 'es_rejected_execution_exception',
  reason: 'rejected execution of primary operation',
}
const diskFull =
  'index [x] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];'

test.for<[ItemError, string | undefined, string | undefined]>([
  [{ status: 200 }, undefined, undefined],
  [{ status: 201 }, undefined, undefined],
  [{ status: 409, type: 'version_conflict_engine_exception', reason: 'exists' }, undefined, undefined],
  [rejected, 'sink_throttled', 'wait'],
  [{ status: 429, type: 'circuit_breaking_exception', reason: 'Data too large' }, 'sink_throttled', 'wait'],
  [{ status: 429, type: 'cluster_block_exception', reason: diskFull }, 'sink_full', 'wait'],
  [
    {
      status: 403,
      type: 'cluster_block_exception',
      reason: 'blocked by: [FORBIDDEN/12/index read-only / allow delete (api)];',
    },
    'sink_full',
    'wait',
  ],
  [
    { status: 403, type: 'cluster_block_exception', reason: 'blocked by: [FORBIDDEN/8/index write (api)];' },
    'sink_misconfigured',
    'halt',
  ],
  [{ status: 403, type: 'security_exception', reason: 'action is unauthorized' }, 'sink_credentials', 'halt'],
  [{ status: 404, type: 'index_not_found_exception', reason: 'no such index' }, 'sink_misconfigured', 'halt'],
  [{ status: 400, type: 'index_closed_exception', reason: 'closed' }, 'sink_misconfigured', 'halt'],
  [{ status: 400, type: 'invalid_index_name_exception', reason: 'Invalid index name' }, 'sink_misconfigured', 'halt'],
  [
    { status: 400, type: 'validation_exception', reason: 'this action would add [2] shards' },
    'sink_misconfigured',
    'halt',
  ],
  [
    { status: 400, type: 'illegal_argument_exception', reason: 'pipeline with id [p] does not exist' },
    'sink_misconfigured',
    'halt',
  ],
  [
    { status: 400, type: 'illegal_argument_exception', reason: 'Limit of total fields [1000] has been exceeded' },
    'sink_refused_event',
    'stop',
  ],
  [{ status: 400, type: 'resource_already_exists_exception', reason: 'index exists' }, 'sink_unavailable', 'retry'],
  [
    {
      status: 400,
      type: 'document_parsing_exception',
      reason:
        "[1:125] failed to parse field [data_stream.namespace] of type [constant_keyword] in document with id 'x'.",
    },
    'sink_misconfigured',
    'halt',
  ],
  [
    {
      status: 400,
      type: 'document_parsing_exception',
      reason: "failed to parse field [a] Preview: 'pipeline with id '",
    },
    'sink_refused_event',
    'stop',
  ],
  [poisoned, 'sink_refused_event', 'stop'],
  [{ status: 413, type: 'x', reason: 'too long' }, 'sink_refused_event', 'stop'],
  [{ status: 500, type: 'x', reason: 'odd' }, 'sink_unavailable', 'retry'],
  [
    { status: 503, type: 'unavailable_shards_exception', reason: 'primary shard is not active' },
    'sink_unavailable',
    'retry',
  ],
  [{ status: 201, failureStore: 'used' }, 'sink_refused_event', 'stop'],
  [{ status: 400, type: 'x', reason: 'y', failureStore: 'not_enabled' }, 'sink_refused_event', 'stop'],
])('a document answered %j', async ([answer, code, remedy]) => {
  await using receiver = await startElasticsearch({ authorization })
  await using sink = open(receiver)
  receiver.refuses(({ document }) => (document['message'] === 'b' ? answer : undefined))
  const untaken = await sink.send(bytesOf(['a', 'b', 'c']), batch, patient)
  const expected = code === undefined ? [] : [{ index: 1, error: { code, remedy, status: answer.status } }]
  expect(untaken).toMatchObject(expected)
  expect(untaken.length).toBe(expected.length)
  expect(messagesOf(receiver)).toEqual(['a', 'c'])
})

test('any mix: exactly what is stored counts as taken, and the rest by its own remedy', async () => {
  const kinds: readonly [answer: ItemError | undefined, remedy: string | undefined][] = [
    [undefined, undefined],
    [{ status: 409, type: 'version_conflict_engine_exception', reason: 'exists' }, undefined],
    [rejected, 'wait'],
    [poisoned, 'stop'],
    [{ status: 503, type: 'x', reason: 'y' }, 'retry'],
  ]
  const property = fc.asyncProperty(fc.array(fc.nat(4), { minLength: 1, maxLength: 30 }), async (mix) => {
    await using receiver = await startElasticsearch({ authorization })
    await using sink = open(receiver)
    receiver.refuses(({ document }) => kinds[mix[Number(document['message'])] ?? 0]?.[0])
    const untaken = await sink.send(bytesOf(mix.map((_, index) => String(index))), batch, patient)
    const expected = mix.flatMap((kind, index) => {
      const remedy = kinds[kind]?.[1]
      return remedy === undefined ? [] : [[index, remedy]]
    })
    expect(untaken.map(({ index, error }) => [index, error.remedy])).toEqual(expected)
  })
  await fc.assert(property, { numRuns: 40 })
})

test('stored, and then the connection breaks: in doubt; sent again it is confirmed, and there once', async () => {
  await using receiver = await startElasticsearch({ authorization })
  await using sink = open(receiver)
  receiver.answers(() => 'reset')
  await expect(sink.send(bytesOf(['a', 'b']), batch, patient)).rejects.toMatchObject({
    code: 'sink_reset',
    inDoubt: true,
  })
  receiver.answers((reply) => reply)
  expect(await sink.send(bytesOf(['a', 'b', 'c']), batch, patient)).toEqual([])
  expect(messagesOf(receiver)).toEqual(['a', 'b', 'c'])
})

function changed(change: (text: string) => string): (reply: Reply) => Reply {
  return (reply) => ({ ...reply, body: change(JSON.stringify(reply.body)) })
}

test.for<[string, (text: string) => string]>([
  ['is empty', () => ''],
  ['is no JSON', () => '<html>Sign in</html>'],
  ['is cut short', (text) => text.slice(0, -5)],
  ['has an item less', (text) => text.replace('{"create":{"status":201}},', '')],
  ['has an item more', (text) => text.replace('{"create":{"status":201}},', '$&$&')],
  ['has no items', () => '{"errors":false}'],
  ['does not say whether there are errors', (text) => text.replace('"errors":false,', '')],
  ['has an item without a status', (text) => text.replace('{"status":201}', '{}')],
  ['has an item of another action', (text) => text.replace('create', 'index')],
])('an answer that %s confirms nothing', async ([, change]) => {
  await using receiver = await startElasticsearch({ authorization })
  await using sink = open(receiver)
  receiver.answers(changed(change))
  const error = { code: 'sink_unavailable', remedy: 'retry', inDoubt: true }
  await expect(sink.send(bytesOf(['a', 'b']), batch, patient)).rejects.toMatchObject(error)
})

test('an answer that is too long: fewer documents are sent at once', async () => {
  await using receiver = await startElasticsearch({ authorization })
  await using sink = open(receiver)
  receiver.refuses(() => ({ ...poisoned, reason: 'x'.repeat(600_000) }))
  const error = { code: 'sink_refused_batch', remedy: 'split', inDoubt: true }
  await expect(sink.send(bytesOf(['a', 'b']), batch, patient)).rejects.toMatchObject(error)
  const [one] = await sink.send(bytesOf(['a']), batch, patient)
  expect(one?.error.message.length).toBeLessThan(500)
})

test('a thousand documents that are all refused fit into one answer', async () => {
  await using receiver = await startElasticsearch({ authorization })
  await using sink = open(receiver)
  receiver.refuses(() => ({ ...poisoned, reason: 'x'.repeat(900) }))
  const messages = Array.from({ length: 1000 }, (_, index) => String(index))
  expect((await sink.send(bytesOf(messages), batch, patient)).length).toBe(1000)
})

test('only what is looked at is asked for', async () => {
  await using receiver = await startElasticsearch({ authorization })
  await using sink = open(receiver)
  let answered = ''
  receiver.answers(changed((text) => (answered = text)))
  await sink.send(bytesOf(['a', 'b']), batch, patient)
  expect(JSON.parse(answered)).toEqual({
    errors: false,
    items: [{ create: { status: 201 } }, { create: { status: 201 } }],
  })
})

test.for([
  [400, 2, 'sink_refused_batch'],
  [400, 1, 'sink_refused_event'],
  [403, 2, 'sink_credentials'],
  [404, 2, 'sink_misconfigured'],
  [406, 2, 'sink_misconfigured'],
  [413, 1, 'sink_refused_event'],
  [502, 2, 'sink_unavailable'],
] as const)('status %d to a request with %d documents', async ([status, events, code]) => {
  await using receiver = await startElasticsearch({ authorization })
  await using sink = open(receiver)
  receiver.says(failure(status, 'x', 'y'))
  await expect(sink.send(bytesOf(['a', 'b'].slice(0, events)), batch, patient)).rejects.toMatchObject({ code, status })
})

test.for([
  [{ apiKey }, authorization],
  [{ apiKey: 'id:secret-key' }, authorization],
  [{ username: 'élan', password: 'p:w' }, `Basic ${Buffer.from('élan:p:w').toString('base64')}`],
  [{}, undefined],
] as const)('says who we are by %j', async ([options, expected]) => {
  await using receiver = await startElasticsearch(expected === undefined ? {} : { authorization: expected })
  await using sink = openSink(elasticsearch, { url: `${receiver.url}/`, ...options })
  expect(await sink.send(bytesOf(['a']), batch, patient)).toEqual([])
  expect(receiver.requests[0]?.headers.authorization).toBe(expected)
})

test.for([
  [{}, /: Elasticsearch 9\.1\.4; /],
  [{ openSearch: true }, /: OpenSearch 3\.2\.0; /],
] as const)('a look at %j', async ([setup, words]) => {
  await using receiver = await startElasticsearch({ authorization, ...setup })
  await using sink = open(receiver)
  const { findings } = await sink.look(patient)
  expect(findings.join('\n')).toMatch(words)
  expect(findings.at(-1)).toBe('connected, not encrypted')
})

test('a look with credentials that may only write, with wrong ones, and at something else', async () => {
  await using receiver = await startElasticsearch({ authorization })
  await using sink = open(receiver)
  receiver.says(failure(403, 'security_exception', 'action [cluster:monitor/main] is unauthorized'))
  expect((await sink.look(patient)).findings[0]).toContain('it knows our credentials')
  receiver.says({ status: 200, body: '<html>Welcome to nginx' })
  await expect(sink.look(patient)).rejects.toMatchObject({ code: 'sink_misconfigured' })
  await using stranger = open(receiver, { apiKey: 'another' })
  await expect(stranger.look(patient)).rejects.toMatchObject({ code: 'sink_credentials' })
})

// What is sent

function linesOf(event: Parameters<NonNullable<typeof frame>>[0], options: object = {}, name = 'json'): unknown[] {
  const framed = elasticsearch.frame?.(optionsOf(elasticsearch, options), { ...json, name })
  return (framed?.(event, '{"a":1}') ?? '').split('\n').map((line) => JSON.parse(line) as unknown)
}

test('an event as action and document', () => {
  const create = { _index: 'logs-waf.attack-default', _id: 'q83vEjRWeJCrze8SNFZ4kA' }
  expect(linesOf(attack())).toEqual([{ create }, { '@timestamp': '2026-03-30T17:44:59.007Z', a: 1 }])
  expect(linesOf(attack(), {}, 'ecs')).toEqual([{ create }, { a: 1 }])
  expect(linesOf(attack({ time: NaN }))[1]).toEqual({ '@timestamp': '2026-03-30T17:45:01.000Z', a: 1 })
  expect(elasticsearch.frame?.(optionsOf(elasticsearch, {}), json)?.(attack(), '{}')).toMatch(
    /\n\{"@timestamp":"[^"]+"\}$/,
  )
  const own = { _index: 'logs-attacks.attack-acme_eu', _id: create._id }
  expect(linesOf(attack({ tenant: 'acme-EU' }), { index: 'logs-{stream}.{kind}-{tenant}' })[0]).toEqual({ create: own })
})

test('events of the format ecs name the data stream that they go to by default', () => {
  const event = attack({ kind: 'vulnerability' })
  const encoded = ecs.compile({ root: 'waf', namespace: 'default', original: true, originalLimit: 1000 })(event)
  const framed =
    elasticsearch.frame?.(optionsOf(elasticsearch, {}), { ...json, name: ecs.name })?.(event, encoded) ?? ''
  const [action, document] = framed.split('\n')
  const { data_stream: named } = JSON.parse(document ?? '') as { data_stream: Record<string, string> }
  expect(document).toMatch(/^\{"@timestamp":"[^"]+",(?!.*"@timestamp")/)
  expect(action).toContain(`"_index":"${named['type']}-${named['dataset']}-${named['namespace']}"`)
})

test('whatever the tenant, the index has a valid name', () => {
  const property = fc.property(fc.string({ unit: 'binary', maxLength: 48 }), (tenant) => {
    const [action] = linesOf(attack({ tenant }), { index: 'logs-{kind}-{tenant}' })
    expect(action).toMatchObject({ create: { _index: expect.stringMatching(/^logs-attack-[a-z0-9._]*$/) as string } })
    expect(JSON.stringify(action).length).toBeLessThan(255)
  })
  fc.assert(property)
})

test('secrets are in no error, even when the receiver repeats them', async () => {
  const secrets = ['secret-key', apiKey, 'pass-word', Buffer.from('user:pass-word').toString('base64')]
  const thrown: unknown[] = []
  for (const options of [{ apiKey: 'id:secret-key' }, { username: 'user', password: 'pass-word' }]) {
    await using receiver = await startElasticsearch()
    await using sink = openSink(elasticsearch, { url: receiver.url, ...options })
    receiver.refuses(() => ({ status: 400, type: 'x', reason: secrets.join(' ') }))
    thrown.push(await sink.send(bytesOf(['a']), batch, patient))
    receiver.says(failure(400, 'x', secrets.join(' ')))
    thrown.push(await sink.send(bytesOf(['a']), batch, patient).catch((error: unknown) => error))
    expect(thrown.at(-1)).toBeInstanceOf(TailraceError)
    await receiver.stop()
    thrown.push(await sink.send(bytesOf(['a']), batch, patient).catch((error: unknown) => error), sink)
  }
  const [ofKey, ofPassword] = [thrown.slice(0, 4), thrown.slice(4)].map((some) =>
    inspect(some, { depth: 12, showHidden: true }),
  )
  for (const secret of secrets.slice(0, 2)) expect(ofKey).not.toContain(secret)
  for (const secret of secrets.slice(2)) expect(ofPassword).not.toContain(secret)
})

test.for([
  { index: 'logs-{domain}' },
  { index: 'Logs-waf' },
  { index: '-logs' },
  { index: '.logs' },
  { index: '' },
  { index: 'a b' },
  { index: 'a{kind' },
  { index: 'a'.repeat(101) },
])('the options %j are not valid', (options) => {
  expect(() => optionsOf(elasticsearch, options)).toThrow(/^index: /)
})

test.for([
  { url: '' },
  { url: 'https://user:password@elastic.example' },
  { url: 'https://elastic.example/?x=1' },
  { url: 'https://elastic.example', apiKey: 'a', username: 'b' },
  { url: 'https://elastic.example', password: 'b' },
  { url: 'https://elastic.example', apiKey: 'a\nb' },
])('the options %j are refused', (options) => {
  expect(() => openSink(elasticsearch, options)).toThrow(expect.objectContaining({ code: 'sink_misconfigured' }))
})
