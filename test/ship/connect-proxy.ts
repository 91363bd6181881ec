// An HTTP proxy for one test that knows CONNECT alone, and refuses as it is told.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Certificate } from './certificates.ts'

export interface ConnectProxy extends AsyncDisposable {
  readonly port: number
  /** `host:port` of every CONNECT, and what it had for Proxy-Authorization. */
  readonly asked: readonly { readonly target: string | undefined; readonly login: string | undefined }[]
  readonly open: ReadonlySet<Duplex>
  /** What it says to a CONNECT; 0: nothing at all. */
  status: number
}

export async function startProxy(identity?: Certificate): Promise<ConnectProxy> {
  const asked: { target: string | undefined; login: string | undefined }[] = []
  const open = new Set<Duplex>()
  const track = (socket: Duplex) => {
    open.add(socket)
    // Connections of a server of node:http are half-open: it is for us to close our side.
    socket.on('error', () => undefined).on('end', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
  }
  const secure = identity && { cert: readFileSync(identity.cert), key: readFileSync(identity.key) }
  const server = secure === undefined ? createServer() : createSecureServer(secure)
  server.on(secure === undefined ? 'connection' : 'secureConnection', track)
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    asked.push({ target: request.url, login: request.headers['proxy-authorization'] })
    if (proxy.status === 0) return void client.resume()
    if (proxy.status !== 200) {
      client.end(`HTTP/1.1 ${proxy.status} No\r\ncontent-length: 4\r\n\r\nbody`)
      return
    }
    const { hostname, port } = new URL(`http://${request.url}`)
    const onwards: Socket = connect(Number(port) || 80, hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      onwards.pipe(client).pipe(onwards)
    })
    track(onwards)
    onwards.on('close', () => client.destroy())
    client.on('close', () => onwards.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy = {
    port: (server.address() as AddressInfo).port,
    asked,
    open,
    status: 200,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
