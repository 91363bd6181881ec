// What the kernel knows of our TCP connections, and Node.js does not say: Linux lists it in /proc/net/tcp.
//
// Why it matters: a peer that closes before it has read what is still under way shows the same FIN as one that has
// read everything; the reset comes afterwards, when nobody looks any more. Only the state tells them apart: our side
// gets to TIME-WAIT after the peer has acknowledged our FIN, and so all before it (RFC 9293 section 3.3.2). Without a
// look at it, a receiver that was stopped at the wrong moment would have confirmed what it never got.

import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'

/** Names a connection in the kernel's list. */
export interface TcpEnds {
  readonly file: string
  /** How the line of this connection goes on behind its local address. */
  readonly ports: RegExp
}

/** `unknown`: the system does not say (no Linux, or its list leaves out what we look for). */
export type InOrder = 'yes' | 'no' | 'unknown'

export interface TcpView {
  /** Whether an answer other than `unknown` can be expected. */
  readonly exact: boolean
  /** After both sides have closed: whether the peer had acknowledged all that we sent before it closed. */
  closedInOrder(ends: TcpEnds): Promise<InOrder>
  /** Bytes sent, or waiting to be, that the peer's system has not acknowledged; undefined: not known. */
  unacknowledged(ends: TcpEnds): Promise<number | undefined>
}

/** To be called while the socket is open. */
export function endsOf(socket: Socket): TcpEnds {
  const v4 = socket.remoteFamily === 'IPv4'
  // Addresses are words in host order; of IPv6 the ports must do.
  const address = v4 ? (socket.remoteAddress ?? '').split('.').toReversed().map(Number).map(hex(2)).join('') : '\\w+'
  const [local, remote] = [socket.localPort ?? 0, socket.remotePort ?? 0].map(hex(4))
  return {
    file: v4 ? '/proc/net/tcp' : '/proc/net/tcp6',
    ports: new RegExp(`:${local} ${address}:${remote} (\\w\\w) (\\w{8}):`),
  }
}

function hex(digits: number): (value: number) => string {
  return (value) => value.toString(16).toUpperCase().padStart(digits, '0')
}

const timeWait = '06'

/** A view that believes an absence only once it has seen that this system lists such connections at all. */
export function viewTcp(): TcpView {
  const list = sharedReads()
  let listsTimeWait = false
  return {
    get exact() {
      return listsTimeWait
    },
    async closedInOrder(ends) {
      const text = await list(ends.file)
      const state = ends.ports.exec(text)?.[1]
      if (state === timeWait) {
        listsTimeWait = true
        return 'yes'
      }
      if (state !== undefined) return 'no'
      return listsTimeWait && !(await leavesOut(text)) ? 'no' : 'unknown'
    },
    async unacknowledged(ends) {
      const queued = ends.ports.exec(await list(ends.file))?.[2]
      return queued === undefined ? undefined : Number.parseInt(queued, 16)
    },
  }
}

/** Whether so many connections wait that the kernel drops some (ip-sysctl: tcp_max_tw_buckets). */
async function leavesOut(text: string): Promise<boolean> {
  const most = Number(await readFile('/proc/sys/net/ipv4/tcp_max_tw_buckets', 'latin1').catch(() => '0'))
  return text.split(` ${timeWait} 00000000:`).length > most * 0.9
}

/** Reads that wait share the next one; nobody gets a text that was read before he asked. */
function sharedReads(): (file: string) => Promise<string> {
  const next = new Map<string, Promise<string>>()
  const running = new Map<string, Promise<string>>()
  return (file) => {
    const waiting = next.get(file)
    if (waiting !== undefined) return waiting
    const read = (running.get(file) ?? Promise.resolve('')).then(async () => {
      next.delete(file)
      const text = readFile(file, 'latin1').catch(() => '')
      running.set(file, text)
      return text
    })
    next.set(file, read)
    return read
  }
}
