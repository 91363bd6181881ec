// Work that is repeated while something is open.

import { setTimeout as sleep } from 'node:timers/promises'

/** Runs `work` every `ms`, one run after the other, until it is disposed; waits for a run under way then. */
export function every(ms: number, work: () => Promise<void>, failed: (thrown: unknown) => void): AsyncDisposable {
  const stop = new AbortController()
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await sleep(ms, undefined, { signal: stop.signal })
        await work()
      } catch (thrown) {
        if (!stop.signal.aborted) failed(thrown)
      }
    }
  }
  const running = loop()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}
