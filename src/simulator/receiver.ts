// A small syslog receiver for a first look: it reads messages over TCP, told apart by line feeds, hands each
// on, and confirms by closing its side once it has read everything.

import { createServer } from 'node:net'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface Receiver extends AsyncDisposable {
  readonly port: number
}

/** Listens on loopback. Rejects where the port is taken. */
export async function startReceiver(port: number, take: (message: string) => void): Promise<Receiver> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy()) // the sender notices, and sends again
    const lines = createInterface({ input: socket, crlfDelay: Infinity })
    lines.on('line', take)
    lines.on('close', () => socket.end())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async [Symbol.asyncDispose]() {
      server.close()
      await once(server, 'close')
    },
  }
}
