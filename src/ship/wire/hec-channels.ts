// Channels of an event collector. Splunk, "About HTTP Event Collector Indexer Acknowledgment", "About channels and
// sending data": acknowledgements are numbered for each channel.

import { randomUUID } from 'node:crypto'
import { orAborted } from '../or-aborted.ts'

export interface Channels {
  /**
   * Nobody else uses the channel until the work has ended. A collector that has crashed has forgotten what it was sent
   * and counts from 0 again: what it says of a number would be taken for an answer about a request from before, whose
   * events are lost.
   */
  use<T>(signal: AbortSignal, work: (channel: string) => Promise<T>): Promise<T>
}

/** `fixed`: the only one, so that one use waits for another; empty: as many as are used at the same time. */
export function keepChannels(fixed: string): Channels {
  const free: string[] = []
  let turn: Promise<unknown> = Promise.resolve()
  return {
    async use(signal, work) {
      if (fixed !== '') {
        const mine = orAborted(turn, signal).then(() => work(fixed))
        turn = Promise.allSettled([turn, mine])
        return mine
      }
      const channel = free.pop() ?? randomUUID()
      const result = await work(channel)
      // After an error it is not used again: a request may still be on its way through some proxy.
      free.push(channel)
      return result
    },
  }
}
