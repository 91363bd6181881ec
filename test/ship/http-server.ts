// A receiver over HTTP or HTTPS for one test, that answers as it is told and can be stopped and started.

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import type { Certificate } from './certificates.ts'
import type { Bench } from './sink-contract.ts'

export type Reply = (response: ServerResponse, request: IncomingMessage, body: Buffer) => void

export interface HttpServer extends AsyncDisposable {
  readonly port: number
  readonly origin: string
  readonly requests: readonly IncomingMessage[]
  /** Of POST requests that were answered with 2xx, decompressed. */
  readonly taken: readonly Buffer[]
  /** Connections so far, and those that are open now. */
  readonly connections: { total: number; open: number }
  readonly replies: {
    /** Once the request is read. */
    usual: Reply
    /** Instead of that, before its body is read. */
    early: Reply | undefined
  }
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startHttpServer(
  identity?: Certificate,
  usual: Reply = (response) => response.writeHead(204).end(),
): Promise<HttpServer> {
  const taken: Buffer[] = []
  const requests: IncomingMessage[] = []
  const connections = { total: 0, open: 0 }
  const replies: HttpServer['replies'] = { usual, early: undefined }
  const accept: RequestListener = (request, response) => {
    if (replies.early !== undefined) return replies.early(response, request, Buffer.alloc(0))
    const take = (body: Buffer) => {
      requests.push(request)
      const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
      replies.usual(response, request, plain)
      if (request.method === 'POST' && response.statusCode < 300) taken.push(plain)
    }
    buffer(request).then(take, () => undefined)
  }
  const launch = async (port: number) => {
    const secure = identity && { cert: readFileSync(identity.cert), key: readFileSync(identity.key) }
    const server = secure === undefined ? createServer(accept) : createSecureServer(secure, accept)
    server.on(secure === undefined ? 'connection' : 'secureConnection', (socket) => {
      connections.total++
      connections.open++
      socket.on('close', () => connections.open--)
    })
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
    port,
    origin: `${identity === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    requests,
    taken,
    connections,
    replies,
    stop,
    async start() {
      server = await launch(port)
    },
    [Symbol.asyncDispose]: stop,
  }
}

/** What any receiver over HTTP can do in the contract of sinks. */
export function benchOf(
  server: HttpServer,
  bench: Pick<Bench, 'openSink' | 'received' | 'wrap'>,
): Omit<Bench, 'says'> & { readonly says: NonNullable<Bench['says']> } {
  const waiting = new Set<ServerResponse>()
  const { usual } = server.replies
  const say =
    (status: number, headers: Record<string, string> = {}) =>
    () => {
      server.replies.usual = (response) => response.writeHead(status, headers).end('because')
    }
  return {
    ...bench,
    unreachable: 'sink_unreachable',
    stop: server.stop,
    start: server.start,
    breakMidway() {
      server.replies.early = (response) => response.destroy()
    },
    stall() {
      server.replies.early = (response) => {
        waiting.add(response)
        response.on('close', () => waiting.delete(response))
      }
    },
    connections: () => waiting.size,
    says: {
      throttled: say(429, { 'retry-after': '7' }),
      unavailable: say(503),
      credentials: say(401),
      refused: say(400),
      recovers() {
        server.replies.usual = usual
      },
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
