// An API on loopback that can be told to misbehave: what the receivers of cloud services are made of.

import type { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export interface ApiAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface CloudApi extends AsyncDisposable {
  readonly origin: string
  /** Requests that were read to the end. */
  readonly requests: readonly IncomingMessage[]
  /** Answers this to whatever comes; undefined: what it makes of it. */
  says: ApiAnswer | undefined
  breakMidway(): void
  stall(): void
  /** Requests without an answer whose connection is still open. */
  waiting(): number
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startCloudApi(
  take: (request: IncomingMessage, body: Buffer) => ApiAnswer | Promise<ApiAnswer>,
): Promise<CloudApi> {
  const requests: IncomingMessage[] = []
  const waiting = new Set<ServerResponse>()
  let early: ((response: ServerResponse) => void) | undefined
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (early !== undefined) return early(response)
    const body = await buffer(request)
    requests.push(request)
    const { status, headers = {}, body: words } = api.says ?? (await take(request, body))
    const text = words === undefined ? '' : JSON.stringify(words, null, 2)
    response.writeHead(status, { ...headers, 'content-type': 'application/json; charset=UTF-8' }).end(text)
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
  const api: CloudApi = {
    origin: `http://127.0.0.1:${port}`,
    requests,
    says: undefined,
    breakMidway() {
      early = (response) => response.destroy()
    },
    stall() {
      early = (response) => {
        waiting.add(response)
        response.on('close', () => waiting.delete(response))
      }
    },
    waiting: () => waiting.size,
    async stop() {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
    async start() {
      server = await launch(port)
    },
    async [Symbol.asyncDispose]() {
      await api.stop()
    },
  }
  return api
}
