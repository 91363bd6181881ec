// Receivers over HTTP that are killed as the processes that they are; see store-main.ts.

import { Buffer } from 'node:buffer'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { sentinelColumns } from '../../../src/ship/wire/sentinel-row.ts'
import { startHttpServer } from '../../ship/http-server.ts'
import { instance, startSecOps } from '../../ship/receivers/secops.ts'
import { startSentinel } from '../../ship/receivers/sentinel.ts'
import { application, startTokenServer } from '../../ship/receivers/token-server.ts'
import { freePort } from '../../ship/rsyslog.ts'
import { account, bucket, startS3 } from '../../ship/s3-server.ts'
import { gather, patienceMs, type EventLine, type FrailReceiver, type Moment } from './frail.ts'
import { hecToken, readStore, type StoreSetup } from './store-main.ts'

interface StoreParts {
  readonly inner: StoreSetup['inner']
  /** Of the destination, but for its address. */
  readonly options: (origin: string) => Readonly<Record<string, unknown>>
  /** The events in a stored body. */
  readonly read: (body: Buffer) => unknown[]
  /** Whether what is stored at a path replaces what was there. */
  readonly replaces?: boolean
}

const main = join(import.meta.dirname, 'store-main.ts')

async function startStore({ inner, options, read, replaces = false }: StoreParts): Promise<FrailReceiver> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-store-'))
  const [file, port] = [join(folder, 'stored'), await freePort()]
  await writeFile(file, '')
  const setup: StoreSetup = { port, file, inner: typeof inner === 'string' ? inner : { origin: inner.origin } }
  const launch = async () => {
    const child = fork(main, [JSON.stringify(setup)], { stdio: 'inherit' })
    const ended = once(child, 'exit').then(() => {
      throw new Error('a receiver did not start')
    })
    await Promise.race([once(child, 'message'), ended])
    ended.catch(() => undefined)
    return child
  }
  let child = await launch()
  const kill = async (moment: Moment): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    if (moment === 'any') child.kill('SIGKILL')
    else child.send(moment)
    const late = setTimeout(() => child.kill('SIGKILL'), patienceMs)
    await gone
    clearTimeout(late)
  }
  return {
    destination: options(`http://127.0.0.1:${port}`),
    knowsConfirmations: true,
    kill,
    async start() {
      child = await launch()
    },
    async arrived() {
      const lines = readStore(file)
      const answered = new Map(lines.flatMap((line) => ('answeredAt' in line ? [[line.n, line.answeredAt]] : [])))
      const bodies = lines.filter((line) => 'body' in line)
      const kept = replaces ? [...new Map(bodies.map((line) => [line.path, line])).values()] : bodies
      return gather(
        kept.flatMap(({ n, at, body }) => {
          const delivery = { at, link: { confirmedAt: answered.get(n) ?? null } }
          return read(Buffer.from(body, 'base64')).map((event) => [event as EventLine, delivery] as const)
        }),
      )
    },
    async [Symbol.asyncDispose]() {
      await kill('any')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Another thing that ends with the receiver. */
function endingWith(receiver: FrailReceiver, ...others: readonly AsyncDisposable[]): FrailReceiver {
  return {
    ...receiver,
    async [Symbol.asyncDispose]() {
      await receiver[Symbol.asyncDispose]()
      for (const other of others) await other[Symbol.asyncDispose]()
    },
  }
}

function linesOf(body: Buffer): unknown[] {
  const lines = body.toString().split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as unknown)
}

export async function startWebhook(): Promise<FrailReceiver> {
  const server = await startHttpServer()
  const options = (url: string): object => ({ sink: 'webhook', url })
  const store = await startStore({ inner: server, options: common(options), read: linesOf })
  return endingWith(store, server)
}

export async function startCollector(): Promise<FrailReceiver> {
  // The shortest wait that leaves an acknowledgement the time that it takes on a busy machine.
  const more = { sink: 'splunk-hec', token: hecToken, acknowledge: 'on', ackTimeout: '4s' }
  return startStore({
    inner: 'hec',
    options: common((url) => ({ url, ...more })),
    read: (body) => linesOf(body).map((one) => (one as { event: unknown }).event),
  })
}

export async function startSearch(): Promise<FrailReceiver> {
  return startStore({
    inner: 'elasticsearch',
    options: common((url) => ({ sink: 'elasticsearch', url, format: 'json' })),
    read: (body) => linesOf(body).filter((_line, at) => at % 2 === 1),
  })
}

export async function startAzure(): Promise<FrailReceiver> {
  const [rule, stream] = ['dcr-00a00a000a00000a000000aa000a0aa0', 'Custom-Tailrace_CL']
  const identity = await startTokenServer()
  const tokens = identity.good
  const receiver = await startSentinel({ rule, stream, columns: sentinelColumns, tokens })
  const more = { sink: 'sentinel', ...application, rule, stream, loginUrl: identity.origin }
  const store = await startStore({
    inner: receiver.api,
    options: common((endpoint) => ({ endpoint, ...more })),
    read: (body) => (JSON.parse(body.toString()) as { Event: unknown }[]).map((row) => row.Event),
  })
  return endingWith(store, receiver, identity)
}

export async function startChronicle(): Promise<FrailReceiver> {
  const receiver = await startSecOps()
  const raw = { import: 'raw', logType: 'TAILRACE_CUSTOM' }
  const more = { sink: 'google-secops', ...instance, ...raw, serviceAccount: receiver.key }
  const store = await startStore({
    inner: receiver.api,
    options: common((endpoint) => ({ endpoint, ...more })),
    read(body) {
      const { inlineSource } = JSON.parse(body.toString()) as { inlineSource: { logs: { data: string }[] } }
      return inlineSource.logs.map(({ data }) => JSON.parse(Buffer.from(data, 'base64').toString()) as unknown)
    },
  })
  return endingWith(store, receiver)
}

interface LogsRequest {
  readonly resourceLogs: { readonly scopeLogs: { readonly logRecords: { body: { stringValue: string } }[] }[] }[]
}

export async function startTelemetry(): Promise<FrailReceiver> {
  const server = await startHttpServer(undefined, (response) => response.writeHead(200).end('{}'))
  const store = await startStore({
    inner: server,
    options: common((url) => ({ sink: 'otlp', url, gzip: true })),
    read(body) {
      const { resourceLogs } = JSON.parse(body.toString()) as LogsRequest
      const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
      return records.map((record) => JSON.parse(record.body.stringValue) as unknown)
    },
  })
  return endingWith(store, server)
}

export async function startObjects(): Promise<FrailReceiver> {
  const server = await startS3()
  const more = { sink: 's3', bucket, pathStyle: true, ...account }
  const store = await startStore({
    inner: { origin: server.endpoint },
    options: common((endpoint) => ({ endpoint, ...more })),
    read: (body) => linesOf(gunzipSync(body)),
    replaces: true,
  })
  return endingWith(store, server)
}

/** Options that all of them have. */
function common(options: (origin: string) => object): (origin: string) => Record<string, unknown> {
  return (origin) => ({ timeout: '5s', ...options(origin) })
}
