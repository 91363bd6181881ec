// One RELP session: an open socket on which every frame of ours is answered.

import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { TailraceError } from '../../errors.ts'
import { readAnswer, readOffers, relpFrame, relpReader, transactionAfter, type RelpAnswer } from './relp-protocol.ts'

export interface RelpSession {
  readonly socket: Socket
  /** Of performance.now(). */
  readonly openedAt: number
  /** What the server offered when the session was opened. */
  readonly offers: ReadonlyMap<string, string>
  /** Whether more may be asked. */
  readonly usable: boolean
  /** Rejects when the session ends, whoever ended it; the socket is destroyed then. */
  readonly broken: Promise<never>
  /** Writes a frame; calls back when it is answered, which is never after `broken` has rejected. */
  ask(command: string, data: Uint8Array, onAnswer: (answer: RelpAnswer) => void): void
  /** Ends the session in order. Resolves when the server has answered, or is gone. */
  close(): Promise<void>
}

// Version 0 is what librelp speaks; version 1 differs in nothing that we use.
const ourOffers = ['relp_version=0', 'relp_software=tailrace', 'commands=syslog'].join('\n')

/** Resolves when the server has agreed; `where` names it in messages. The caller destroys the socket where this rejects. */
export async function openRelpSession(socket: Socket, where: string, signal: AbortSignal): Promise<RelpSession> {
  const { broken, fail } = watchEnd(socket)
  const asking = new Map<number, (answer: RelpAnswer) => void>()
  let last = 0

  function ask(command: string, data: Uint8Array, onAnswer: (answer: RelpAnswer) => void): void {
    last = transactionAfter(last)
    asking.set(last, onAnswer)
    socket.write(relpFrame(last, command, data))
  }

  async function answerOf(command: string, data: string): Promise<RelpAnswer> {
    const { promise, resolve } = Promise.withResolvers<RelpAnswer>()
    ask(command, Buffer.from(data), resolve)
    return Promise.race([promise, broken])
  }

  const read = relpReader()
  socket.on('data', (chunk: Buffer) => {
    // What the answers make us write goes out as one.
    socket.cork()
    try {
      for (const { transaction, command, data } of read(chunk)) {
        if (command === 'serverclose') throw new Error('the receiver closed the session')
        const onAnswer = asking.get(transaction)
        if (command !== 'rsp' || onAnswer === undefined) throw new Error('an answer to nothing that was asked')
        asking.delete(transaction)
        onAnswer(readAnswer(data))
      }
    } catch (error) {
      fail(error)
    }
    socket.uncork()
  })

  const abort = () => fail(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    const { status, words, more } = await answerOf('open', ourOffers)
    if (status !== 200) throw unfit(where, `it refused the RELP session with ${status} ${words.slice(0, 200)}`)
    const offers = readOffers(more)
    const commands = offers.get('commands')?.split(',') ?? []
    if (!commands.includes('syslog')) throw unfit(where, 'the RELP server does not take syslog messages')
    return {
      socket,
      openedAt: performance.now(),
      offers,
      get usable() {
        return !socket.destroyed
      },
      broken,
      ask,
      async close() {
        await answerOf('close', '').catch(() => undefined)
        socket.destroy()
      },
    }
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function unfit(where: string, words: string): TailraceError {
  return new TailraceError('sink_misconfigured', `${where}: ${words}`)
}

interface End {
  readonly broken: Promise<never>
  fail(error: unknown): void
}

function watchEnd(socket: Socket): End {
  const { promise: broken, reject } = Promise.withResolvers<never>()
  broken.catch(() => undefined) // also when nobody waits
  const fail = (error: unknown) => {
    reject(error)
    socket.destroy()
  }
  socket.once('error', fail)
  socket.once('end', () => fail(new Error('closed by the receiver')))
  socket.once('close', () => fail(new Error('closed')))
  return { broken, fail }
}
