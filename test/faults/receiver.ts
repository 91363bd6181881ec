// A syslog receiver that misbehaves on demand, and remembers every event: when it came, on which
// connection, and whether that connection was confirmed.

import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import type { ServiceRecord, StreamName } from '../../src/event.ts'

export interface Delivery {
  readonly at: number
  readonly link: Link
}

/** One connection. */
export interface Link {
  /** When its end was confirmed, Unix ms; null: it never was. */
  confirmedAt: number | null
}

export interface Arrived {
  readonly id: string
  readonly stream: StreamName
  readonly action: string
  readonly identity: string
  readonly sequence: number
  readonly record: ServiceRecord
  readonly deliveries: Delivery[]
}

export type Mood = 'well' | 'resetting' | 'stalling' | 'closed'

export interface Receiver extends AsyncDisposable {
  readonly port: number
  readonly arrived: ReadonlyMap<string, Arrived>
  /** Frames that could not be understood. */
  readonly broken: string[]
  mood(mood: Mood): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const arrived = new Map<string, Arrived>()
  const broken: string[] = []
  const sockets = new Set<Socket>()
  let mood: Mood = 'well'
  let port = 0
  let server: Server | undefined

  const take = (frame: string, link: Link): void => {
    const brace = frame.indexOf('{"id"')
    try {
      const event = JSON.parse(frame.slice(brace)) as Omit<Arrived, 'deliveries'>
      const known = arrived.get(event.id) ?? { ...event, deliveries: [] }
      known.deliveries.push({ at: Date.now(), link })
      arrived.set(event.id, known)
    } catch {
      broken.push(frame.slice(0, 200))
    }
  }
  const serve = (socket: Socket): void => {
    const link: Link = { confirmedAt: null }
    let rest: Buffer = Buffer.alloc(0)
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined) // both sides break connections here
    // It resets after a random share of what a page takes.
    let left = mood === 'resetting' && Math.random() < 0.7 ? Math.random() * 60_000 : Infinity
    socket.on('data', (chunk: Buffer) => {
      rest = takeFrames(Buffer.concat([rest, chunk]), (frame) => take(frame, link))
      left -= chunk.length
      if (left < 0) socket.resetAndDestroy()
    })
    socket.on('end', () => {
      if (left < Infinity && Math.random() < 0.3) return void socket.resetAndDestroy()
      link.confirmedAt = Date.now()
      socket.end()
    })
    if (mood === 'stalling') socket.pause()
  }
  const listen = async (): Promise<void> => {
    server = createServer({ allowHalfOpen: true }, serve).listen(port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (typeof address === 'object' && address) ({ port } = address)
  }
  const close = async (): Promise<void> => {
    const closing = server
    server = undefined
    if (!closing) return
    closing.close()
    for (const socket of sockets) socket.resetAndDestroy()
    await once(closing, 'close')
  }
  await listen()
  return {
    port,
    arrived,
    broken,
    async mood(next) {
      mood = next
      if (mood === 'closed') await close()
      else if (!server) await listen()
      if (mood === 'well') for (const socket of sockets) socket.resume()
    },
    [Symbol.asyncDispose]: close,
  }
}

/** RFC 6587 octet counting: `LENGTH SPACE MESSAGE`. Returns what is not whole yet. */
function takeFrames(bytes: Buffer, take: (frame: string) => void): Buffer {
  let at = 0
  for (;;) {
    const space = bytes.indexOf(0x20, at)
    if (space < 0) return bytes.subarray(at)
    const length = Number(bytes.toString('latin1', at, space))
    if (bytes.length < space + 1 + length) return bytes.subarray(at)
    take(bytes.toString('utf8', space + 1, space + 1 + length))
    at = space + 1 + length
  }
}
