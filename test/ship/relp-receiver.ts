// A RELP server that can be told to misbehave. A real socket on loopback; written apart from what it judges.

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls'

/**
 * - `confirm`: answers 200 to every message
 * - `reset`: resets at the first message (over TLS it just closes: such a socket cannot reset)
 * - `stall`: does not answer messages
 * - `mute`: answers nothing, not even `open`
 * - `poison`: answers 500 to messages with `poison` in them
 * - `trouble`: answers 500 to every message
 * - `leave`: answers `keep` messages, then says `serverclose` and closes
 * - `gone`: answers `keep` messages, then resets
 */
export type RelpManner = 'confirm' | 'reset' | 'stall' | 'mute' | 'poison' | 'trouble' | 'leave' | 'gone'

export interface RelpReceiver extends AsyncDisposable {
  manner: RelpManner
  /** Of `leave` and `gone`: how many messages of a session are answered. */
  keep: number
  readonly address: string
  /** The messages that were confirmed, by session. */
  readonly sessions: string[][]
  /** The commands that came, by session, but for `syslog`. */
  readonly commands: string[][]
  /** The most messages that were under way without an answer at a time; with `stall`. */
  readonly underWay: number
  readonly open: ReadonlySet<Socket>
  /** Open connections with messages that are not answered. */
  readonly busy: number
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startRelpReceiver(tls?: TlsOptions): Promise<RelpReceiver> {
  const open = new Set<Socket>()
  const busy = new Set<Socket>()
  let server: Server
  let port = 0
  let underWay = 0
  const launch = async () => {
    const accept = (socket: Socket) => {
      open.add(socket)
      socket.setNoDelay()
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(socket)
          busy.delete(socket)
        })
      serve(socket)
    }
    server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept)
    server.on('tlsClientError', () => undefined).listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }

  function serve(socket: Socket): void {
    const [messages, commands]: [string[], string[]] = [[], []]
    receiver.sessions.push(messages)
    receiver.commands.push(commands)
    let answered = 0
    const say = (number: string, text: string) => socket.write(`${number} rsp ${Buffer.byteLength(text)} ${text}\n`)
    let waiting = 0
    const message = (number: string, text: string) => {
      const { manner, keep } = receiver
      underWay = Math.max(underWay, ++waiting)
      if (manner === 'stall') return void busy.add(socket)
      if (manner === 'reset' || (manner === 'gone' && answered >= keep)) return breakOff(socket)
      if (manner === 'leave' && answered >= keep) return void socket.end('0 serverclose 0\n')
      waiting--
      const refused = manner === 'trouble' || (manner === 'poison' && text.includes('poison'))
      if (!refused) messages.push(text)
      answered++
      say(number, refused ? '500 no' : '200 OK')
    }
    readFrames(socket, (number, command, text) => {
      if (command === 'syslog') return message(number, text)
      commands.push(command)
      if (receiver.manner === 'mute') return
      if (command === 'open') say(number, '200 OK\nrelp_version=1\nrelp_software=test\ncommands=syslog')
      if (command === 'close') socket.end(`${number} rsp 0\n0 serverclose 0\n`)
    })
  }

  const receiver: RelpReceiver = {
    manner: 'confirm',
    keep: 0,
    sessions: [],
    commands: [],
    open,
    get busy() {
      return busy.size
    },
    get underWay() {
      return underWay
    },
    get address() {
      return `127.0.0.1:${port}`
    },
    async stop() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of open) socket.destroy()
      await closed
    },
    start: launch,
    async [Symbol.asyncDispose]() {
      await receiver.stop()
    },
  }
  await launch()
  return receiver
}

function breakOff(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy()
  else socket.resetAndDestroy()
}

function readFrames(socket: Socket, take: (number: string, command: string, text: string) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const head = /^([1-9]\d{0,8}) ([a-z]+) (0|[1-9]\d{0,8})([ \n])/.exec(rest.toString('latin1', 0, 64))
      if (head === null) return
      const [start, number = '', command = '', length, after] = head
      const end = start.length + Number(length)
      if (after === '\n') {
        rest = rest.subarray(start.length)
        take(number, command, '')
        continue
      }
      if (rest.length <= end) return
      if (rest[end] !== 0x0a) throw new Error('a frame does not end where it should')
      const text = rest.toString('utf8', start.length, end)
      rest = rest.subarray(end + 1)
      take(number, command, text)
    }
  })
}
