// The contract, and what OTLP/HTTP says of requests, statuses and partial success.

import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { levelOf, type SecurityEvent } from '../../src/event.ts'
import { encodingOf } from '../../src/ship/encoding.ts'
import { json } from '../../src/ship/formats/json.ts'
import { logRecord } from '../../src/ship/wire/otlp-record.ts'
import { otlp } from '../../src/ship/sinks/otlp.ts'
import { version } from '../../src/version.ts'
import { attack } from './events.ts'
import { benchOf, startHttpServer, type Reply } from './http-server.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { testSinkContract } from './sink-contract.ts'

interface LogRecord {
  readonly timeUnixNano: string
  readonly observedTimeUnixNano: string
  readonly severityNumber: number
  readonly severityText: string
  readonly eventName: string
  readonly body: { readonly stringValue: string }
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

interface LogsRequest {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: LogRecord['attributes'] }
    readonly scopeLogs: readonly { readonly scope: object; readonly logRecords: readonly LogRecord[] }[]
  }[]
}

const takes: Reply = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}')

function recordsOf(body: Buffer): readonly LogRecord[] {
  const { resourceLogs } = JSON.parse(body.toString()) as LogsRequest
  return resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
}

testSinkContract('otlp', async () => {
  const server = await startHttpServer(undefined, takes)
  return benchOf(server, {
    openSink: () => openSink(otlp, { url: server.origin }),
    wrap: (text) => logRecord(attack(), text),
    async received() {
      return server.taken.flatMap((body) => recordsOf(body).map((record) => record.body.stringValue))
    },
  })
})

function encoded(events: readonly SecurityEvent[], labels: Record<string, string> = {}): Buffer[] {
  const parts = { format: json, formatOptions: {}, streams: ['attacks'] as const, labels }
  const { encode } = encodingOf({ sink: otlp, options: optionsOf(otlp, {}), ...parts })
  return events.map((event) => Buffer.from(encode(event) ?? ''))
}

test('a request has the events as log records of one resource', async () => {
  await using server = await startHttpServer(undefined, takes)
  const resource = 'deployment.environment.name=test, team = a%2Cb%3D '
  await using sink = openSink(otlp, { url: server.origin, resource, token: 'the-token', headers: { 'X-Scope': 'a' } })
  await sink.send(encoded([attack(), attack({ severity: 10 })], { site: 'berlin' }), batch, patient)
  const [request] = server.requests
  expect(request).toMatchObject({ method: 'POST', url: '/v1/logs' })
  const headers = { 'content-type': 'application/json', authorization: 'Bearer the-token', 'x-scope': 'a' }
  expect(request?.headers).toMatchObject(headers)
  const body = JSON.parse(server.taken[0]?.toString() ?? '') as LogsRequest
  expect(body.resourceLogs.length).toBe(1)
  expect(body.resourceLogs[0]?.resource.attributes).toEqual([
    { key: 'service.name', value: { stringValue: 'tailrace' } },
    { key: 'service.version', value: { stringValue: version } },
    { key: 'deployment.environment.name', value: { stringValue: 'test' } },
    { key: 'team', value: { stringValue: 'a,b=' } },
  ])
  expect(body.resourceLogs[0]?.scopeLogs[0]?.scope).toEqual({ name: 'tailrace', version })
  const [record, critical] = recordsOf(server.taken[0] ?? Buffer.alloc(0))
  expect(critical).toMatchObject({ severityNumber: 21, severityText: 'critical' })
  expect(record).toEqual({
    timeUnixNano: '1774892699007000000',
    observedTimeUnixNano: '1774892701000000000',
    severityNumber: 17,
    severityText: 'high',
    eventName: 'tailrace.attack.updated',
    body: { stringValue: json.compile({})({ ...attack(), labels: { site: 'berlin' } }) },
    attributes: [
      { key: 'log.record.uid', value: { stringValue: attack().id } },
      { key: 'tailrace.tenant', value: { stringValue: 'acme' } },
      { key: 'tailrace.client', value: { intValue: '4711' } },
      { key: 'tailrace.stream', value: { stringValue: 'attacks' } },
      { key: 'tailrace.kind', value: { stringValue: 'attack' } },
      { key: 'tailrace.action', value: { stringValue: 'updated' } },
      { key: 'tailrace.identity', value: { stringValue: 'AM5CP50BU' } },
      { key: 'tailrace.revision', value: { intValue: '2' } },
      { key: 'tailrace.sequence', value: { intValue: '41' } },
      { key: 'tailrace.severity', value: { intValue: '7' } },
      { key: 'tailrace.replayed', value: { boolValue: false } },
      { key: 'tailrace.label.site', value: { stringValue: 'berlin' } },
    ],
  })
})

test('whatever is in an event, its log record is JSON that Protobuf can read', () => {
  const anything = fc.record({
    id: fc.string(),
    identity: fc.string({ unit: 'binary' }),
    time: fc.oneof(fc.double(), fc.integer()),
    observedTime: fc.oneof(fc.double(), fc.integer({ min: 0, max: 2 ** 45 })),
    client: fc.oneof(fc.constant(null), fc.double()),
    severity: fc.integer({ min: 0, max: 10 }),
    labels: fc.dictionary(fc.string(), fc.string({ unit: 'binary' })),
  })
  const check = (replaced: Partial<SecurityEvent>, text: string) => {
    const record = JSON.parse(logRecord(attack(replaced), text)) as LogRecord
    expect(record.body.stringValue).toBe(text.toWellFormed())
    for (const time of [record.timeUnixNano, record.observedTimeUnixNano]) {
      expect(time).toMatch(/^(0|[1-9]\d*)$/)
      expect(BigInt(time) < 2n ** 64n).toBe(true)
    }
    expect(JSON.stringify(record)).not.toMatch(/\\ud[89a-f]/i)
    expect(record.severityText).toBe(levelOf(replaced.severity ?? 0))
    for (const { value } of record.attributes) {
      expect(value['intValue'] ?? '0').toMatch(/^-?\d+$/)
      expect(Object.keys(value).length).toBe(1)
    }
  }
  fc.assert(fc.property(anything, fc.string({ unit: 'binary' }), check))
})

test('severities keep their order', () => {
  const numbers = Array.from({ length: 11 }, (_, severity) => {
    const { severityNumber } = JSON.parse(logRecord(attack({ severity }), '')) as LogRecord
    return severityNumber
  })
  expect(numbers).toEqual([9, 10, 10, 10, 13, 13, 13, 17, 17, 21, 21])
})

test.for([
  ['', '/v1/logs'],
  ['/', '/v1/logs'],
  ['/v1/logs', '/v1/logs'],
  ['/v1/logs/', '/v1/logs'],
  ['/otlp', '/otlp/v1/logs'],
  ['/otlp/?key=1', '/otlp/v1/logs?key=1'],
])('the URL …%s is asked at %s', async ([path, asked]) => {
  await using server = await startHttpServer(undefined, takes)
  await using sink = openSink(otlp, { url: `${server.origin}${path}`, gzip: true })
  await sink.send(encoded([attack()]), batch, patient)
  expect(server.requests[0]?.url).toBe(asked)
  expect(server.requests[0]?.headers['content-encoding']).toBe('gzip')
  expect(server.taken.flatMap(recordsOf).length).toBe(1)
})

const three = encoded([attack(), attack({ id: 'b' }), attack({ id: 'c' })])

test.for([
  [
    '{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too\\nold"}}',
    'rejected 2 of 3 events, and does not say which: too old',
  ],
  ['{"partialSuccess":{"rejectedLogRecords":3}}', 'rejected 3 of 3 events, and does not say which'],
  ['{"partial_success":{"rejected_log_records":1}}', 'rejected 1 of 3'],
  ['{"partialSuccess":{"rejectedLogRecords":"many"}}', 'rejected 1 of 3'],
] as const)(
  'partial success %s: every record is refused with the reason, and none sent again',
  async ([said, words]) => {
    await using server = await startHttpServer(undefined, (response) => response.writeHead(200).end(said))
    await using sink = openSink(otlp, { url: server.origin })
    const untaken = await sink.send(three, batch, patient)
    expect(untaken.map(({ index }) => index)).toEqual([0, 1, 2])
    for (const { error } of untaken) {
      expect(error).toMatchObject({ code: 'sink_refused_event', remedy: 'stop' })
      expect(error.message).toContain(words)
    }
    expect(server.requests.length).toBe(1)
  },
)

test.for([
  '',
  ' \n',
  '{}',
  '{"partialSuccess":null}',
  '{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"slow down"}}',
])('the answer %j is full success', async (said) => {
  await using server = await startHttpServer(undefined, (response) => response.writeHead(200).end(said))
  await using sink = openSink(otlp, { url: server.origin })
  expect(await sink.send(three, batch, patient)).toEqual([])
})

test.for(['<html>please log in</html>', '[]', '"ok"', '\u0000\u0001'])(
  'the answer %j confirms nothing',
  async (said) => {
    await using server = await startHttpServer(undefined, (response) => response.writeHead(200).end(said))
    await using sink = openSink(otlp, { url: server.origin })
    const refused = { code: 'sink_misconfigured', remedy: 'halt', inDoubt: true }
    await expect(sink.send(three, batch, patient)).rejects.toMatchObject(refused)
  },
)

test.for([
  [400, 'split'],
  [401, 'halt'],
  [404, 'halt'],
  [408, 'halt'],
  [409, 'halt'],
  [413, 'split'],
  [415, 'halt'],
  [429, 'wait'],
  [500, 'halt'],
  [501, 'halt'],
  [502, 'retry'],
  [503, 'retry'],
  [504, 'retry'],
  [505, 'halt'],
] as const)('status %d: only what OTLP calls retryable is tried again at once (%s)', async ([status, remedy]) => {
  await using server = await startHttpServer(undefined, (response) => response.writeHead(status).end('because'))
  await using sink = openSink(otlp, { url: server.origin })
  await expect(sink.send(three, batch, patient)).rejects.toMatchObject({ remedy, status })
})

test('a look sends a request without records, and says what the receiver says', async () => {
  const warning = '{"partialSuccess":{"errorMessage":"the tenant is nearly full"}}'
  await using server = await startHttpServer(undefined, (response) => response.writeHead(200).end(warning))
  await using sink = openSink(otlp, { url: server.origin })
  const { findings } = await sink.look(patient)
  expect(findings.join('\n')).toMatch(/takes log records \(200\); it says: the tenant is nearly full/)
  expect(server.taken.flatMap(recordsOf)).toEqual([])
  server.replies.usual = (response) => response.writeHead(401).end()
  await expect(sink.look(patient)).rejects.toMatchObject({ code: 'sink_credentials' })
})

test.for([
  { url: '' },
  { url: 'grpc://host:4317' },
  { url: 'http://host', resource: 'a' },
  { url: 'http://host', resource: 'a=%' },
])('the options %j are refused', (options) => {
  expect(() => openSink(otlp, options)).toThrow(expect.objectContaining({ code: 'sink_misconfigured' }))
})
