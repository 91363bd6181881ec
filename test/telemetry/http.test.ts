import { expect, test } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import { createReport } from '../../src/telemetry/create-report.ts'
import { startHttp } from '../../src/telemetry/http.ts'
import type { HttpOptions } from '../../src/telemetry/http.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { createStatus } from '../../src/telemetry/status.ts'
import type { StatusPicture } from '../../src/telemetry/status.ts'
import { openScene } from './scene.ts'
import { destination, logInMemory, reportNormal, reportTrouble, stream } from './facts.ts'

async function setUp(ready: HttpOptions['ready'] = () => []) {
  const clock = { ms: 1_700_000_000_000 }
  const now = () => clock.ms
  const metrics = createMetrics({ version: '1.2.3', now })
  const status = createStatus({ version: '1.2.3', now })
  const report = createReport({ metrics, log: logInMemory('silent').log, also: status.report, now })
  const server = await startHttp({ host: '127.0.0.1', port: 0, metrics, status, ready })
  const get = (path: string) => fetch(`${server.url}${path}`)
  const picture = async () => (await (await get('/api/status')).json()) as StatusPicture
  return { clock, report, server, get, picture, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('serves metrics, the page and that it is alive', async () => {
  await using http = await setUp()
  reportNormal(http.report)
  const metrics = await http.get('/metrics')
  expect(metrics.headers.get('content-type')).toContain('text/plain; version=0.0.4')
  expect(await metrics.text()).toContain('tailrace_events_shipped_total')
  expect((await http.get('/healthz')).status).toBe(200)
  const page = await http.get('/')
  expect(page.headers.get('content-type')).toContain('text/html')
  expect(await page.text()).toContain('href="api/status"')
  expect((await http.get('/elsewhere')).status).toBe(404)
})

test('wants the token where there is one, but for health', async () => {
  const token = 'a-token:with-a-colon'
  await using scene = await openScene({ token })
  const ask = async (path: string, authorization?: string) =>
    fetch(`${scene.http.url}${path}`, authorization === undefined ? {} : { headers: { authorization } })
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  for (const path of ['/', '/?fragment=1', '/metrics', '/api/status', '/elsewhere', '//healthz', '/healthz/']) {
    const refused = await ask(path)
    expect([path, refused.status]).toEqual([path, 401])
    expect(refused.headers.get('www-authenticate')).toMatch(/Bearer .*Basic /)
    expect(await refused.text()).not.toContain(token)
  }
  const wrong = [
    `Bearer ${token}x`,
    'Bearer',
    `Token ${token}`,
    basic(token),
    basic('anybody:wrong'),
    basic('none'),
    '',
  ]
  for (const value of wrong) expect([value, (await ask('/api/status', value)).status]).toEqual([value, 401])
  for (const value of [`Bearer ${token}`, `bearer ${token}`, basic(`anybody:${token}`), basic(`:${token}`)])
    expect([value, (await ask('/api/status', value)).status]).toEqual([value, 200])
  expect((await ask('/healthz')).status).toBe(200)
  expect((await ask('/readyz')).status).toBe(200)
})

test('warns of being open to others without a token', async () => {
  const warnings = async (more: object) => {
    await using scene = await openScene(more)
    return scene.http.warnings
  }
  expect(await warnings({ host: '0.0.0.0' })).toEqual([expect.stringContaining('http.token')])
  expect(await warnings({ host: '0.0.0.0', token: 'something' })).toEqual([])
  expect(await warnings({ host: '127.0.0.1' })).toEqual([])
})

test('nothing may be framed, sniffed, or run that is not ours', async () => {
  await using scene = await openScene()
  const headers = async (path: string) => (await fetch(`${scene.http.url}${path}`)).headers
  const page = await headers('/')
  const policy = page.get('content-security-policy')
  expect(policy).toContain("default-src 'none'")
  expect(policy).toMatch(/script-src 'nonce-[\w-]{22}'/)
  expect(policy).not.toContain('unsafe')
  expect((await headers('/')).get('content-security-policy')).not.toBe(policy)
  for (const one of [page, await headers('/metrics'), await headers('/api/status')]) {
    expect(one.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(one.get('x-content-type-options')).toBe('nosniff')
    expect(one.get('referrer-policy')).toBe('no-referrer')
    expect(one.get('cache-control')).toBe('no-store')
  }
})

test('is ready, or says why not, without the text of an error', async () => {
  let ready: HttpOptions['ready'] = () => []
  await using http = await setUp(() => ready())
  expect((await http.get('/readyz')).status).toBe(200)
  ready = async () => ['draining']
  const draining = await http.get('/readyz')
  expect(draining.status).toBe(503)
  expect(await draining.json()).toEqual({ status: 'not ready', reasons: ['draining'] })
  ready = async () => {
    throw new TailraceError('redis_unreachable', 'at some address')
  }
  const failing = await http.get('/readyz')
  expect([failing.status, await failing.json()]).toMatchObject([503, { reasons: ['redis_unreachable'] }])
})

test('the picture of streams and destinations follows the facts', async () => {
  await using http = await setUp()
  reportNormal(http.report, http.clock.ms)
  http.clock.ms += 10_000
  const well = await http.picture()
  expect(well.streams).toMatchObject([
    {
      ...stream,
      watermarkAgeSeconds: 15,
      lastPass: { purpose: 'live', pages: 2, records: 15, seconds: 0.9 },
      eventsPerMinute: 5,
      failures: 0,
      lastError: null,
      pausedBy: [],
    },
  ])
  expect(well.destinations).toMatchObject([
    { destination, state: 'up', backlogBytes: 400, delaySeconds: 6, eventsPerMinute: 5 },
  ])
  reportTrouble(http.report)
  http.clock.ms += 60_000
  const ill = await http.picture()
  expect(ill.streams).toMatchObject([
    {
      eventsPerMinute: 0,
      eventsRead: 5,
      failures: 1,
      lastError: { code: 'service_timeout' },
      pausedBy: [destination],
      gaps: 1,
    },
  ])
  expect(ill.destinations).toMatchObject([{ state: 'halted', reason: 'credentials refused' }])
  expect(well.instances).toEqual([
    { instance: 'eu', requestsPerSecond: 0.1, failedPerMinute: 0, limitPerSecond: 500, throttledAt: null },
  ])
  expect(ill.instances).toMatchObject([{ requestsPerSecond: 0, throttledAt: expect.stringContaining('2023-11-14') }])
  expect(ill).toMatchObject({ redis: { state: 'lost' }, failures: [{ code: 'internal' }], uptimeSeconds: 70 })
})

test('an address in use is a mistake of the configuration', async () => {
  await using http = await setUp()
  const port = Number(new URL(http.server.url).port)
  const metrics = createMetrics({ version: '1' })
  const again = startHttp({ host: '127.0.0.1', port, metrics, status: createStatus({ version: '1' }), ready: () => [] })
  await expect(again).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringContaining('EADDRINUSE') })
})
