// Waits until an indexer of Splunk acknowledges a request. Splunk, "About HTTP Event Collector Indexer Acknowledgment".

import { setTimeout as sleep } from 'node:timers/promises'
import { asTailraceError, TailraceError } from '../../errors.ts'
import { deadline } from '../deadline.ts'

/** Splunk advises to ask every ten seconds. The first times it is sooner: an idle indexer is done at once. */
const firstWaitMs = 100
const longestWaitMs = 10_000

export interface AckWait {
  /** Names the receiver, for messages. */
  readonly where: string
  readonly timeoutMs: number
}

/**
 * Asks with `poll` until it says yes. Rejects with `sink_timeout` when the time is over, with what makes asking
 * again useless, or with the signal's reason; each time in doubt, for the receiver has the events.
 */
export async function untilAcknowledged(
  poll: (signal: AbortSignal) => Promise<boolean>,
  { where, timeoutMs }: AckWait,
  signal: AbortSignal,
): Promise<void> {
  using limit = deadline(timeoutMs, signal)
  let trouble: TailraceError | undefined
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      await sleep(waitMs, undefined, { signal: limit.signal })
      if (await poll(limit.signal)) return
      trouble = undefined
    } catch (error) {
      signal.throwIfAborted()
      if (limit.expired) {
        const message = `${where}: the indexer did not acknowledge the events within ${timeoutMs} ms`
        throw new TailraceError('sink_timeout', message, { cause: trouble ?? error, inDoubt: true })
      }
      trouble = asTailraceError(error)
      if (trouble.remedy === 'retry' || trouble.remedy === 'wait') continue
      // Whatever is refused here is the question. The events are not to blame.
      const code = trouble.remedy === 'halt' ? trouble.code : 'sink_misconfigured'
      throw new TailraceError(code, trouble.message, { cause: error, inDoubt: true })
    }
  }
}
