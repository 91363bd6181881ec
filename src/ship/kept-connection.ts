// For receivers that never close, and so never confirm: one connection is kept, and what was written last is kept,
// too, to be written again after the connection broke. Weaker than a confirmation: what the receiver's system has
// acknowledged counts as delivered, and is lost if it is neither read there nor still remembered here.

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { TailraceError } from '../errors.ts'
import type { Expectation } from './close-confirmation.ts'
import type { Dial } from './connection.ts'
import { deadline } from './deadline.ts'
import { networkError } from './network-errors.ts'
import { endsOf, type TcpEnds } from './tcp-view.ts'

const windowBytesMax = 4 * 1024 * 1024
const windowAgeMaxMs = 10_000

interface Written {
  readonly bytes: Uint8Array
  readonly at: number
}

interface Kept {
  readonly socket: Socket
  readonly ends: TcpEnds
}

export interface KeptConnection extends Disposable {
  /** Resolves when the peer's system has acknowledged the bytes. Calls are served in turn. */
  send(bytes: Uint8Array, signal: AbortSignal): Promise<void>
}

export function keepConnection(dial: Dial, expectation: Expectation): KeptConnection {
  const { confirmTimeoutMs, where } = expectation
  let kept: Kept | undefined
  let recent: Written[] = []
  let turn: Promise<unknown> = Promise.resolve()

  async function connected(signal: AbortSignal): Promise<Kept> {
    if (kept !== undefined) return kept
    const { socket } = await dial(signal)
    const fresh = { socket, ends: endsOf(socket) }
    const drop = () => {
      if (kept !== fresh) return
      kept = undefined
      recent = within(recent)
      socket.destroy()
    }
    // Any close that is not ours counts as unclean: a peer that goes away has not said what it read.
    socket.once('close', drop).once('end', drop).resume()
    kept = fresh
    try {
      for (const { bytes } of recent) await write(fresh, bytes, expectation, signal)
    } catch (error) {
      drop()
      throw error
    }
    return fresh
  }

  async function sendNow(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const connection = await connected(signal)
    using limit = deadline(confirmTimeoutMs, signal)
    try {
      await write(connection, bytes, expectation, limit.signal)
      recent = within([...recent, { bytes, at: performance.now() }])
    } catch (error) {
      connection.socket.destroy()
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
      const socket = kept?.socket
      kept = undefined
      // Ends in order, so that what was written still arrives; unread answers are no reason for a reset.
      socket?.end(() => socket.destroySoon())
      socket?.unref()
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

async function write(kept: Kept, bytes: Uint8Array, { tcp }: Expectation, signal: AbortSignal): Promise<void> {
  const { socket, ends } = kept
  if (socket.destroyed) throw new Error('closed')
  const gone = new AbortController()
  const broken = once(socket, 'close', { signal: gone.signal }).then(() => {
    throw new Error('closed')
  })
  try {
    await Promise.race([broken, acknowledged()])
  } finally {
    gone.abort()
    broken.catch(() => undefined)
  }

  async function acknowledged(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const abort = () => reject(signal.reason as Error)
    signal.throwIfAborted()
    signal.addEventListener('abort', abort, { once: true })
    socket.write(bytes, (error) => (error ? reject(error) : resolve(undefined)))
    await promise.finally(() => signal.removeEventListener('abort', abort))
    for (let ms = 1; ((await tcp.unacknowledged(ends)) ?? 0) > 0; ms = Math.min(ms * 2, 100)) {
      await delay(ms, undefined, { signal })
    }
  }
}
