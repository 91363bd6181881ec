// Traces as a collector gets them: a real receiver of OTLP over HTTP, and the daemon as a process of its own.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { registers } from '../../src/commands/registers.ts'
import { loadConfig } from '../../src/config.ts'
import type { Config } from '../../src/config.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { TailraceError } from '../../src/errors.ts'
import { openTracing } from '../../src/telemetry/tracing.ts'
import { fileDestination, lineCount, openFolder, startProcess, tenantOf } from '../acceptance/stage.ts'
import { startRedis } from '../redis.ts'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number }
}

interface Collector extends AsyncDisposable {
  readonly url: string
  readonly spans: Span[]
  readonly text: () => string
  readonly headers: IncomingHttpHeaders[]
}

async function startCollector(status = 200): Promise<Collector> {
  const spans: Span[] = []
  const headers: IncomingHttpHeaders[] = []
  let text = ''
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      text += body
      headers.push(request.headers)
      const sent = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
      spans.push(...sent.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    spans,
    headers,
    text: () => text,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function valueOf(span: Span | undefined, key: string): unknown {
  const value = span?.attributes.find((one) => one.key === `tailrace.${key}`)?.value ?? {}
  return Object.values(value)[0]
}

const options = { sampleRatio: 1, headers: {}, version: '1', failed: () => undefined }

test('the way of a page is one trace: turn, page, encode, commit, and its sends', { timeout: 60_000 }, async () => {
  await using collector = await startCollector()
  await using redis = await startRedis()
  await using folder = await openFolder()
  await using simulator = await startSimulator({
    clients: [1],
    world: { attacksPerSecond: 5, history: { attacks: 50, spanSeconds: 300 } },
  })
  const token = 'Bearer collector-token-4711'
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    http: { port: 0 },
    tracing: { endpoint: collector.url, sampleRatio: 1, headers: { authorization: token } },
    destinations: [fileDestination('out', folder.file('out'))],
    inlineTenants: [tenantOf(simulator, { name: 'acme', client: 1 })],
  })
  await using daemon = startProcess(['run', '--config', config])
  const shipped = (): Span[] => collector.spans.filter(({ name }) => name === 'ship')
  await expect.poll(() => shipped().length, { timeout: 20_000 }).toBeGreaterThan(0)

  const lines = lineCount(folder.file('out'))
  await expect.poll(() => lineCount(folder.file('out')), { timeout: 10_000 }).toBeGreaterThan(lines)
  daemon.signal('SIGTERM')
  expect(await daemon.ended()).toBe(0)
  // What there was when it stopped was sent, too.
  const told = shipped().map((span) => Number(valueOf(span, 'events')))
  expect(told.reduce((sum, events) => sum + events)).toBe(lineCount(folder.file('out')))

  const byId = new Map(collector.spans.map((span) => [span.spanId, span]))
  const whole = shipped().find(({ traceId }) =>
    collector.spans.some((span) => span.traceId === traceId && span.name === 'commit'),
  )
  const trace = collector.spans.filter(({ traceId }) => traceId === whole?.traceId)
  const [page] = trace.filter(({ name }) => name === 'page')
  expect(trace.map(({ name }) => name)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^process poll-/), 'page', 'encode', 'commit', 'process ship-out']),
  )
  expect([valueOf(page, 'tenant'), valueOf(page, 'stream'), valueOf(page, 'operation')]).toEqual([
    'acme',
    'attacks',
    'attack',
  ])
  expect(Number(valueOf(page, 'records'))).toBeGreaterThan(0)
  expect(valueOf(whole, 'destination')).toBe('out')
  // From the send up to the turn, which has no parent: turns are traces of their own.
  const ancestors: string[] = []
  for (let at = whole; at !== undefined; at = byId.get(at.parentSpanId ?? '')) ancestors.push(at.name)
  expect(ancestors[0]).toBe('ship')
  expect(ancestors.at(-1)).toMatch(/^process poll-/)
  const roots = collector.spans.filter(({ parentSpanId }) => !parentSpanId)
  expect([...new Set(roots.map(({ name }) => name.split('-')[0]))]).toEqual(['process poll'])

  expect(collector.headers.every(({ authorization }) => authorization === token)).toBe(true)
  for (const secret of [token, 'simulated-secret', '11111111-1111-4111-8111-111111111111']) {
    expect(collector.text()).not.toContain(secret)
    expect(daemon.output()).not.toContain(secret)
  }
})

test('mistakes of its options are told, without what is secret', async () => {
  await using folder = await openFolder()
  const load = async (tracing: object): Promise<Config> =>
    loadConfig(await folder.write('tailrace.yaml', { tracing }), {}, registers)
  const wrong = { endpoint: 'collector:4318', sampleRatio: 2, headers: { authorization: 'tok\nen' } }
  const error = (await load(wrong).catch((thrown: unknown) => thrown)) as TailraceError
  expect(error.code).toBe('config_invalid')
  for (const option of ['tracing.endpoint', 'tracing.sampleRatio', 'tracing.headers'])
    expect(error.message).toContain(option)
  expect(error.message).not.toContain('tok')
  const right = await load({ endpoint: 'https://collector/v1/traces', headers: { authorization: 'token-4711' } })
  expect(right.tracing.headers).toEqual({ authorization: 'token-4711' })
  expect(JSON.stringify(right)).not.toContain('token-4711')
})

test('without an endpoint nothing is imported; where packages are missing, it says which', async () => {
  const missing = async (): Promise<never> => {
    throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  }
  expect(await openTracing({ ...options, endpoint: '' }, missing)).toBeUndefined()
  await expect(openTracing({ ...options, endpoint: 'http://127.0.0.1:1/' }, missing)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('npm install @opentelemetry/api'),
  })
})

test('an error is named by its code, and work that fails fails as ever', async () => {
  await using collector = await startCollector()
  const tracing = await openTracing({ ...options, endpoint: collector.url })
  const telemetry = tracing?.telemetry
  const root = telemetry?.tracer.startSpan('process x', { kind: 4 })
  const context: unknown = root?.setSpanOnContext(telemetry?.contextManager.active())
  const failing = async (): Promise<void> =>
    tracing?.trace('page', { tenant: 'acme' }, async () => {
      throw new Error('with a secret in it')
    })
  await expect(telemetry?.contextManager.with(context, failing)).rejects.toThrow('with a secret in it')
  root?.end()
  await tracing?.close(5_000)
  const [page] = collector.spans.filter(({ name }) => name === 'page')
  expect(page?.attributes).toContainEqual({ key: 'error.type', value: { stringValue: 'internal' } })
  expect(page?.status.code).toBe(2)
  expect(collector.text()).not.toContain('secret')
})

test('a collector that refuses is told of, without its words, and closing does not wait for one that is stuck', async () => {
  const failures: TailraceError[] = []
  await using collector = await startCollector(400)
  const failed = (error: TailraceError): void => void failures.push(error)
  const tracing = await openTracing({ ...options, endpoint: collector.url, failed })
  tracing?.telemetry.tracer.startSpan('process x', { kind: 4 }).end()
  await tracing?.close(5_000)
  expect(failures).toMatchObject([
    { code: 'tracing_failed', message: 'traces could not be sent: OTLPExporterError 400' },
  ])

  const server = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stuck = await openTracing({ ...options, endpoint: `http://127.0.0.1:${port}/` })
  stuck?.telemetry.tracer.startSpan('process x', { kind: 4 }).end()
  const begun = performance.now()
  await stuck?.close(100)
  expect(performance.now() - begun).toBeLessThan(2_000)
  server.closeAllConnections()
  server.close()
})

test('nothing is traced with a ratio of 0, nor where there is no job', async () => {
  await using collector = await startCollector()
  for (const sampleRatio of [0, 1]) {
    const tracing = await openTracing({ ...options, endpoint: collector.url, sampleRatio })
    expect(await tracing?.trace('page', {}, async () => 'done')).toBe('done')
    if (sampleRatio === 0) tracing?.telemetry.tracer.startSpan('process x', { kind: 4 }).end()
    await tracing?.close(5_000)
  }
  expect(collector.spans).toEqual([])
})
