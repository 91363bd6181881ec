// A client of RELP, which answers every message: what the receiver confirmed is known message by message.

import { Buffer } from 'node:buffer'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { TailraceError } from '../../errors.ts'
import { connectionAgeMs, describePeer, type Connection, type Dial } from '../stream/connection.ts'
import { deadline } from '../deadline.ts'
import { networkError } from '../network-errors.ts'
import { openRelpSession, type RelpSession } from './relp-session.ts'
import type { RelpAnswer } from './relp-protocol.ts'
import type { Untaken } from '../sink.ts'

export interface RelpSettings {
  readonly dial: Dial
  /** Most messages under way without an answer. */
  readonly window: number
  /** How long any answer may take, milliseconds. */
  readonly confirmTimeoutMs: number
  /** For messages: `syslog 192.0.2.1:2514`. */
  readonly where: string
  /** After this a session is not used again: the name may have got another address. */
  readonly ageMaxMs?: number
}

export interface RelpClient extends AsyncDisposable {
  /**
   * Resolves with the messages that were not taken: those refused, and after a break those not confirmed, when any
   * was confirmed. Rejects, where none was. Parallel calls use a session each.
   */
  send(records: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Untaken[]>
  /** Opens a session and closes it. Resolves with what is known of the connection and of the server, in sentences. */
  look(signal: AbortSignal): Promise<readonly string[]>
}

const idleSessionsMax = 8
const idleMaxMs = 30_000
/** Closing in order is a courtesy: it is not waited for any longer. */
const closeTimeoutMs = 1000

export function relpClient(settings: RelpSettings): RelpClient {
  const { ageMaxMs = connectionAgeMs, where } = settings
  const idle: RelpSession[] = []
  let closed = false

  async function open({ socket }: Connection, signal: AbortSignal): Promise<RelpSession> {
    using limit = deadline(settings.confirmTimeoutMs, signal)
    try {
      const session = await openRelpSession(socket, where, limit.signal)
      socket.on('timeout', () => retire(session))
      return session
    } catch (error) {
      socket.destroy()
      signal.throwIfAborted()
      throw openingError(error, { ...settings, expired: limit.expired, encrypted: 'getPeerX509Certificate' in socket })
    }
  }

  function retire(session: RelpSession): void {
    const at = idle.indexOf(session)
    if (at >= 0) idle.splice(at, 1)
    void close(session)
  }

  /** A session that is still good, or a new one. */
  async function take(signal: AbortSignal): Promise<RelpSession> {
    signal.throwIfAborted()
    // A close or reset that has arrived meanwhile is heard after a whole turn of the event loop, and not before.
    if (idle.length > 0) await setImmediate().then(() => setImmediate())
    signal.throwIfAborted()
    const oldest = performance.now() - ageMaxMs
    for (let session = idle.pop(); session !== undefined; session = idle.pop()) {
      session.socket.setTimeout(0)
      if (session.usable && session.openedAt >= oldest) return session
      void close(session)
    }
    return open(await settings.dial(signal), signal)
  }

  function giveBack(session: RelpSession): void {
    if (closed || !session.usable || idle.length >= idleSessionsMax) return void close(session)
    session.socket.setTimeout(idleMaxMs)
    idle.push(session)
  }

  return {
    async send(records, signal) {
      const session = await take(signal)
      const delivery = await deliver(session, records, settings, signal)
      if (delivery.broke === undefined) giveBack(session)
      else {
        session.socket.destroy()
        signal.throwIfAborted()
      }
      return untakenOf(delivery, where)
    },
    async look(signal) {
      const connection = await settings.dial(signal)
      const found = describePeer(connection)
      const session = await open(connection, signal)
      await close(session)
      const { offers } = session
      const version = offers.get('relp_version') ?? '?'
      return [...found, `RELP version ${version} of ${offers.get('relp_software') ?? 'an unnamed server'}`]
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await Promise.all(idle.splice(0).map(close))
    },
  }
}

async function close(session: RelpSession): Promise<void> {
  if (!session.usable) return void session.socket.destroy()
  const timer = setTimeout(() => session.socket.destroy(), closeTimeoutMs)
  await session.close()
  clearTimeout(timer)
}

interface Opening extends RelpSettings {
  readonly expired: boolean
  readonly encrypted: boolean
}

function openingError(error: unknown, { where, confirmTimeoutMs, expired, encrypted }: Opening): TailraceError {
  if (expired) {
    const message = `${where}: no answer to RELP's open within ${confirmTimeoutMs} ms; is it a RELP port?`
    return new TailraceError('sink_timeout', message, { cause: error })
  }
  const coded = networkError(error, where, 'connecting')
  if (!encrypted || coded.code !== 'sink_unreachable') return coded
  // GnuTLS refuses certificates so: no alert, just the end.
  return new TailraceError('sink_unreachable', `${coded.message}; does it refuse our certificate?`, { cause: error })
}

interface Delivery {
  /** By message; undefined: none came. */
  readonly answers: readonly (RelpAnswer | undefined)[]
  /** How many messages were written at all. */
  readonly written: number
  /** What ended it before every answer had come. */
  readonly broke: TailraceError | undefined
}

/** Sends the messages, a window of them at a time. Never rejects. */
async function deliver(
  session: RelpSession,
  records: readonly Uint8Array[],
  { window, confirmTimeoutMs, where }: RelpSettings,
  signal: AbortSignal,
): Promise<Delivery> {
  const answers: (RelpAnswer | undefined)[] = Array.from({ length: records.length })
  const { promise: over, resolve, reject } = Promise.withResolvers<undefined>()
  let written = 0
  let answered = 0
  const fill = () => {
    for (; written < records.length && written - answered < window; written++) {
      const place = written
      session.ask('syslog', records[place] ?? Buffer.alloc(0), (answer) => {
        answers[place] = answer
        answered++
        timer.refresh()
        if (answered === records.length) resolve(undefined)
        else fill()
      })
    }
  }
  const abort = () => reject(signal.reason)
  const timer = setTimeout(() => {
    const message = `${where}: no confirmation within ${confirmTimeoutMs} ms`
    reject(new TailraceError('sink_timeout', message, { inDoubt: true }))
  }, confirmTimeoutMs)
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    fill()
    await Promise.race([over, session.broken])
    return { answers, written, broke: undefined }
  } catch (error) {
    return { answers, written, broke: networkError(error, where, 'sending') }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

function isTaken(answer: RelpAnswer | undefined): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status < 300
}

/** Throws where no message was confirmed, and that may change. */
function untakenOf({ answers, written, broke }: Delivery, where: string): Untaken[] {
  const some = answers.some(isTaken)
  if (broke !== undefined && !some) throw broke
  const untaken = answers.flatMap((answer, index) => {
    if (isTaken(answer)) return []
    if (answer !== undefined) return [{ index, error: refusal(answer, some, where) }]
    return broke === undefined ? [] : [{ index, error: withDoubt(broke, index < written) }]
  })
  const [first] = untaken
  if (!some && first !== undefined && untaken.every(({ error }) => error.remedy === 'retry')) throw first.error
  return untaken
}

function withDoubt(error: TailraceError, inDoubt: boolean): TailraceError {
  if (error.inDoubt === inDoubt) return error
  return new TailraceError(error.code, error.message, { cause: error, inDoubt })
}

/**
 * RELP knows 200 and 500, and no reasons. A server that takes other messages works, and so it is this one that it
 * refuses; one that takes none may be in trouble.
 */
function refusal({ status, words }: RelpAnswer, takesOthers: boolean, where: string): TailraceError {
  const said = `${status} ${words}`.replaceAll(/[^\u0020-\u007e]/g, '?').slice(0, 200)
  if (status >= 500 && !takesOthers) return new TailraceError('sink_unavailable', `${where}: it answered ${said}`)
  return new TailraceError('sink_refused_event', `${where}: it refused the message with ${said}`)
}
