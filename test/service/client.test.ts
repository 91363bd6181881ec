import { inspect } from 'node:util'
import { constants, gzipSync } from 'node:zlib'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { TailraceError, type ErrorCode } from '../../src/errors.ts'
import { createServiceClient, type ServiceClient, type ServiceClientOptions } from '../../src/service/client.ts'
import { openConnections } from '../../src/service/connections.ts'
import { newClientDefaults, vulnPrefixOf, type ListQuery, type NewClient } from '../../src/service/operations.ts'
import { serve, serveTcp, serveTls } from './server.ts'

const uuid = '7f3c1a52-0b7e-4c1d-9d43-5f0f5d3c9a11'
const secret = 'S3cr3t/+"<key>&42=='
const query: ListQuery = { filter: { clientid: [4711], time: [[1774882806, null]] }, offset: 0, limit: 50 }
const never = new AbortController().signal

interface Bench extends AsyncDisposable {
  readonly client: ServiceClient
}

function bench(baseUrl: string, more: Partial<ServiceClientOptions> = {}): Bench {
  const connections = more.connections ?? openConnections({ connectMs: 200 })
  const client = createServiceClient({
    baseUrl,
    instance: 'eu',
    credentials: { uuid, secret },
    timeouts: { headersMs: 200, bodyMs: 200 },
    ...more,
    connections,
  })
  return { client, [Symbol.asyncDispose]: async () => connections[Symbol.asyncDispose]() }
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

async function failureOf(promise: Promise<unknown>): Promise<TailraceError> {
  const thrown: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(thrown instanceof TailraceError)) throw new Error('expected a TailraceError', { cause: thrown })
  return thrown
}

/** All that a log, a dump or a debugger would show of an error. */
function dump(error: TailraceError): string {
  return [inspect(error, { depth: 20, showHidden: true }), JSON.stringify(error), String(error.stack)].join('\n')
}

test('lists records with the documented request', async () => {
  const date = 'Sat, 21 Nov 2026 10:00:00 GMT'
  await using server = await serve((response) => json(response, 200, { status: 200, body: [{ id: 1 }] }, { date }))
  await using it = bench(`${server.url}/api/`)
  const answer = await it.client.list('attack', query, never)
  expect(answer).toEqual({ body: [{ id: 1 }], date: Date.parse(date), bytes: 32, status: 200 })
  const [request] = server.requests
  expect(request).toMatchObject({ method: 'POST', path: '/api/v1/objects/attack', body: query })
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    accept: 'application/json',
    'accept-encoding': 'gzip',
    'x-serviceapi-uuid': uuid,
    'x-serviceapi-secret': secret,
  })
})

test('decodes gzip, counts decoded bytes, takes an envelope without status', async () => {
  const text = JSON.stringify({ body: Array.from({ length: 500 }, (_, id) => ({ id, path: '/ü' })) })
  await using server = await serve((response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text)),
  )
  await using it = bench(server.url, { headerPrefix: 'X-Other-' })
  const answer = await it.client.list('vuln', query, never)
  expect(answer.body).toHaveLength(500)
  expect(answer.bytes).toBe(Buffer.byteLength(text))
  expect(server.requests[0]?.headers['x-other-uuid']).toBe(uuid)
})

const newClient: NewClient = { ...newClientDefaults, name: 'Acme', vuln_prefix: 'ACME', partner_uuid: 'partner-uuid-1' }
const rule = { clientid: 4711, validated: false, point: [['header', 'HOST']] } as const
const host = { type: 'equal', point: ['header', 'HOST'], value: 'example.com' } as const
const first = { type: 'equal', point: ['path', 0], value: 'admin' } as const

interface OperationRow {
  name: string
  run: (client: ServiceClient) => Promise<{ body: unknown }>
  answer: unknown
  path: string
  sent: unknown
  result: unknown
}

const application = { type: 'equal', point: ['instance'], value: '9', weight: 1 } as const
const vpatch = { ...rule, type: 'vpatch', attack_type: 'any', action: [first, host] } as const
const weighted = { ...vpatch, action: [application, { ...first, weight: 2 }] } as const
const regex = { ...rule, type: 'regex', attack_type: 'scanner', action: [host], regex: '^10', comment: 'c' } as const

const operationRows: OperationRow[] = [
  {
    name: 'readUser, older answer',
    run: (client) => client.readUser(never),
    answer: { status: 200, body: { uuid: 'u', clientid: 7 } },
    path: '/v1/user',
    sent: {},
    result: { uuid: 'u', clientId: 7, record: { uuid: 'u', clientid: 7 } },
  },
  {
    name: 'readUser, newer answer',
    run: (client) => client.readUser(never),
    answer: { status: 200, body: { client_id: '8', clientid: 7 } },
    path: '/v1/user',
    sent: {},
    result: { uuid: null, clientId: 8, record: { client_id: '8', clientid: 7 } },
  },
  {
    name: 'renewSecret',
    run: (client) => client.renewSecret(never),
    answer: { status: 200, body: { secret: 'fresh' } },
    path: '/v1/user/renew_secret',
    sent: {},
    result: { secret: 'fresh' },
  },
  {
    name: 'createClient',
    run: (client) => client.createClient(newClient, never),
    answer: { status: 200, body: { id: 1, partnerid: 2, name: 'Acme' } },
    path: '/v1/objects/client/create',
    sent: newClient,
    result: { id: 1, partnerId: 2, record: { id: 1, partnerid: 2, name: 'Acme' } },
  },
  {
    name: 'bindClient',
    run: (client) => client.bindClient(2, { clientid: 1, id: 99, params: {} }, never),
    answer: { body: { partnerid: 2, clientid: 1, id: 99, params: {} } },
    path: '/v2/partner/2/partner_client',
    sent: { clientid: 1, id: 99, params: {} },
    result: { partnerid: 2, clientid: 1, id: 99, params: {} },
  },
  ...[vpatch, weighted, regex].map((shape, index) => ({
    name: `createRule, shape ${index + 1}`,
    run: (client: ServiceClient) => client.createRule(shape, never),
    answer: { status: 200, body: { id: 5, wrong: 'a key like any other' } },
    path: '/v1/objects/hint/create',
    sent: shape,
    result: { id: 5, wrong: 'a key like any other' },
  })),
  {
    name: 'deleteRules, nothing matched',
    run: (client) => client.deleteRules({ clientid: [4711], id: 5 }, never),
    answer: { status: 200, body: [] },
    path: '/v1/objects/hint/delete',
    sent: { filter: { clientid: [4711], id: 5 } },
    result: [],
  },
]

test.for(operationRows)('$name', async ({ run, answer, path, sent, result }) => {
  await using server = await serve((response) => json(response, 200, answer))
  await using it = bench(server.url)
  expect((await run(it.client)).body).toEqual(result)
  expect(server.requests).toMatchObject([{ path, body: sent }])
})

test('does not send what could only do harm', async () => {
  await using server = await serve((response) => json(response, 200, { body: {} }))
  await using it = bench(server.url)
  const { client } = it
  const refused: Promise<unknown>[] = [
    client.createClient({ ...newClient, vuln_prefix: 'ACM' }, never),
    client.createRule({ ...vpatch, action: [] }, never),
    client.deleteRules({ clientid: [], id: 5 }, never),
    client.deleteRules({ clientid: [1], id: Number.NaN }, never),
    client.bindClient(Number.NaN, { clientid: 1, id: 2, params: {} }, never),
  ]
  for (const promise of refused) expect((await failureOf(promise)).code).toBe('service_rejected')
  expect(server.requests).toEqual([])
  expect([vulnPrefixOf('Ácme Corp'), vulnPrefixOf('x-1')]).toEqual(['ACME', 'X100'])
})

interface ErrorRow {
  name: string
  status: number
  body: string
  headers?: Record<string, string>
  code: ErrorCode
  says?: string
  waitMs?: number
}

const page = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'
const bodyOf = (status: number, body: unknown): string => JSON.stringify({ status, body })

const errorRows: ErrorRow[] = [
  {
    name: 'bad credentials',
    status: 403,
    body: bodyOf(403, 'User not authenticated'),
    code: 'service_refused',
    says: 'User not authenticated',
  },
  { name: 'bad credentials as 401', status: 401, body: '', code: 'service_refused' },
  {
    name: 'no permission',
    status: 403,
    body: bodyOf(403, 'Check permissions failed'),
    code: 'service_refused',
    says: 'Check permissions failed',
  },
  {
    name: 'a field map',
    status: 400,
    body: bodyOf(400, { time: { error: 'invalid date', value: 'x' } }),
    code: 'service_rejected',
    says: 'time: invalid date; got x',
  },
  {
    name: 'a field map without status',
    status: 400,
    body: JSON.stringify({ limit: { error: 'too big', value: 5000 } }),
    code: 'service_rejected',
    says: 'limit: too big; got 5000',
  },
  {
    name: 'an error object',
    status: 400,
    body: bodyOf(400, { error: 'JSON syntax' }),
    code: 'service_rejected',
    says: 'JSON syntax',
  },
  {
    name: 'a bare error object',
    status: 400,
    body: '{"error":"no such filter"}',
    code: 'service_rejected',
    says: 'no such filter',
  },
  { name: 'plain text', status: 418, body: 'teapot', code: 'service_rejected', says: 'teapot' },
  { name: 'not found', status: 404, body: bodyOf(404, 'Not found'), code: 'service_rejected', says: 'Not found' },
  {
    name: 'exists already',
    status: 409,
    body: bodyOf(409, 'Already exists'),
    code: 'service_conflict',
    says: 'Already exists',
  },
  {
    name: 'locked',
    status: 423,
    body: bodyOf(423, 'Rules are locked'),
    code: 'service_locked',
    says: 'Rules are locked',
  },
  { name: 'request time-out', status: 408, body: '', code: 'service_timeout' },
  { name: '429 without a word', status: 429, body: '', code: 'service_throttled' },
  {
    name: '429 with seconds',
    status: 429,
    body: '',
    headers: { 'retry-after': '7' },
    code: 'service_throttled',
    waitMs: 7000,
  },
  {
    name: '429 with a date by the clock of the service',
    status: 429,
    body: '',
    headers: { 'retry-after': 'Wed, 01 Jan 2020 00:00:30 GMT', date: 'Wed, 01 Jan 2020 00:00:00 GMT' },
    code: 'service_throttled',
    waitMs: 30_000,
  },
  {
    name: '429 with a date gone by',
    status: 429,
    body: '',
    headers: { 'retry-after': 'Wed, 01 Jan 2020 00:00:00 GMT', date: 'Wed, 01 Jan 2020 00:00:30 GMT' },
    code: 'service_throttled',
    waitMs: 0,
  },
  { name: '429 with nonsense', status: 429, body: '', headers: { 'retry-after': 'soon' }, code: 'service_throttled' },
  {
    name: '429 for ever',
    status: 429,
    body: '',
    headers: { 'retry-after': '99999999999' },
    code: 'service_throttled',
    waitMs: 3_600_000,
  },
  { name: '500', status: 500, body: bodyOf(500, 'boom'), code: 'service_unavailable', says: 'boom' },
  { name: '502 with HTML', status: 502, body: page, code: 'service_unavailable', says: '502 Bad Gateway' },
  {
    name: '503 with Retry-After',
    status: 503,
    body: page,
    headers: { 'retry-after': '2' },
    code: 'service_unavailable',
    waitMs: 2000,
  },
  { name: '504 with HTML', status: 504, body: '<html>', code: 'service_unavailable', says: 'a page of HTML' },
  { name: '522 with HTML', status: 522, body: page, code: 'service_unavailable' },
  {
    name: '200 with inner 403',
    status: 200,
    body: bodyOf(403, 'User not authenticated'),
    code: 'service_refused',
    says: 'answered 403: User not authenticated',
  },
  {
    name: '200 with inner 429',
    status: 200,
    body: bodyOf(429, 'slow'),
    headers: { 'retry-after': '3' },
    code: 'service_throttled',
    waitMs: 3000,
  },
  {
    name: '200 with inner 500 as a string',
    status: 200,
    body: '{"status":"500","body":null}',
    code: 'service_unavailable',
  },
  { name: '200 with inner 423', status: 200, body: bodyOf(423, 'locked'), code: 'service_locked' },
  { name: '200 with HTML', status: 200, body: page, code: 'service_unreadable', says: 'HTML' },
  { name: '200 and empty', status: 200, body: '', code: 'service_unreadable', says: 'empty' },
  {
    name: '200 cut short in the JSON',
    status: 200,
    body: '{"status":200,"body":[{"id":1},{"i',
    code: 'service_unreadable',
    says: 'cut short',
  },
  { name: '200 without an envelope', status: 200, body: '[{"id":1}]', code: 'service_unreadable', says: 'a list' },
  { name: '200 without a body', status: 200, body: '{"status":200}', code: 'service_unreadable' },
  {
    name: '200 with an object for a list',
    status: 200,
    body: bodyOf(200, {}),
    code: 'service_unreadable',
    says: 'not a list',
  },
  {
    name: '200 with null in the list',
    status: 200,
    body: bodyOf(200, [{}, null]),
    code: 'service_unreadable',
    says: 'position 1',
  },
  { name: '200 with null for a list', status: 200, body: bodyOf(200, null), code: 'service_unreadable' },
  {
    name: 'an encoding not asked for',
    status: 200,
    body: 'x',
    headers: { 'content-encoding': 'br' },
    code: 'service_unreadable',
  },
  {
    name: 'gzip that is none',
    status: 200,
    body: 'not gzip',
    headers: { 'content-encoding': 'gzip' },
    code: 'service_unreadable',
  },
  {
    name: 'a redirect',
    status: 302,
    body: '',
    headers: { location: `https://login.example.org/?t=${uuid}` },
    code: 'service_unreadable',
    says: 'redirect to https://login.example.org/,',
  },
]

test.for(errorRows)('$name is $code', async ({ status, body, headers, code, says, waitMs }) => {
  await using server = await serve((response) => response.writeHead(status, headers).end(body))
  const statuses: number[] = []
  await using it = bench(server.url, { onAnswer: (fact) => statuses.push(fact.status) })
  const error = await failureOf(it.client.list('attack', query, never))
  expect(error.code).toBe(code)
  expect(error.message).toContain(says ?? 'attack (eu)')
  expect(error.waitMs).toBe(waitMs)
  expect(server.requests).toHaveLength(1)
  expect(statuses).toHaveLength(1)
  expect(dump(error)).not.toContain(uuid)
})

const echoes: { name: string; status: number; body: string }[] = [
  { name: 'in a string', status: 403, body: bodyOf(403, `bad key ${secret} of ${uuid.toUpperCase()}`) },
  {
    name: 'in a field map',
    status: 400,
    body: bodyOf(400, { secret: { error: 'wrong', value: 'other-secret' }, uuid }),
  },
  {
    name: 'as another secret',
    status: 400,
    body: bodyOf(400, { token: 'other-secret', note: 'api_key=other-secret' }),
  },
  {
    name: 'escaped',
    status: 400,
    body: bodyOf(400, [encodeURIComponent(secret), JSON.stringify(secret), btoa(secret)]),
  },
  { name: 'in HTML', status: 502, body: `<title>${secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</title>` },
  { name: 'across the cut', status: 400, body: bodyOf(400, 'x'.repeat(290) + secret) },
  { name: 'in what is no JSON', status: 200, body: `${secret} ${uuid}` },
  { name: 'in JSON cut short', status: 200, body: `{"secret":"other-secret","u":"${uuid}` },
  { name: 'under 200', status: 200, body: bodyOf(403, { error: `who is ${uuid}?` }) },
  { name: 'in a renewed secret of another shape', status: 200, body: bodyOf(200, { Secret: 'other-secret' }) },
]

test.for(echoes)('a secret echoed $name is in no error', async ({ status, body }) => {
  await using server = await serve((response) => response.writeHead(status).end(body))
  await using it = bench(server.url)
  const errors = await Promise.all([
    failureOf(it.client.list('hint', query, never)),
    failureOf(it.client.renewSecret(never)),
  ])
  for (const error of errors) {
    const shown = dump(error).toLowerCase()
    for (const word of [uuid, 's3cr3t', 'other-secret', btoa(secret).slice(0, 8)]) {
      expect(shown).not.toContain(word.toLowerCase())
    }
  }
})

test('the partner uuid of a request is masked when echoed', async () => {
  await using server = await serve((response) => json(response, 403, { body: 'no partner partner-uuid-1' }))
  await using it = bench(server.url)
  const error = await failureOf(it.client.createClient(newClient, never))
  expect(error.message).toContain('no partner ***')
})

test('words are bounded, and on one line without control characters', async () => {
  await using server = await serve((response) =>
    json(response, 400, { body: `a\nb\u0000\u001b[31m\u202e${'y'.repeat(9999)}` }),
  )
  await using it = bench(server.url)
  const { message } = await failureOf(it.client.list('attack', query, never))
  expect(message).toContain(String.raw`a b\u0000\u001b[31m\u202ey`)
  expect(message.length).toBeLessThan(350)
})

const bomb = gzipSync(Buffer.alloc(50_000_000, 0x20))
const endless = (response: ServerResponse): void => {
  response.writeHead(200)
  const more = (): void => {
    while (!response.destroyed && response.write(' '.repeat(10_000)));
  }
  response.on('drain', more)
  more()
}

test.for([
  {
    name: 'a gzip bomb',
    answer: (response: ServerResponse) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
  },
  { name: 'an endless answer', answer: endless },
])('$name is stopped', async ({ answer }) => {
  await using server = await serve(answer)
  await using it = bench(server.url, { maxAnswerBytes: 100_000, timeouts: { headersMs: 2000, bodyMs: 5000 } })
  const before = process.memoryUsage().rss
  const error = await failureOf(it.client.list('attack', query, never))
  expect(error.code).toBe('service_too_large')
  expect(process.memoryUsage().rss - before).toBeLessThan(30_000_000)
})

const half = '{"status":200,"body":[{"id"'
const head = 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n'

test.for([
  { name: 'a reset before the headers', take: 'reset', code: 'service_unreachable' },
  { name: 'a close before the headers', take: 'close', code: 'service_unreachable' },
  { name: 'a body cut short', take: 'cut', code: 'service_unreadable' },
  { name: 'a reset in the body', take: 'reset-body', code: 'service_unreadable' },
  { name: 'chunks without an end', take: 'chunked', code: 'service_unreadable' },
  { name: 'something that is not HTTP', take: 'garbage', code: 'service_unreadable' },
  { name: 'no headers', take: 'silence', code: 'service_timeout' },
  { name: 'half a body, then silence', take: 'stall', code: 'service_timeout' },
  { name: 'a trickle', take: 'trickle', code: 'service_timeout' },
] as const)('$name is $code', async ({ take, code }) => {
  await using server = await serveTcp('http', (socket) => {
    socket.once('data', () => {
      if (take === 'reset') socket.resetAndDestroy()
      if (take === 'close') socket.end()
      if (take === 'cut') socket.end(head + half)
      if (take === 'reset-body') socket.write(head + half, () => setTimeout(() => socket.resetAndDestroy(), 30))
      if (take === 'chunked') socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n`)
      if (take === 'garbage') socket.end('SSH-2.0-OpenSSH_9.9\r\n')
      if (take === 'stall') socket.write(head + half)
      if (take !== 'trickle') return
      socket.write(head)
      const timer = setInterval(() => socket.write(' '), 20)
      socket.on('close', () => clearInterval(timer))
    })
  })
  await using it = bench(server.url)
  const error = await failureOf(it.client.list('attack', query, never))
  expect(error.code).toBe(code)
  expect(dump(error)).not.toContain('S3cr3t')
  expect(error.inDoubt).toBe(false)
  const rule = await failureOf(it.client.createRule(vpatch, never))
  expect(rule).toMatchObject({ code, inDoubt: true })
})

test('a refused connection, a silent handshake and an unknown certificate', async () => {
  const gone = await serve(() => undefined)
  await gone[Symbol.asyncDispose]()
  await using refused = bench(gone.url)
  const error = await failureOf(refused.client.createRule(vpatch, never))
  expect(error).toMatchObject({ code: 'service_unreachable', inDoubt: false })

  await using mute = await serveTcp('https', () => undefined)
  await using silent = bench(mute.url)
  expect((await failureOf(silent.client.list('attack', query, never))).code).toBe('service_timeout')

  await using server = await serveTls((response) => json(response, 200, { status: 200, body: [] }))
  await using strange = bench(server.url)
  const untrusted = await failureOf(strange.client.list('attack', query, never))
  expect(untrusted.code).toBe('service_unreachable')
  expect(untrusted.message).toContain('set service.ca')
  await using trusting = bench(server.url, { connections: openConnections({ ca: server.ca }) })
  expect((await trusting.client.list('attack', query, never)).body).toEqual([])
})

test('retries what does no harm, admits each attempt, and releases each admission once', async () => {
  await using server = await serve((response, count) => {
    if (count === 1) response.socket?.destroy()
    else if (count === 2) response.writeHead(502).end(page)
    else json(response, 200, { status: 200, body: [] })
  })
  const log: string[] = []
  let admitted = 0
  await using it = bench(server.url, {
    retries: 3,
    admit: async () => {
      const number = ++admitted
      log.push(`admit ${number}`)
      return () => log.push(`release ${number}`)
    },
    onAnswer: (fact) => log.push(`${fact.operation} ${fact.status}`),
  })
  expect((await it.client.list('action', query, never)).body).toEqual([])
  expect(log).toEqual([
    'admit 1',
    'release 1',
    'action 0',
    'admit 2',
    'release 2',
    'action 502',
    'admit 3',
    'release 3',
    'action 200',
  ])
})

test.for([
  { name: 'a creation', status: 502, headers: {}, run: (client: ServiceClient) => client.createRule(vpatch, never) },
  { name: 'a refusal', status: 403, headers: {}, run: (client: ServiceClient) => client.list('attack', query, never) },
  {
    name: 'a throttling',
    status: 429,
    headers: {},
    run: (client: ServiceClient) => client.list('attack', query, never),
  },
  {
    name: 'a pause asked for',
    status: 503,
    headers: { 'retry-after': '1' },
    run: (client: ServiceClient) => client.readUser(never),
  },
])('$name is not retried', async ({ status, headers, run }) => {
  await using server = await serve((response) => response.writeHead(status, headers).end())
  await using it = bench(server.url, { retries: 3 })
  await failureOf(run(it.client))
  expect(server.requests).toHaveLength(1)
})

test('an admission ends with the headers, not with the body', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await using server = await serve((response) => {
    response.writeHead(200).write('{"status":200,')
    // The rest of the body waits until the admission has been given back.
    void released.then(() => response.end('"body":[]}'))
  })
  await using it = bench(server.url, { admit: async () => release, timeouts: { headersMs: 2000, bodyMs: 2000 } })
  expect((await it.client.list('attack', query, never)).body).toEqual([])
})

test('what admit rejects with is not touched', async () => {
  await using server = await serve((response) => json(response, 200, { body: [] }))
  const lost = new TailraceError('redis_unreachable', 'gone')
  await using it = bench(server.url, { retries: 3, admit: () => Promise.reject(lost) })
  await expect(it.client.list('attack', query, never)).rejects.toBe(lost)
})

test.for([
  { when: 'before', admissions: 0 },
  { when: 'admit', admissions: 1 },
  { when: 'headers', admissions: 1 },
  { when: 'body', admissions: 1 },
  { when: 'backoff', admissions: 1 },
] as const)('aborted: $when', async ({ when, admissions }) => {
  const controller = new AbortController()
  const reason = new Error('shutting down')
  let releases = 0
  await using server = await serve((response) => {
    if (when === 'headers') controller.abort(reason)
    if (when === 'backoff') {
      response.writeHead(500).end()
      return
    }
    response.writeHead(200).write('{"status":200,')
    if (when === 'body') setTimeout(() => controller.abort(reason), 30)
  })
  await using it = bench(server.url, {
    retries: 1000,
    timeouts: { headersMs: 5000, bodyMs: 5000 },
    admit: async () => {
      if (when === 'admit') controller.abort(reason)
      return () => releases++
    },
    onAnswer: () => {
      if (when === 'backoff') controller.abort(reason)
    },
  })
  if (when === 'before') controller.abort(reason)
  await expect(it.client.list('attack', query, controller.signal)).rejects.toBe(reason)
  expect(releases).toBe(admissions)
})

test('tenants share the pool of an origin; closed connections open no new one', async () => {
  const sockets = new Set<unknown>()
  await using server = await serve((response) => {
    sockets.add(response.socket)
    json(response, 200, { status: 200, body: [] })
  })
  const connections = openConnections()
  const [one, two] = [bench(server.url, { connections }), bench(server.url, { connections })]
  for (let i = 0; i < 20; i++) {
    await one.client.list('attack', query, never)
    await two.client.list('attack', query, never)
  }
  // A connection counts as busy for a moment after its answer.
  expect(sockets.size).toBeLessThan(5)
  await connections[Symbol.asyncDispose]()
  expect((await failureOf(one.client.list('attack', query, never))).code).toBe('service_unreachable')
})

test('a truncated gzip is unreadable', async () => {
  const cut = gzipSync('{"status":200,"body":[]}', { level: constants.Z_NO_COMPRESSION }).subarray(0, 20)
  await using server = await serve((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(cut))
  await using it = bench(server.url)
  expect((await failureOf(it.client.list('attack', query, never))).code).toBe('service_unreadable')
})

test.for([
  { name: 'a secret with a line break', more: { credentials: { uuid, secret: 'a\nb' } } },
  { name: 'an empty uuid', more: { credentials: { uuid: '', secret } } },
  { name: 'a header prefix that is none', more: { headerPrefix: 'X: ' } },
  { name: 'no URL', more: { baseUrl: 'eu' } },
  { name: 'a URL with credentials', more: { baseUrl: 'https://me:pw@example.org' } },
])('$name is a mistake in the configuration', async ({ more }) => {
  await using connections = openConnections()
  const options = { baseUrl: 'https://example.org', instance: 'eu', credentials: { uuid, secret }, connections }
  const make = (): ServiceClient => createServiceClient({ ...options, ...more })
  expect(make).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  expect(make).not.toThrow(/pw/)
})
