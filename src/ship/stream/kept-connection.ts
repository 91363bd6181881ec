// For receivers that never close, and so never confirm: one connection is kept, and what was written last is kept,
// too, to be written again after the connection broke. Weaker than a confirmation: what the receiver's system has
// acknowledged counts as delivered, and is lost if it is neither read there nor still remembered here.

import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { TailraceError } from '../../errors.ts'
import type { Expectation } from './close-confirmation.ts'
import { connectionAgeMs, type Connection, type Dial } from './connection.ts'
import { deadline } from '../deadline.ts'
import { networkError } from '../network-errors.ts'

const windowBytesMax = 4 * 1024 * 1024
const windowAgeMaxMs = 10_000

interface Written {
  readonly bytes: Uint8Array
  readonly at: number
}

export interface KeptConnection extends Disposable {
  /** Resolves when the peer's system has acknowledged the bytes. Calls are served in turn. */
  send(bytes: Uint8Array, signal: AbortSignal): Promise<void>
}

export function keepConnection(dial: Dial, expectation: Expectation, ageMaxMs = connectionAgeMs): KeptConnection {
  const { confirmTimeoutMs, where } = expectation
  let kept: Socket | undefined
  let keptSince = 0
  let recent: Written[] = []
  const retiring = new Set<Socket>()
  // Unclean ends so far, and how many of them are made good.
  let torn = 0
  let mended = 0
  let turn: Promise<unknown> = Promise.resolve()

  function keep({ socket }: Connection): Socket {
    // Any close that is not ours counts as unclean: a peer that goes away has not said what it read.
    const drop = () => {
      if (kept === socket) tear(socket)
    }
    socket.once('close', drop).once('end', drop).resume()
    kept = socket
    keptSince = performance.now()
    return socket
  }

  /** What was written last is written again on the next connection. */
  function tear(socket: Socket): void {
    if (kept === socket) kept = undefined
    if (torn === mended) recent = within(recent)
    torn++
    socket.destroy()
  }

  /** Closes in order what is too old; what was written still arrives, unless the peer says otherwise with a reset. */
  function retire(socket: Socket): void {
    kept = undefined
    retiring.add(socket)
    socket.once('error', () => tear(socket)).once('end', () => socket.destroy())
    socket.once('close', () => retiring.delete(socket))
    socket.setTimeout(windowAgeMaxMs, () => socket.destroy()).end()
  }

  async function sendNow(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (kept !== undefined && performance.now() - keptSince > ageMaxMs) retire(kept)
    const socket = kept ?? keep(await dial(signal))
    const before = torn
    const again = before > mended ? recent.map((item) => item.bytes) : []
    using limit = deadline(confirmTimeoutMs, signal)
    try {
      for (const some of [...again, bytes]) await write(socket, some, expectation, limit.signal)
      recent = within([...recent, { bytes, at: performance.now() }])
      mended = before
    } catch (error) {
      tear(socket)
      signal.throwIfAborted()
      if (!limit.expired) throw networkError(error, where, 'sending')
      const message = `${where}: the receiver's system did not take everything within ${confirmTimeoutMs} ms`
      throw new TailraceError('sink_timeout', message, { cause: error, inDoubt: true })
    }
  }

  return {
    send(bytes, signal) {
      const sent = turn.then(() => sendNow(bytes, signal))
      turn = sent.catch(() => undefined)
      return sent
    },
    [Symbol.dispose]() {
      const open = kept === undefined ? [...retiring] : [...retiring, kept]
      kept = undefined
      for (const socket of open) {
        // Ends in order, so that what was written still arrives; unread answers are no reason for a reset.
        socket.end(() => socket.destroySoon())
        socket.unref()
      }
    },
  }
}

/** The youngest, as far as they fit. */
function within(written: readonly Written[]): Written[] {
  const oldest = performance.now() - windowAgeMaxMs
  let bytes = 0
  const keep = written.toReversed().filter((item) => {
    bytes += item.bytes.length
    return bytes <= windowBytesMax && item.at >= oldest
  })
  return keep.toReversed()
}

async function write(
  socket: Socket,
  bytes: Uint8Array,
  { acknowledged }: Expectation,
  signal: AbortSignal,
): Promise<void> {
  if (socket.destroyed) throw new Error('closed')
  const { promise: broken, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  const close = () => reject(new Error('closed'))
  signal.addEventListener('abort', abort, { once: true })
  socket.once('close', close)
  try {
    signal.throwIfAborted()
    const { promise: written, resolve } = Promise.withResolvers<undefined>()
    socket.write(bytes, (error) => (error ? reject(error) : resolve(undefined)))
    await Promise.race([broken, written])
    await Promise.race([broken, acknowledged(socket, signal)])
  } finally {
    signal.removeEventListener('abort', abort)
    socket.off('close', close)
  }
}
