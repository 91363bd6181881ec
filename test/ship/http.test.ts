// The contract over HTTP and HTTPS, and what every status means.

import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Buffer } from 'node:buffer'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import { retryAfterMs } from '../../src/ship/http-answers.ts'
import { http } from '../../src/ship/sinks/http.ts'
import { makeCertificates, type Certificate, type Certificates } from './certificates.ts'
import { batch, openSink, patient } from './options.ts'
import { testSinkContract } from './sink-contract.ts'

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())

type Answer = (response: ServerResponse, request: IncomingMessage) => void

async function startServer(identity?: Certificate) {
  const bodies: Buffer[] = []
  const requests: IncomingMessage[] = []
  const accept: RequestListener = (request, response) => {
    if (state.early !== undefined) {
      state.early(response, request)
      return
    }
    const take = (body: Buffer) => {
      requests.push(request)
      if (request.method === 'POST') bodies.push(body)
      state.answer(response, request)
    }
    buffer(request).then(take, () => undefined)
  }
  const state = {
    answer: ((response) => response.writeHead(204).end()) as Answer,
    early: undefined as Answer | undefined,
  }
  const launch = async (port: number) => {
    const secure = identity && { cert: readFileSync(identity.cert), key: readFileSync(identity.key) }
    const server = secure === undefined ? createServer(accept) : createSecureServer(secure, accept)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let server = await launch(0)
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return {
    bodies,
    requests,
    state,
    url: `${identity === undefined ? 'http' : 'https'}://127.0.0.1:${port}/in?key=url-secret`,
    stop,
    async start() {
      server = await launch(port)
    },
    [Symbol.asyncDispose]: stop,
  }
}

function linesOf(bodies: readonly Buffer[]): string[] {
  return bodies.flatMap((body) => body.toString().split('\n').slice(0, -1))
}

for (const scheme of ['http', 'https'] as const) {
  testSinkContract(scheme, async () => {
    const server = await startServer(scheme === 'https' ? files.server : undefined)
    const waiting = new Set<ServerResponse>()
    const stall: Answer = (response) => {
      waiting.add(response)
      response.on('close', () => waiting.delete(response))
    }
    return {
      ...server,
      openSink: () => openSink(http, { url: server.url, tls: { ca: files.ca } }),
      async received() {
        return linesOf(server.bodies)
      },
      unreachable: 'sink_unreachable',
      breakMidway: () => void (server.state.early = (response) => response.destroy()),
      stall: () => void (server.state.early = stall),
      connections: () => waiting.size,
    }
  })
}

const two = [Buffer.from('{"a":1}'), Buffer.from('{"b":"ж"}')]

test.for([
  [200, 2, undefined],
  [299, 2, undefined],
  [301, 2, 'sink_misconfigured'],
  [307, 2, 'sink_misconfigured'],
  [400, 2, 'sink_refused_batch'],
  [400, 1, 'sink_refused_event'],
  [401, 2, 'sink_credentials'],
  [403, 1, 'sink_credentials'],
  [404, 1, 'sink_misconfigured'],
  [405, 2, 'sink_misconfigured'],
  [408, 2, 'sink_unavailable'],
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
  await using server = await startServer()
  server.state.answer = (response) => response.writeHead(status, { location: '/elsewhere' }).end('because')
  await using sink = openSink(http, { url: server.url })
  const error = await sink.send(two.slice(0, events), batch, patient).catch((thrown: unknown) => thrown)
  expect(error instanceof TailraceError ? [error.code, error.status] : error).toEqual(code && [code, status])
  expect(server.requests.length).toBe(1)
})

test.for([429, 503])('%d says how long to wait', async (status) => {
  await using server = await startServer()
  server.state.answer = (response) => response.writeHead(status, { 'retry-after': '7' }).end()
  await using sink = openSink(http, { url: server.url })
  const error = { code: 'sink_throttled', remedy: 'wait', waitMs: 7000 }
  await expect(sink.send(two, batch, patient)).rejects.toMatchObject(error)
})

test.for([
  ['0', 0],
  [' 12 ', 12_000],
  ['999999', 3_600_000],
  ['Sat, 21 Nov 2026 00:00:30 GMT', 30_000],
  ['Sat, 21 Nov 2020 00:00:00 GMT', 0],
  ['soon', undefined],
  ['', undefined],
  [undefined, undefined],
] as const)('Retry-After %j is %j ms', ([header, ms]) => {
  expect(retryAfterMs(header, Date.UTC(2026, 10, 21))).toBe(ms)
})

test('the request says what it is', async () => {
  await using server = await startServer()
  await using sink = openSink(http, { url: server.url, token: 'the-token', headers: { 'X-Team': 'soc' } })
  await sink.send(two, { ...batch, sendId: 'b-77' }, patient)
  expect(server.requests[0]).toMatchObject({ method: 'POST', url: '/in?key=url-secret' })
  expect(server.requests[0]?.headers).toMatchObject({
    authorization: 'Bearer the-token',
    'content-type': 'application/x-ndjson',
    'idempotency-key': 'b-77',
    'x-team': 'soc',
  })
})

test('a JSON array, compressed', async () => {
  await using server = await startServer()
  await using sink = openSink(http, { url: server.url, body: 'json-array', gzip: true })
  await sink.send(two, batch, patient)
  await sink.send(two.slice(0, 1), batch, patient)
  expect(server.requests[0]?.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': 'application/json' })
  const arrays = server.bodies.map((body) => JSON.parse(gunzipSync(body).toString()) as unknown)
  expect(arrays).toEqual([[{ a: 1 }, { b: 'ж' }], [{ a: 1 }]])
  const plain = { ...batch, contentType: 'text/plain' }
  await expect(sink.send(two, plain, patient)).rejects.toMatchObject({ code: 'sink_misconfigured' })
})

test('an answer that never comes is in doubt after the time-out', async () => {
  await using server = await startServer()
  server.state.answer = () => undefined
  await using sink = openSink(http, { url: server.url, timeout: 50 })
  await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ code: 'sink_timeout', inDoubt: true })
})

test('an answer that breaks off is no confirmation', async () => {
  await using server = await startServer()
  server.state.answer = (response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half', () => response.destroy())
  }
  await using sink = openSink(http, { url: server.url })
  await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ code: 'sink_reset', inDoubt: true })
})

test('an endless answer is cut off', async () => {
  await using server = await startServer()
  server.state.answer = (response) => response.end('x'.repeat(3_000_000))
  await using sink = openSink(http, { url: server.url })
  await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ code: 'sink_misconfigured' })
})

test('secrets are in no error, even when the receiver repeats them', async () => {
  await using server = await startServer()
  server.state.answer = (response, { headers, url }) => response.writeHead(400).end(JSON.stringify({ headers, url }))
  const secrets = { token: 'token-secret', headers: { 'x-key': 'header-secret' } }
  await using sink = openSink(http, { url: server.url, ...secrets })
  const error = await sink.send(two, batch, patient).catch((thrown: unknown) => thrown)
  await server.stop()
  const gone = await sink.send(two, batch, patient).catch((thrown: unknown) => thrown)
  for (const thrown of [error, gone, sink]) {
    expect(inspect(thrown, { depth: 12, showHidden: true })).not.toMatch(/(token|header|url)-secret/)
  }
})

test.for(['elsewhere', 'expired', 'stranger'] as const)('HTTPS: the certificate %s is refused', async (name) => {
  await using server = await startServer(files[name])
  await using sink = openSink(http, { url: server.url, tls: { ca: files.ca } })
  const refused = { code: 'sink_certificate', remedy: 'halt', inDoubt: false }
  await expect(sink.send(two, batch, patient)).rejects.toMatchObject(refused)
  expect(server.requests).toEqual([])
})

test('HTTPS: another host name, or a fingerprint, may be expected', async () => {
  await using server = await startServer(files.elsewhere)
  await using named = openSink(http, { url: server.url, tls: { ca: files.ca, servername: 'elsewhere.example' } })
  await named.send(two, batch, patient)
  const { fingerprint256 } = new X509Certificate(readFileSync(files.elsewhere.cert))
  await using pinned = openSink(http, { url: server.url, tls: { fingerprint: fingerprint256 } })
  await pinned.send(two, batch, patient)
  expect(server.bodies.length).toBe(2)
  await using wrong = openSink(http, { url: server.url, tls: { fingerprint: 'AB'.repeat(32) } })
  await expect(wrong.send(two, batch, patient)).rejects.toMatchObject({ code: 'sink_certificate', inDoubt: false })
})

test.for([
  { url: '' },
  { url: 'ftp://host/' },
  { url: 'http://user:password@host/' },
  { url: 'http://host/', headers: { 'bad name': 'x' } },
  { url: 'http://host/', headers: { name: 'a\r\nb: c' } },
  { url: 'http://host/', headers: { name: 5 } },
])('the options %j are refused', (options) => {
  expect(() => openSink(http, options)).toThrow(expect.objectContaining({ code: 'sink_misconfigured' }))
})
