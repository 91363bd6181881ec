// Datagrams to one receiver: RFC 5426, a message each. Nobody confirms them. All that can be heard is that a port is
// closed, and that only where nothing on the way swallows the ICMP message that says so.

import { createSocket, type Socket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { TailraceError } from '../../errors.ts'
import { connectionAgeMs, type Address } from '../stream/connection.ts'
import { deadline } from '../deadline.ts'
import { networkError } from '../network-errors.ts'
import type { Untaken } from '../sink.ts'

/** The most that a datagram over IPv4 can carry: 65 535 bytes less the headers of IP and UDP. */
export const datagramBytesMax = 65_507

export interface UdpTarget {
  readonly address: Address
  /** How long finding the address may take, milliseconds. */
  readonly connectTimeoutMs: number
  /** For messages: `syslog 192.0.2.1:514`. */
  readonly where: string
  /** After this the name is looked up again. */
  readonly ageMaxMs?: number
}

export interface UdpLine extends Disposable {
  /**
   * Resolves when the system has taken the datagrams, but for those that are too large for it. Rejects when it is
   * heard that nobody listens. Calls are served in turn.
   */
  send(records: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Untaken[]>
  /** Finds the address. Nothing is sent. */
  look(signal: AbortSignal): Promise<string>
}

/** So long is listened for a refusal after the last datagram: it takes a round trip, which nobody knows. */
const refusalMs = 10

interface Line {
  readonly socket: Socket
  readonly openedAt: number
  readonly peer: string
  /** What was heard of it since it was opened. */
  heard: Error | undefined
}

export function openUdp(target: UdpTarget): UdpLine {
  const { where, ageMaxMs = connectionAgeMs } = target
  let kept: Line | undefined
  let turn: Promise<unknown> = Promise.resolve()

  async function lineFor(signal: AbortSignal): Promise<Line> {
    if (kept !== undefined && performance.now() - kept.openedAt > ageMaxMs) drop()
    kept ??= await openLine(target, signal)
    return kept
  }

  function drop(): void {
    kept?.socket.close()
    kept = undefined
  }

  async function sendNow(records: readonly Uint8Array[], signal: AbortSignal): Promise<Untaken[]> {
    signal.throwIfAborted()
    const line = await lineFor(signal)
    const untaken: Untaken[] = []
    let sent = 0
    try {
      for (const [index, record] of records.entries()) {
        signal.throwIfAborted()
        if (line.heard !== undefined) throw line.heard
        if (await takesDatagram(line.socket, record)) sent++
        else untaken.push({ index, error: tooLarge(record, where) })
      }
      await delay(refusalMs, undefined, { signal })
      if (line.heard !== undefined) throw line.heard
      return untaken
    } catch (error) {
      drop()
      signal.throwIfAborted()
      const words = `${where}: ${line.peer} does not take datagrams (${wordsOf(error)})`
      throw new TailraceError('sink_unreachable', words, { cause: error, inDoubt: sent > 0 })
    }
  }

  return {
    send(records, signal) {
      const sent = turn.then(() => sendNow(records, signal))
      turn = sent.catch(() => undefined)
      return sent
    },
    async look(signal) {
      const { socket, peer } = await openLine(target, signal)
      socket.close()
      return `datagrams to ${peer}, not encrypted`
    },
    [Symbol.dispose]() {
      drop()
    },
  }
}

/** Connected sockets hear of refusals. Of several addresses the first one is taken that there is a route to. */
async function openLine({ address, connectTimeoutMs, where }: UdpTarget, signal: AbortSignal): Promise<Line> {
  using limit = deadline(connectTimeoutMs, signal)
  try {
    const found = await until(limit.signal, lookup(address.host, { all: true }))
    const failures: unknown[] = []
    for (const { address: host } of found) {
      const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
      try {
        socket.connect(address.port, host)
        await once(socket, 'connect', { signal: limit.signal })
        return listen(socket, isIPv6(host) ? `[${host}]:${address.port}` : `${host}:${address.port}`)
      } catch (error) {
        socket.close()
        limit.signal.throwIfAborted()
        failures.push(error)
      }
    }
    throw new AggregateError(failures)
  } catch (error) {
    signal.throwIfAborted()
    if (!limit.expired) throw networkError(error, where, 'connecting')
    const message = `${where}: the address was not found within ${connectTimeoutMs} ms`
    throw new TailraceError('sink_unreachable', message, { cause: error })
  }
}

function listen(socket: Socket, peer: string): Line {
  const line: Line = { socket, peer, openedAt: performance.now(), heard: undefined }
  socket.on('error', (error) => (line.heard = error))
  return line
}

/** Settles as the promise does, or rejects with the signal's reason. */
async function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** One at a time, with a turn of the event loop in between: a burst would overrun the receiver's buffer. */
async function takesDatagram(socket: Socket, record: Uint8Array): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  socket.send(record, (error) => {
    if (error === null) resolve(true)
    else if ('code' in error && error.code === 'EMSGSIZE') resolve(false)
    else reject(error)
  })
  return promise
}

function tooLarge(record: Uint8Array, where: string): TailraceError {
  const message = `${where}: a message of ${record.length} bytes does not fit into a datagram; lower maxMessageBytes`
  return new TailraceError('sink_refused_event', message)
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
