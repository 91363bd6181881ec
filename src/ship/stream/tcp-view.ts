// What the kernel knows of our TCP connections, and Node.js does not say: Linux lists it in /proc/net/tcp.
//
// Why it matters: a peer that closes while bytes are under way shows the same FIN as one that has read everything; the
// reset that follows comes when nobody looks any more. But if its system had acknowledged all bytes before, a close
// with anything unread would have been a reset (RFC 2525 section 2.17), and so the FIN says that all was read.

import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Resolves with true when the peer's system has acknowledged all that was written; with false where that is not known
 * (no Linux, or the connection is gone, which its events tell).
 */
export type Acknowledged = (socket: Socket, signal: AbortSignal) => Promise<boolean>

const beatMs = 20

/** Reads of the list are shared by all who wait at the time. */
export function watchTcp(): Acknowledged {
  const list = sharedReads()
  return async (socket, signal) => {
    const { file, line } = entryOf(socket)
    // A read costs milliseconds (the kernel walks its whole table): all who wait within a beat share one.
    for (;;) {
      await delay(beatMs - (performance.now() % beatMs), undefined, { signal })
      const queued = line.exec(await list(file))?.[1]
      signal.throwIfAborted()
      if (queued === undefined) return false
      if (Number.parseInt(queued, 16) === 0) return true
    }
  }
}

interface Entry {
  readonly file: string
  /** Behind the local address: port, remote address and port, state, bytes not acknowledged. */
  readonly line: RegExp
}

function entryOf(socket: Socket): Entry {
  const v4 = socket.remoteFamily === 'IPv4'
  // Addresses are words in host order; of IPv6 the ports must do.
  const address = v4 ? (socket.remoteAddress ?? '').split('.').toReversed().map(Number).map(hex(2)).join('') : '\\w+'
  const [local, remote] = [socket.localPort ?? 0, socket.remotePort ?? 0].map(hex(4))
  return {
    file: v4 ? '/proc/net/tcp' : '/proc/net/tcp6',
    // 01: established. In any other state there is nothing to wait for.
    line: new RegExp(`:${local} ${address}:${remote} 01 (\\w{8}):`),
  }
}

function hex(digits: number): (value: number) => string {
  return (value) => value.toString(16).toUpperCase().padStart(digits, '0')
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
