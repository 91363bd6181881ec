// What all sinks over HTTP share: connections, time-outs, ends, answers and their meaning.

import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { dirname, join } from 'node:path'
import { inspect, promisify } from 'node:util'
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import { retryAfterMs, statusError } from '../../src/ship/http/answers.ts'
import { httpSchema, openHttp, type HttpExchange } from '../../src/ship/http/exchange.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { startHttpServer } from './http-server.ts'
import { optionsOf, patient } from './options.ts'

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())
afterEach(() => {
  vi.useRealTimers()
})

function openTo(origin: string, values: object = {}, secrets: readonly string[] = []): HttpExchange {
  const type = {
    name: 'probe',
    summary: '',
    confirms: '',
    options: httpSchema,
    limits: () => ({ events: 1, bytes: 1 }),
  }
  const options = optionsOf({ ...type, open: () => expect.fail() }, values)
  return openHttp({ sink: 'probe', url: new URL(origin), options, secrets })
}

const post = { method: 'POST', path: '/in?a=b', headers: {}, body: 'text' } as const

async function failure(http: HttpExchange, signal = patient): Promise<unknown> {
  return http.ask(post, signal).catch((error: unknown) => error)
}

/** A TCP server that does with connections as it is told, and counts them. */
async function startTcp(take: (socket: Socket) => void = () => undefined) {
  const sockets = { total: 0, open: new Set<Socket>() }
  const server = createServer((socket) => {
    sockets.total++
    sockets.open.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.open.delete(socket))
    take(socket)
    if (!socket.isPaused()) socket.resume()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    sockets,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

test('an answer has status, headers and text', async () => {
  await using server = await startHttpServer()
  server.replies.usual = (response, { method, url }, body) =>
    response.writeHead(418, { 'x-name': 'value', 'retry-after': '7' }).end(`${method} ${url} ${body.toString()}`)
  await using http = openTo(server.origin)
  const answer = await http.ask({ ...post, gzip: true }, patient)
  const headers = expect.objectContaining({ 'x-name': 'value' }) as unknown
  expect(answer).toMatchObject({ status: 418, headers, retryAfter: '7', text: 'POST /in?a=b text' })
  expect(server.requests[0]?.headers).toMatchObject({ 'content-encoding': 'gzip', 'user-agent': 'tailrace' })
})

test('one request after another uses one connection', async () => {
  await using server = await startHttpServer(files.server)
  await using http = openTo(server.origin, { tls: { ca: files.ca } })
  for (let asked = 0; asked < 5; asked++) {
    await http.ask(post, patient)
    await setImmediate() // undici takes a turn to see that a connection is free again
  }
  expect(server.connections.total).toBe(1)
})

test('no request waits for another', async () => {
  await using server = await startHttpServer()
  await using http = openTo(server.origin)
  const waiting: ServerResponse[] = []
  server.replies.usual = (response) => {
    waiting.push(response)
    if (waiting.length === 64) for (const each of waiting) each.writeHead(204).end()
  }
  const answers = await Promise.all(Array.from({ length: 64 }, () => http.ask(post, patient)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
})

test('a connection of some age gets no more requests', async () => {
  await using server = await startHttpServer()
  await using http = openTo(server.origin)
  vi.useFakeTimers({ toFake: ['Date'] })
  for (const [passed, connections] of [
    [0, 1],
    [59_000, 1],
    [2_000, 2],
    [0, 2],
    [61_000, 3],
  ] as const) {
    vi.setSystemTime(Date.now() + passed)
    await http.ask(post, patient)
    await setImmediate()
    expect(server.connections.total).toBe(connections)
  }
  await expect.poll(() => server.connections.open).toBe(1)
})

test('an idle connection is closed before the receiver does so', async () => {
  await using server = await startHttpServer()
  server.replies.usual = (response) => response.writeHead(204, { 'keep-alive': 'timeout=3' }).end()
  await using http = openTo(server.origin)
  await http.ask(post, patient)
  expect(server.connections.open).toBe(1)
  await expect.poll(() => server.connections.open, { timeout: 4500 }).toBe(0)
})

test('a pin holds on every connection: no session is resumed', async () => {
  await using server = await startHttpServer(files.server)
  server.replies.usual = (response) => response.writeHead(204, { connection: 'close' }).end()
  const { fingerprint256 } = new X509Certificate(readFileSync(files.server.cert))
  await using http = openTo(server.origin, { tls: { fingerprint: fingerprint256, minVersion: 'TLSv1.2' } })
  for (const connections of [1, 2, 3]) {
    expect(await http.ask(post, patient)).toMatchObject({ status: 204 })
    expect(server.connections.total).toBe(connections)
    expect(http.describe().join()).toContain('certificate of CN=localhost')
  }
})

test('without the issuer, the certificate is not trusted', async () => {
  await using server = await startHttpServer(files.server)
  await using http = openTo(server.origin)
  expect(await failure(http)).toMatchObject({ code: 'sink_certificate', remedy: 'halt', inDoubt: false })
  expect(http.describe()).toEqual([])
})

test('a certificate without a subject is one as well', async () => {
  const [key, cert] = [join(dirname(files.ca), 'bare.key'), join(dirname(files.ca), 'bare.pem')]
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', cert]
  const named = ['-subj', '/', '-addext', 'subjectAltName=IP:127.0.0.1']
  await promisify(execFile)('openssl', ['req', '-x509', ...made, ...named])
  await using server = await startHttpServer({ key, cert })
  await using http = openTo(server.origin, { tls: { ca: cert } })
  expect(await http.ask(post, patient)).toMatchObject({ status: 204 })
  expect(http.describe().join()).toContain('certificate of nobody')
})

test('a receiver that does not speak TLS is a wrong address', async () => {
  await using server = await startHttpServer()
  await using http = openTo(server.origin.replace('http:', 'https:'))
  expect(await failure(http)).toMatchObject({ code: 'sink_misconfigured', remedy: 'halt', inDoubt: false })
})

test('a handshake that never ends is no connection, and nothing stays open', async () => {
  await using silent = await startTcp()
  await using http = openTo(`https://127.0.0.1:${silent.port}`, { timeout: 200 })
  expect(await failure(http)).toMatchObject({ code: 'sink_unreachable', remedy: 'retry', inDoubt: false })
  await expect.poll(() => silent.sockets.open.size).toBe(0)
})

test('a signal ends a request while it connects; disposing ends the connection', async () => {
  await using silent = await startTcp()
  const http = openTo(`https://127.0.0.1:${silent.port}`)
  const controller = new AbortController()
  const asked = failure(http, controller.signal)
  await expect.poll(() => silent.sockets.open.size).toBe(1)
  const reason = new Error('enough')
  controller.abort(reason)
  expect(await asked).toBe(reason)
  await http[Symbol.asyncDispose]()
  await expect.poll(() => silent.sockets.open.size).toBe(0)
})

test('what was given up while it waited for a connection is not sent when there is one', async () => {
  await using server = await startHttpServer(files.server)
  const held: Socket[] = []
  await using slow = await startTcp((socket) => held.push(socket.pause()))
  await using http = openTo(`https://127.0.0.1:${slow.port}`, { tls: { ca: files.ca } })
  const controller = new AbortController()
  const asked = failure(http, controller.signal)
  await expect.poll(() => held.length).toBe(1)
  controller.abort(new Error('enough'))
  await asked
  const [socket] = held
  socket?.pipe(connect(server.port, '127.0.0.1')).pipe(socket)
  await expect.poll(() => socket?.destroyed).toBe(true)
  expect(server.requests).toEqual([])
})

test('disposing ends what waits; afterwards nothing is asked', async () => {
  await using server = await startHttpServer()
  server.replies.usual = () => undefined
  const http = openTo(server.origin)
  const asked = failure(http)
  await expect.poll(() => server.requests.length).toBe(1)
  await http[Symbol.asyncDispose]()
  await http[Symbol.asyncDispose]()
  expect(await asked).toMatchObject({ remedy: 'retry', inDoubt: true })
  expect(await failure(http)).toMatchObject({ code: 'sink_unreachable', inDoubt: false })
  await expect.poll(() => server.connections.open).toBe(0)
})

test('a receiver that closes each connection is asked once for each request', async () => {
  await using rude = await startTcp((socket) => socket.destroy())
  await using http = openTo(`http://127.0.0.1:${rude.port}`)
  for (const asked of [1, 2, 3]) {
    expect(await failure(http)).toMatchObject({ code: 'sink_reset', remedy: 'retry', inDoubt: true })
    expect(rude.sockets.total).toBe(asked)
  }
})

test('an answer that never comes is in doubt after the time-out, and its connection is closed', async () => {
  await using server = await startHttpServer()
  server.replies.usual = () => undefined
  await using http = openTo(server.origin, { timeout: 800 })
  expect(await failure(http)).toMatchObject({ code: 'sink_timeout', remedy: 'retry', inDoubt: true })
  server.replies.usual = (response) => void response.writeHead(200).write('half')
  expect(await failure(http)).toMatchObject({ code: 'sink_timeout', remedy: 'retry', inDoubt: true })
  await expect.poll(() => server.connections.open).toBe(0)
})

test('an answer that breaks off is no confirmation', async () => {
  await using server = await startHttpServer()
  server.replies.usual = (response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half', () => response.destroy())
  }
  await using http = openTo(server.origin)
  expect(await failure(http)).toMatchObject({ code: 'sink_reset', remedy: 'retry', inDoubt: true })
})

test('what is no HTTP is no confirmation', async () => {
  await using rude = await startTcp((socket) => void socket.write('220 mail.example.org ESMTP\r\n'))
  await using http = openTo(`http://127.0.0.1:${rude.port}`)
  expect(await failure(http)).toMatchObject({ remedy: 'retry', inDoubt: true })
})

test('an endless answer is cut off', async () => {
  await using server = await startHttpServer()
  server.replies.usual = (response) => response.end('x'.repeat(3_000_000))
  await using http = openTo(server.origin)
  expect(await failure(http)).toMatchObject({ code: 'sink_misconfigured', inDoubt: true })
})

test('the text of an answer has none of the secrets, the longer ones first', async () => {
  await using server = await startHttpServer()
  server.replies.usual = (response) => response.end('a: abcdefgh b: abcd c: xy')
  await using http = openTo(server.origin, {}, ['abcd', 'abcdefgh', 'xy', ''])
  expect((await http.ask(post, patient)).text).toBe('a: [secret] b: [secret] c: xy')
  expect(inspect(http, { depth: 12, showHidden: true })).not.toContain('abcd')
})

test.for([
  ['0', 0],
  [' 12 ', 12_000],
  ['1.5', 1500],
  ['999999', 3_600_000],
  ['9'.repeat(400), 3_600_000],
  [['3', '4'], 3000],
  ['Sat, 21 Nov 2026 00:00:30 GMT', 30_000],
  ['Sat, 21 Nov 2020 00:00:00 GMT', 0],
  ['Saturday, whenever', undefined],
  ['soon', undefined],
  ['soon 7', undefined],
  ['-5', undefined],
  ['', undefined],
  [undefined, undefined],
] as const)('Retry-After %j is %j ms', ([header, ms]) => {
  expect(retryAfterMs(typeof header === 'object' ? [...header] : header, Date.UTC(2026, 10, 21))).toBe(ms)
})

test.for([
  ['<html>\r\n<head><title>400 No required SSL certificate was sent</title></head>', 'sink_credentials'],
  ['<html>\r\n<head><title>400 The SSL certificate error</title></head>', 'sink_credentials'],
  ['<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>', 'sink_misconfigured'],
  ['<html>\r\n<head><title>400 Request Header Or Cookie Too Large</title></head>', 'sink_misconfigured'],
  ['Client sent an HTTP request to an HTTPS server.\n', 'sink_misconfigured'],
  // What an attacker has put into an event, and the receiver repeats.
  ['bad event: <html><head><title>400 The SSL certificate error</title>', 'sink_refused_batch'],
  ['Client sent an HTTP request to an HTTPS server. /etc/passwd', 'sink_refused_batch'],
] as const)('status 400 with %j is %s', ([text, code]) => {
  expect(statusError({ where: 'here', status: 400, retryAfter: undefined, text }, 2)).toMatchObject({ code })
})

test('messages are one line of words, and say that a redirect is not followed', () => {
  const message = (status: number, text: string) =>
    statusError({ where: 'here', status, retryAfter: undefined, text }, 1).message
  const page = '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<hr>nginx</body>'
  expect(message(502, page)).toBe('here: status 502: 502 Bad Gateway nginx')
  expect(message(500, 'a\n\u0000\u2028b')).toBe('here: status 500: a b')
  expect(message(302, '')).toBe('here: status 302 (redirects are not followed)')
  expect(message(500, 'x'.repeat(1000)).length).toBeLessThan(350)
})

test('what is thrown is always one of our errors', async () => {
  await using http = openTo('http://127.0.0.1:1')
  expect(await failure(http)).toBeInstanceOf(TailraceError)
  await using nowhere = openTo('http://receiver.invalid')
  expect(await failure(nowhere)).toMatchObject({ code: 'sink_unreachable', inDoubt: false })
})
