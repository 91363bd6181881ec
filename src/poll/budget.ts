// A bound on the bytes of pages that are in memory at once.

import { once, setMaxListeners } from 'node:events'

/** Resolves when so many bytes are free (or nothing is taken at all); the result gives them back. */
export type Reserve = (bytes: number, signal: AbortSignal) => Promise<() => void>

export function createBudget(bytesMax: number): Reserve {
  const freed = new EventTarget()
  setMaxListeners(0, freed)
  let taken = 0
  return async (bytes, signal) => {
    while (taken > 0 && taken + bytes > bytesMax) await once(freed, 'freed', { signal })
    signal.throwIfAborted()
    taken += bytes
    let open = true
    return () => {
      if (!open) return
      open = false
      taken -= bytes
      freed.dispatchEvent(new Event('freed'))
    }
  }
}
