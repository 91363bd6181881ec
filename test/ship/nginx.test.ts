// A webhook behind a real nginx: what a front end refuses, limits and breaks, and what becomes of the batch.

import { Buffer } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { webhook } from '../../src/ship/sinks/webhook.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { startHttpServer } from './http-server.ts'
import { hasNginx, startNginx } from './nginx.ts'
import { batch, openSink, patient } from './options.ts'

const two = [Buffer.from('{"a":1}'), Buffer.from('{"b":2}')]

describe.skipIf(!hasNginx)('behind nginx', () => {
  let files: Certificates

  beforeAll(async () => {
    files = await makeCertificates()
  })
  afterAll(() => files[Symbol.asyncDispose]())

  const tls = () => `ssl_certificate ${files.server.cert}; ssl_certificate_key ${files.server.key};
    ssl_client_certificate ${files.ca}; ssl_verify_client on;`

  for (const protocol of ['TLSv1.2', 'TLSv1.3']) {
    test(`mutual ${protocol}: ours is let in; none and a stranger's are credentials, not bad events`, async () => {
      await using server = await startHttpServer()
      const secure = { listen: 'ssl', server: `${tls()} ssl_protocols ${protocol};` }
      await using nginx = await startNginx({ upstream: server.port, ...secure })
      const url = `https://127.0.0.1:${nginx.port}`
      await using sink = openSink(webhook, { url, tls: { ca: files.ca, ...files.client } })
      expect(await sink.send(two, batch, patient)).toEqual([])
      expect((await sink.look(patient)).findings.join('\n')).toContain(protocol)
      for (const own of [{}, files.stranger]) {
        await using refused = openSink(webhook, { url, tls: { ca: files.ca, ...own } })
        const credentials = { code: 'sink_credentials', remedy: 'halt', inDoubt: false }
        await expect(refused.send(two, batch, patient)).rejects.toMatchObject(credentials)
        await expect(refused.look(patient)).rejects.toMatchObject(credentials)
      }
      expect(server.taken.length).toBe(1)
    })
  }

  test('http to a port of https is a wrong address, not a bad event', async () => {
    await using server = await startHttpServer()
    await using nginx = await startNginx({ upstream: server.port, listen: 'ssl', server: tls() })
    await using sink = openSink(webhook, { url: `http://127.0.0.1:${nginx.port}` })
    const wrong = { code: 'sink_misconfigured', message: expect.stringContaining('sent to HTTPS port') as unknown }
    await expect(sink.send(two, batch, patient)).rejects.toMatchObject(wrong)
  })

  test('client_max_body_size: a batch that is too large is split, an event that is too large refused', async () => {
    await using server = await startHttpServer()
    await using nginx = await startNginx({ upstream: server.port, server: 'client_max_body_size 1k;' })
    await using sink = openSink(webhook, { url: `http://127.0.0.1:${nginx.port}` })
    // The large ones are still being sent when nginx answers.
    for (const bytes of [600, 100_000, 8_000_000]) {
      const half = Buffer.alloc(bytes, 'x')
      const refused = { code: 'sink_refused_batch', remedy: 'split', status: 413, inDoubt: false }
      await expect(sink.send([half, half], batch, patient)).rejects.toMatchObject(refused)
    }
    expect(await sink.send([Buffer.alloc(600, 'x')], batch, patient)).toEqual([])
    const alone = { code: 'sink_refused_event', remedy: 'stop' }
    await expect(sink.send([Buffer.alloc(2000, 'x')], batch, patient)).rejects.toMatchObject(alone)
  })

  test.for([
    ['limit_req_status 429;', 'sink_throttled', 'wait'],
    ['', 'sink_unavailable', 'retry'],
  ] as const)('limit_req %s', async ([status, code, remedy]) => {
    await using server = await startHttpServer()
    const http = 'limit_req_zone $binary_remote_addr zone=one:32k rate=1r/m;'
    const parts = { upstream: server.port, http, server: `limit_req zone=one; ${status}` }
    await using nginx = await startNginx(parts)
    await using sink = openSink(webhook, { url: `http://127.0.0.1:${nginx.port}` })
    expect(await sink.send(two, batch, patient)).toEqual([])
    await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ code, remedy, inDoubt: false })
    expect(server.requests.length).toBe(1)
  })

  test('a receiver that is slow, breaks off or is down behind it: again, and in doubt', async () => {
    await using server = await startHttpServer()
    await using nginx = await startNginx({ upstream: server.port, server: 'proxy_read_timeout 500ms;' })
    await using sink = openSink(webhook, { url: `http://127.0.0.1:${nginx.port}` })
    const again = { code: 'sink_unavailable', remedy: 'retry', inDoubt: true }
    server.replies.early = () => undefined
    await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ ...again, status: 504 })
    server.replies.early = (response) => response.destroy()
    await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ ...again, status: 502 })
    await server.stop()
    await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ ...again, status: 502 })
    await expect(sink.look(patient)).rejects.toMatchObject({ code: 'sink_unavailable' })
    server.replies.early = undefined
    await server.start()
    expect(await sink.send(two, batch, patient)).toEqual([])
  })

  test('an answer that it cuts short is no confirmation', async () => {
    await using server = await startHttpServer()
    await using nginx = await startNginx({ upstream: server.port, server: 'proxy_buffering off;' })
    await using sink = openSink(webhook, { url: `http://127.0.0.1:${nginx.port}` })
    server.replies.usual = (response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half', () => response.destroy())
    }
    await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ code: 'sink_reset', inDoubt: true })
  })

  test.for(['keepalive_requests 1;', 'keepalive_timeout 0;', 'keepalive_timeout 60s 60s;'])(
    'connections under %s',
    async (directive) => {
      await using server = await startHttpServer()
      await using nginx = await startNginx({ upstream: server.port, server: directive })
      await using sink = openSink(webhook, { url: `http://127.0.0.1:${nginx.port}`, gzip: true })
      for (let sent = 0; sent < 20; sent++) expect(await sink.send(two, batch, patient)).toEqual([])
      await Promise.all(Array.from({ length: 20 }, () => sink.send(two, batch, patient)))
      expect(server.taken.length).toBe(40)
    },
  )

  test('an nginx that is killed and comes back', async () => {
    await using server = await startHttpServer()
    await using nginx = await startNginx({ upstream: server.port })
    await using sink = openSink(webhook, { url: `http://127.0.0.1:${nginx.port}` })
    expect(await sink.send(two, batch, patient)).toEqual([])
    await nginx.stop()
    await setImmediate()
    await expect(sink.send(two, batch, patient)).rejects.toMatchObject({ remedy: 'retry' })
    await nginx.start()
    expect(await sink.send(two, batch, patient)).toEqual([])
  })
})
