// A receiver of syslog streams that can be told to misbehave. A real socket on loopback.

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls'

/**
 * - `confirm`: reads everything, then closes
 * - `reset`: resets after the first bytes
 * - `early`: closes in order, but before it has read anything
 * - `stall`: reads nothing
 * - `silent`: reads everything, and never closes
 */
export type Manner = 'confirm' | 'reset' | 'early' | 'stall' | 'silent'

export interface Receiver extends AsyncDisposable {
  manner: Manner
  readonly port: number
  readonly address: string
  /** What came on each connection, in the order of connecting; of connections that ended, or were silent. */
  readonly streams: Buffer[]
  /** Connections open now. */
  readonly open: ReadonlySet<Socket>
  /** All connections so far. */
  readonly connections: number
  /** Of these, how many resumed a TLS session. */
  readonly resumed: number
  /** Writes to every open connection, so that those whose other end is gone are noticed. */
  poke(): void
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startReceiver(tls?: TlsOptions): Promise<Receiver> {
  const open = new Set<Socket>()
  const streams: Buffer[] = []
  let connections = 0
  let resumed = 0
  const accept = (socket: Socket) => {
    connections++
    if (socket instanceof TLSSocket && socket.isSessionReused()) resumed++
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => undefined)
    behave(socket, receiver.manner, streams, () => reset(socket))
  }
  // A TLS socket cannot reset; the TCP socket below can.
  const below = new Map<number | undefined, Socket>()
  const reset = (socket: Socket) => (below.get(socket.remotePort) ?? socket).resetAndDestroy()
  const launch = async (port: number) => {
    const options = { allowHalfOpen: true, pauseOnConnect: tls === undefined }
    const server = tls === undefined ? createServer(options, accept) : createTlsServer({ ...options, ...tls }, accept)
    server.on('tlsClientError', () => undefined)
    if (tls !== undefined) server.on('connection', (socket: Socket) => below.set(socket.remotePort, socket))
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let server: Awaited<ReturnType<typeof launch>>
  const receiver: Receiver = {
    manner: 'confirm',
    get port() {
      return port
    },
    get address() {
      return `127.0.0.1:${port}`
    },
    get connections() {
      return connections
    },
    get resumed() {
      return resumed
    },
    streams,
    open,
    poke() {
      for (const socket of open) socket.write('?')
    },
    async stop() {
      if (!server.listening) return
      server.close()
      for (const socket of tls === undefined ? open : below.values()) socket.resetAndDestroy()
      await once(server, 'close')
    },
    async start() {
      server = await launch(port)
    },
    async [Symbol.asyncDispose]() {
      await receiver.stop()
    },
  }
  server = await launch(0)
  const { port } = server.address() as AddressInfo
  return receiver
}

function behave(socket: Socket, manner: Manner, streams: Buffer[], reset: () => void): void {
  if (manner === 'stall') return
  if (manner === 'early') {
    socket.end(() => socket.destroy())
    return
  }
  let got = Buffer.alloc(0)
  const place = manner === 'silent' ? streams.push(got) - 1 : -1
  socket.on('data', (chunk: Buffer) => {
    got = Buffer.concat([got, chunk])
    if (place >= 0) streams[place] = got
    if (manner === 'reset') reset()
  })
  socket.on('end', () => {
    if (manner !== 'confirm') return
    if (got.length > 0) streams.push(got)
    socket.end()
  })
  socket.resume()
}

/** Takes a stream apart as RFC 6587 says; throws where it is broken. Written apart from what it judges. */
export function takeApart(stream: Buffer, framing: 'lf' | 'octet'): string[] {
  if (framing === 'lf') {
    const text = stream.toString('latin1')
    if (text !== '' && !text.endsWith('\n')) throw new Error('the last line is torn')
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => Buffer.from(line, 'latin1').toString())
  }
  const messages: string[] = []
  for (let at = 0; at < stream.length;) {
    const space = stream.indexOf(0x20, at)
    const count = stream.toString('latin1', at, space)
    if (!/^[1-9]\d*$/.test(count)) throw new Error(`no count at ${at}`)
    at = space + 1 + Number(count)
    if (at > stream.length) throw new Error('the last message is torn')
    messages.push(stream.toString('utf8', space + 1, at))
  }
  return messages
}
