// Which proxy is gone through, and what becomes of requests there: with a proxy that does as it is told.

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { Sink } from '../../src/ship/sink.ts'
import { proxyFor, proxyLogin } from '../../src/ship/http/proxy.ts'
import { webhook } from '../../src/ship/sinks/webhook.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { startProxy } from './connect-proxy.ts'
import { startHttpServer } from './http-server.ts'
import { batch, openSink, patient } from './options.ts'

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())
afterEach(() => {
  vi.unstubAllEnvs()
})

test.for([
  ['https://a.example', '', {}, undefined],
  ['https://a.example', '', { HTTPS_PROXY: 'http://p:1' }, 'http://p:1'],
  ['https://a.example', '', { https_proxy: 'http://p:1', HTTPS_PROXY: 'http://q:2' }, 'http://p:1'],
  ['https://a.example', '', { https_proxy: '', HTTPS_PROXY: 'http://q:2' }, 'http://q:2'],
  ['https://a.example', '', { HTTP_PROXY: 'http://p:1' }, undefined],
  ['http://a.example', '', { HTTP_PROXY: 'http://p:1' }, 'http://p:1'],
  ['http://a.example', '', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['https://a.example', 'none', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['https://a.example', 'http://mine:3', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*' }, 'http://mine:3'],
  ['https://a.example', 'mine:3128', {}, 'http://mine:3128'],
  ['https://a.example', 'https://mine', {}, 'https://mine'],
] as const)('%s with proxy %j and %j goes through %s', ([url, chosen, env, through]) => {
  expect(proxyFor(new URL(url), chosen, env)?.origin).toBe(through)
})

test.for([
  ['', 'https://a.example', false],
  ['*', 'https://a.example', true],
  ['a.example', 'https://a.example', true],
  ['A.Example', 'https://a.example', true],
  ['a.example.', 'https://a.example', true],
  ['a.example', 'https://a.example.', true],
  ['a.example', 'https://b.a.example', true],
  ['.a.example', 'https://b.a.example', true],
  ['.a.example', 'https://a.example', true],
  ['*.a.example', 'https://b.a.example', true],
  ['a.example', 'https://ba.example', false],
  ['a.example', 'https://a.example.org', false],
  ['x, a.example ,y', 'https://a.example', true],
  ['x a.example', 'https://a.example', true],
  ['a.example:443', 'https://a.example', true],
  ['a.example:8443', 'https://a.example', false],
  ['a.example:8443', 'https://a.example:8443', true],
  ['a.example:80', 'http://a.example', true],
  ['10.0.0.1', 'https://10.0.0.1', true],
  ['10.0.0.1:443', 'https://10.0.0.1', true],
  ['0.0.1', 'https://10.0.0.1', false],
  ['.0.1', 'https://10.0.0.1', false],
  ['10.0.0.0/8', 'https://10.1.2.3', true],
  ['10.0.0.0/8', 'https://11.1.2.3', false],
  ['10.0.0.0/33', 'https://10.1.2.3', false],
  ['10.0.0.0/', 'https://10.1.2.3', false],
  ['10.0.0.0/8', 'https://a.example', false],
  ['::1', 'https://[::1]', true],
  ['[::1]', 'https://[::1]', true],
  ['[::1]:8443', 'https://[::1]:8443', true],
  ['[::1]:8443', 'https://[::1]', false],
  ['0:0:0:0:0:0:0:1', 'https://[::1]', true],
  ['2001:DB8::1', 'https://[2001:db8::1]', true],
  ['2001:db8::/32', 'https://[2001:db8:5::1]', true],
  ['[2001:db8::]/32', 'https://[2001:db8:5::1]', true],
  ['2001:db8::/32', 'https://[2001:db9::1]', false],
  ['.', 'https://a.example', false],
  ['/', 'https://a.example', false],
  [':', 'https://a.example', false],
] as const)('NO_PROXY=%s: %s goes directly: %s', ([list, url, directly]) => {
  const env = { HTTP_PROXY: 'http://p:1', HTTPS_PROXY: 'http://p:1' }
  for (const name of ['NO_PROXY', 'no_proxy']) {
    expect(proxyFor(new URL(url), '', { ...env, [name]: list }) === undefined).toBe(directly)
  }
})

test('NO_PROXY: whatever else is in the list, a host that is named goes directly', () => {
  const host = fc.oneof(
    fc.domain(),
    fc.ipV4(),
    fc.ipV6().map((address) => `[${address}]`),
  )
  const check = (name: string, junk: readonly string[], at: number) => {
    const list = junk.toSpliced(at % (junk.length + 1), 0, name).join(',')
    const env = { HTTPS_PROXY: 'http://p:1', NO_PROXY: list }
    expect(proxyFor(new URL(`https://${name}/x`), '', env)).toBeUndefined()
  }
  fc.assert(fc.property(host, fc.array(fc.string()), fc.nat(), check))
})

test.for(['socks5://p:1080', 'http://%', 'ftp://p', 'http://u:%zz@p:1'])(
  'the proxy %s is refused, unsaid',
  (chosen) => {
    const code = 'sink_misconfigured'
    const message = expect.not.stringContaining(chosen) as unknown
    const url = new URL('https://a.example')
    expect(() => proxyFor(url, chosen, {})).toThrow(expect.objectContaining({ code, message }))
    expect(() => proxyFor(url, '', { HTTPS_PROXY: chosen })).toThrow(expect.objectContaining({ code, message }))
  },
)

test('the login of a proxy is decoded', () => {
  expect(proxyLogin(new URL('http://p:1'))).toBeUndefined()
  const login = proxyLogin(new URL('http://us%3Aer:p%40ss%C3%A9@p:1')) ?? ''
  expect(Buffer.from(login.replace('Basic ', ''), 'base64').toString()).toBe('us:er:p@ssé')
})

const two = [Buffer.from('{"a":1}'), Buffer.from('{"b":2}')]

async function failure(sink: Sink, signal = patient): Promise<unknown> {
  return sink.send(two, batch, signal).catch((error: unknown) => error)
}

for (const scheme of ['http', 'https'] as const) {
  test(`${scheme} goes through a tunnel, which is kept`, async () => {
    await using server = await startHttpServer(scheme === 'https' ? files.server : undefined)
    await using proxy = await startProxy()
    const url = server.origin.replace('127.0.0.1', 'localhost')
    vi.stubEnv(`${scheme.toUpperCase()}_PROXY`, `http://user:proxy%2Dsecret@127.0.0.1:${proxy.port}`)
    await using sink = openSink(webhook, { url, tls: { ca: files.ca } })
    await sink.send(two, batch, patient)
    await setImmediate() // undici takes a turn to see that a connection is free again
    await sink.send(two, batch, patient)
    await setImmediate()
    const login = `Basic ${Buffer.from('user:proxy-secret').toString('base64')}`
    expect(proxy.asked).toEqual([{ target: `localhost:${server.port}`, login }])
    expect(server.taken.length).toBe(2)
    expect(server.requests.map(({ headers }) => headers['proxy-authorization'])).toEqual([undefined, undefined])
    expect(server.requests[0]?.headers.host).toBe(`localhost:${server.port}`)
    const findings = (await sink.look(patient)).findings.join('\n')
    expect(findings).toContain(`localhost:${server.port} through the proxy http://127.0.0.1:${proxy.port}`)
    expect(findings).toContain(scheme === 'https' ? 'certificate of CN=localhost' : 'not encrypted')
  })
}

test('a proxy may be spoken to over TLS; the certificate must be its own, the pin is that of the receiver', async () => {
  await using server = await startHttpServer(files.server)
  await using proxy = await startProxy(files.server)
  const parts = { url: server.origin, tls: { ca: files.ca } }
  await using sink = openSink(webhook, { ...parts, proxy: `https://localhost:${proxy.port}` })
  await sink.send(two, batch, patient)
  expect(server.taken.length).toBe(1)
  await using other = await startProxy(files.elsewhere)
  await using wary = openSink(webhook, { ...parts, proxy: `https://localhost:${other.port}` })
  expect(await failure(wary)).toMatchObject({ code: 'sink_certificate', inDoubt: false })
  expect(other.asked).toEqual([])
})

test('behind a proxy, the certificate of the receiver is looked at as ever', async () => {
  await using server = await startHttpServer(files.elsewhere)
  await using proxy = await startProxy()
  await using sink = openSink(webhook, {
    url: server.origin,
    proxy: `127.0.0.1:${proxy.port}`,
    tls: { ca: files.ca },
  })
  expect(await failure(sink)).toMatchObject({ code: 'sink_certificate', inDoubt: false })
  expect(server.requests).toEqual([])
  await expect.poll(() => proxy.open.size).toBe(0)
})

test.for([
  [407, 'sink_credentials', 'halt'],
  [403, 'sink_misconfigured', 'halt'],
  [405, 'sink_misconfigured', 'halt'],
  [301, 'sink_misconfigured', 'halt'],
  [429, 'sink_unreachable', 'retry'],
  [502, 'sink_unreachable', 'retry'],
  [503, 'sink_unreachable', 'retry'],
  [504, 'sink_unreachable', 'retry'],
] as const)('a proxy that says %d: %s', async ([status, code, remedy]) => {
  await using server = await startHttpServer(files.server)
  await using proxy = await startProxy()
  proxy.status = status
  const through = `http://user:proxy-secret@127.0.0.1:${proxy.port}`
  await using sink = openSink(webhook, { url: server.origin, proxy: through, tls: { ca: files.ca } })
  const error = await failure(sink)
  expect(error).toMatchObject({ code, remedy, inDoubt: false, status })
  expect(inspect(error, { depth: 12, showHidden: true })).not.toMatch(/proxy-secret|cHJveHktc2VjcmV0|dXNlcjpwcm94eS1z/)
  expect(server.connections.total).toBe(0)
  await expect.poll(() => proxy.open.size).toBe(0)
  proxy.status = 200
  expect(await sink.send(two, batch, patient)).toEqual([])
})

test('a proxy that is down, breaks off, or does not answer: nothing is in doubt', async () => {
  const sockets = { total: 0 }
  const rude = createServer((socket) => {
    sockets.total++
    socket.on('error', () => undefined).destroy()
  }).listen(0, '127.0.0.1')
  await once(rude, 'listening')
  const { port } = rude.address() as AddressInfo
  const parts = { url: 'http://receiver.invalid/', proxy: `http://user:proxy-secret@127.0.0.1:${port}` }
  await using sink = openSink(webhook, parts)
  const unreachable = { code: 'sink_unreachable', remedy: 'retry', inDoubt: false }
  const broken = await failure(sink)
  expect(broken).toMatchObject(unreachable)
  expect(sockets.total).toBe(1)
  rude.close()
  await once(rude, 'close')
  const down = await failure(sink)
  expect(down).toMatchObject(unreachable)
  for (const error of [broken, down]) {
    expect(String(error)).toContain(`through the proxy http://127.0.0.1:${port}`)
    expect(inspect(error, { depth: 12, showHidden: true })).not.toMatch(/proxy-secret|dXNlcjpwcm94eS1z/)
  }

  await using silent = await startProxy()
  silent.status = 0
  await using patientSink = openSink(webhook, { ...parts, proxy: `127.0.0.1:${silent.port}`, timeout: 200 })
  expect(await failure(patientSink)).toMatchObject(unreachable)
  await expect.poll(() => silent.open.size).toBe(0)
})

test('disposing ends a tunnel that is under way', async () => {
  await using silent = await startProxy()
  silent.status = 0
  const sink = openSink(webhook, { url: 'http://receiver.invalid/', proxy: `127.0.0.1:${silent.port}` })
  const sent = failure(sink)
  await expect.poll(() => silent.asked.length).toBe(1)
  await sink[Symbol.asyncDispose]()
  await sent
  await expect.poll(() => silent.open.size).toBe(0)
})
