// Confirmation by close: after the last byte we close our direction, and the peer closes its own when it has read
// everything. That is the only answer that plain syslog over TCP and TLS can give.

import { setTimeout as delay } from 'node:timers/promises'
import { TailraceError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { deadline } from '../deadline.ts'
import { networkError } from '../network-errors.ts'
import type { Acknowledged } from './tcp-view.ts'

export interface Expectation {
  readonly confirmTimeoutMs: number
  readonly acknowledged: Acknowledged
  readonly where: string
}

/**
 * Sends all bytes, closes our direction and resolves once the peer has closed its own, having got everything. The
 * socket is gone afterwards, however it ends.
 */
export async function sendAndClose(
  connection: Connection,
  bytes: Uint8Array,
  { confirmTimeoutMs, acknowledged, where }: Expectation,
  signal: AbortSignal,
): Promise<void> {
  using limit = deadline(confirmTimeoutMs, signal)
  try {
    await exchange(connection, bytes, acknowledged, limit.signal)
  } catch (error) {
    signal.throwIfAborted()
    if (limit.expired) {
      const message = `${where}: no confirmation within ${confirmTimeoutMs} ms; the receiver did not close`
      throw new TailraceError('sink_timeout', message, { cause: error, inDoubt: bytes.length > 0 })
    }
    throw networkError(error, where, bytes.length > 0 ? 'sending' : 'connecting')
  } finally {
    connection.socket.destroy()
  }
}

async function exchange(
  { socket, roundTripMs }: Connection,
  bytes: Uint8Array,
  acknowledged: Acknowledged,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const { promise: broken, reject } = Promise.withResolvers<never>()
  const { promise: closed, resolve: close } = Promise.withResolvers<undefined>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  socket.once('error', reject).once('close', () => reject(new Error('closed')))
  socket.once('end', () => {
    if (socket.writableEnded) close(undefined)
    else reject(new Error('closed before it had everything'))
  })
  socket.resume() // what a receiver says has no meaning, but its end must be noticed
  try {
    await Promise.race([broken, new Promise((resolve) => socket.write(bytes, resolve))])
    // Our direction is closed only when everything has arrived: see tcp-view.ts. Where that cannot be known, a round
    // trip later it is at least known that the peer had not closed before we began.
    const known = await Promise.race([broken, acknowledged(socket, signal)])
    if (!known) await Promise.race([broken, delay(Math.min(roundTripMs, 1000), undefined, { signal })])
    socket.end()
    await Promise.race([broken, closed])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
