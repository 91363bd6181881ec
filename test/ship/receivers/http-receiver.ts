// An HTTP server for tests that can be stopped, started, made to break off and to stall.

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

export interface Received {
  readonly method: string
  /** Path and query. */
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  /** Uncompressed. */
  readonly body: Buffer
}

export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** What is no text is sent as JSON. */
  readonly body?: unknown
}

/** `reset`: the connection breaks instead of an answer. */
export type Handle = (request: Received) => Reply | 'reset'

export interface HttpReceiver extends AsyncDisposable {
  /** Without a slash at its end. */
  readonly url: string
  /** Every request that was read whole, in order. */
  readonly requests: readonly Received[]
  stop(): Promise<void>
  /** At the same port. */
  start(): Promise<void>
  /** From now on connections break as soon as a request begins, or nothing is answered. */
  breakMidway(): void
  stall(): void
  /** Requests that wait for an answer because of `stall`. */
  connections(): number
}

export async function startHttpReceiver(handle: Handle): Promise<HttpReceiver> {
  const requests: Received[] = []
  const waiting = new Set<ServerResponse>()
  let manner: 'answers' | 'breaks' | 'stalls' = 'answers'

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (manner === 'breaks') {
      response.destroy()
      return
    }
    if (manner === 'stalls') {
      waiting.add(response)
      response.on('close', () => waiting.delete(response))
      return
    }
    const received = await read(request)
    requests.push(received)
    const reply = handle(received)
    if (reply === 'reset') response.destroy()
    else respond(response, reply)
  }
  const launch = async (port: number) => {
    const server = createServer((request, response) => {
      answer(request, response).catch(() => response.destroy())
    })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let server = await launch(0)
  const { port } = server.address() as AddressInfo
  const stop = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    stop,
    async start() {
      server = await launch(port)
    },
    breakMidway: () => void (manner = 'breaks'),
    stall: () => void (manner = 'stalls'),
    connections: () => waiting.size,
    [Symbol.asyncDispose]: stop,
  }
}

async function read(request: IncomingMessage): Promise<Received> {
  const bytes = await buffer(request)
  const { method = '', url = '', headers } = request
  const body = headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
  return { method, url: new URL(url, 'http://receiver'), headers, body }
}

function respond(response: ServerResponse, { status, headers = {}, body = '' }: Reply): void {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  response.writeHead(status, { ...headers, 'content-length': bytes.length }).end(bytes)
}
