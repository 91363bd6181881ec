// A receiver over HTTP as a process of its own, so that it can be killed: a door before one of the receivers that the
// tests of sinks have. What is in its file is stored: everything else dies with it. The parent orders its death.

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { appendFileSync, readFileSync, writeSync, openSync } from 'node:fs'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { startElasticsearch } from '../../ship/receivers/elasticsearch.ts'
import { startHec } from '../../ship/receivers/hec.ts'
import type { Moment } from './frail.ts'

export interface StoreSetup {
  readonly port: number
  readonly file: string
  /** `hec` and `elasticsearch` live and die with it; of others the origin is given. */
  readonly inner: 'hec' | 'elasticsearch' | { readonly origin: string }
}

/** A line of the file: something is stored, or the answer about it has left. */
export type StoreLine =
  | { readonly n: number; readonly at: number; readonly path: string; readonly body: string }
  | { readonly n: number; readonly answeredAt: number }

export const hecToken = 'b5a79aad-d822-46cc-80d1-819f80d7bfb0'

/** What an inner receiver takes, and when it counts as stored. */
interface Inner {
  readonly origin: string
  /** The bodies that an exchange made final. */
  toStore(exchange: Exchange): readonly Buffer[]
}

interface Exchange {
  readonly request: IncomingMessage
  /** Uncompressed. */
  readonly body: Buffer
  readonly status: number
  readonly answer: Buffer
}

/** The whole request is stored before it is answered. */
function plain(origin: string): Inner {
  return {
    origin,
    toStore: ({ request, body, status }) =>
      status < 300 && (request.method === 'POST' || request.method === 'PUT') ? [body] : [],
  }
}

/** Events are stored as late as the protocol allows: when their acknowledgement is told. */
async function collector(): Promise<Inner> {
  const hec = await startHec({ token: hecToken, ack: true })
  hec.acknowledgesAfter(1)
  const waiting = new Map<string, Buffer>()
  return {
    origin: hec.url,
    toStore({ request, body, status, answer }) {
      if (status !== 200 || request.method !== 'POST') return []
      const said = JSON.parse(answer.toString()) as { ackId?: number; acks?: Record<string, boolean> }
      if (said.ackId !== undefined) waiting.set(String(said.ackId), body)
      const indexed = Object.entries(said.acks ?? {}).filter(([, yes]) => yes)
      return indexed.flatMap(([id]) => waiting.get(id) ?? [])
    },
  }
}

/** Only what was created is stored; after a start it has what it had. */
async function search(file: string): Promise<Inner> {
  const elasticsearch = await startElasticsearch()
  const before = storedIn(file).map(({ body }) => body)
  if (before.length > 0) {
    const headers = { 'content-type': 'application/x-ndjson' }
    await fetch(`${elasticsearch.url}/_bulk`, { method: 'POST', headers, body: before.join('') })
  }
  let known = elasticsearch.stored.length
  return {
    origin: elasticsearch.url,
    toStore() {
      const made = elasticsearch.stored.slice(known)
      known = elasticsearch.stored.length
      const lines = made.map(({ index, id, document }) => {
        const action = JSON.stringify({ create: { _index: index, _id: id } })
        return `${action}\n${JSON.stringify(document)}\n`
      })
      return lines.length === 0 ? [] : [Buffer.from(lines.join(''))]
    },
  }
}

function storedIn(file: string): { readonly n: number; readonly body: string }[] {
  return readStore(file).flatMap((line) =>
    'body' in line ? [{ n: line.n, body: Buffer.from(line.body, 'base64').toString() }] : [],
  )
}

/** Lines that were torn by a death are left out: nobody was told of them. */
export function readStore(file: string): StoreLine[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as StoreLine]
    } catch {
      return []
    }
  })
}

async function open(setup: StoreSetup): Promise<void> {
  const { inner: kind, file, port } = setup
  // What a death has torn must not be joined with what comes next.
  appendFileSync(file, '\n')
  let next = 1 + Math.max(0, ...readStore(file).map(({ n }) => n))
  const inner = typeof kind === 'object' ? plain(kind.origin) : await (kind === 'hec' ? collector() : search(file))
  const out = openSync(file, 'a')
  const write = (line: StoreLine): void => void writeSync(out, `${JSON.stringify(line)}\n`)
  let doom: Moment | undefined
  process.on('message', (order: Moment) => (doom = order))
  const dieIf = (moment: Moment): void => {
    if (doom === moment) process.kill(process.pid, 'SIGKILL')
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request)
    const { method, url: path = '', headers } = request
    const passed = forward(new URL(path, inner.origin), { method, headers }).end(bytes)
    const [back] = (await once(passed, 'response')) as [IncomingMessage]
    const told = await buffer(back)
    const body = headers['content-encoding'] === 'gzip' && method === 'POST' ? gunzipSync(bytes) : bytes
    const final = inner.toStore({ request, body, status: back.statusCode ?? 500, answer: told })
    if (method !== 'GET') dieIf('taken')
    const stored = final.map((whole) => {
      const n = next++
      write({ n, at: Date.now(), path, body: whole.toString('base64') })
      return n
    })
    if (stored.length > 0) dieIf('stored')
    response.writeHead(back.statusCode ?? 500, back.headers).end(told, () => {
      for (const n of stored) write({ n, answeredAt: Date.now() })
      if (method !== 'GET') dieIf('answered')
    })
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  process.send?.('open')
}

if (import.meta.main) await open(JSON.parse(process.argv[2] ?? '') as StoreSetup)
