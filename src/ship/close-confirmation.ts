// Confirmation by close: after the last byte we close our direction, and the peer closes its own when it has read
// everything. That is the only answer that plain syslog over TCP and TLS can give.

import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { TailraceError } from '../errors.ts'
import type { Connection } from './connection.ts'
import { deadline } from './deadline.ts'
import { networkError } from './network-errors.ts'
import { endsOf, type TcpView } from './tcp-view.ts'

export interface Expectation {
  readonly confirmTimeoutMs: number
  readonly tcp: TcpView
  readonly where: string
}

/**
 * Sends all bytes, closes our direction and resolves once the peer has closed its own, having got everything. The
 * socket is gone afterwards, however it ends.
 */
export async function sendAndClose(
  { socket, roundTripMs }: Connection,
  bytes: Uint8Array,
  { confirmTimeoutMs, tcp, where }: Expectation,
  signal: AbortSignal,
): Promise<void> {
  using limit = deadline(confirmTimeoutMs, signal)
  const ends = endsOf(socket)
  try {
    const holdMs = tcp.exact ? 0 : Math.min(roundTripMs, 1000)
    const early = await closedByPeer(socket, bytes, holdMs, limit.signal)
    const inOrder = early ? 'no' : await tcp.closedInOrder(ends)
    if (inOrder === 'no') throw new Error('closed before it had everything')
  } catch (error) {
    signal.throwIfAborted()
    if (limit.expired) {
      const message = `${where}: no confirmation within ${confirmTimeoutMs} ms; the receiver did not close`
      throw new TailraceError('sink_timeout', message, { cause: error, inDoubt: bytes.length > 0 })
    }
    throw networkError(error, where, 'sending')
  } finally {
    socket.destroy()
  }
}

/** Resolves when the peer has closed, with whether that was before we had closed our direction. */
function closedByPeer(socket: Socket, bytes: Uint8Array, holdMs: number, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  socket.once('error', reject)
  socket.once('close', () => reject(new Error('closed')))
  socket.once('end', () => resolve(!socket.writableEnded))
  socket.resume() // what a receiver says has no meaning, but its end must be noticed
  socket.write(bytes, (error) => {
    if (error) return
    // One round trip later it is known that the peer had not closed before we began. The kernel's list says that
    // exactly, and more; but not every system has such a list.
    if (holdMs === 0) socket.end()
    else delay(holdMs, undefined, { signal }).then(() => socket.end(), reject)
  })
  return promise.finally(() => signal.removeEventListener('abort', abort))
}
