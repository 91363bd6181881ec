// Whether a receiver confirms by closing after us: some never close, and nobody says beforehand.

import { performance } from 'node:perf_hooks'
import { TailraceError } from '../../errors.ts'
import { sendAndClose, type Expectation } from '../stream/close-confirmation.ts'
import type { Dial } from '../stream/connection.ts'

export interface Manners {
  /** Whether the receiver closes after us. Rejects while that is not known. */
  closes(signal: AbortSignal): Promise<boolean>
  /** Asks the receiver, and says what was found. */
  look(signal: AbortSignal): Promise<string>
}

/** So many silent answers in a row, and no close ever: the receiver is one that never closes. */
const silencesMax = 3
/** How often a receiver that never closes is asked again: it may have been stuck, or replaced. */
const askAgainMs = 300_000

/**
 * Finds out, with connections that carry nothing, whether a receiver closes after us. Once it did, it is held to
 * that: a receiver that is stuck looks like one that never closes, and must not be believed less strictly for it.
 */
export function learnManners(confirm: string, dial: Dial, expectation: Expectation): Manners {
  let silences = 0
  let closes: boolean | undefined
  let askedAt = 0
  let silentAt = 0
  const nothing = new Uint8Array(0)

  async function ask(signal: AbortSignal): Promise<void> {
    const started = performance.now()
    askedAt = started
    try {
      await sendAndClose(await dial(signal), nothing, expectation, signal)
      closes = true
    } catch (error) {
      if (!(error instanceof TailraceError && error.code === 'sink_timeout')) throw error
      // Parallel sends ask at the same time: that is one silence.
      if (started >= silentAt) silences++
      silentAt = performance.now()
      if (closes !== true && silences >= silencesMax) closes = false
      if (closes === undefined) throw error
    }
  }

  return {
    async closes(signal) {
      if (confirm !== 'auto') return confirm === 'close'
      const again = closes === false && performance.now() - askedAt > askAgainMs
      if (closes === undefined || again) await ask(signal)
      return closes ?? true
    },
    async look(signal) {
      try {
        await sendAndClose(await dial(signal), nothing, expectation, signal)
        closes = true
        return 'It confirms by closing the connection after us.'
      } catch (error) {
        if (!(error instanceof TailraceError && error.code === 'sink_timeout')) throw error
      }
      if (confirm === 'close') {
        const words = `${expectation.where}: it does not close after us, so it never confirms; set confirm to none or auto`
        throw new TailraceError('sink_misconfigured', words)
      }
      return 'It does not close after us: deliveries are unconfirmed; the last ones are repeated when a connection breaks.'
    },
  }
}
