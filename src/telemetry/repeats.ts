// Identical failures, told once and then summed up: an outage of hours must not fill the disk.

interface Repeat {
  /** When it was last told, Unix ms. */
  toldAt: number
  lastAt: number
  /** How often since then. */
  count: number
}

export interface Repeats {
  /**
   * Whether this occurrence is to be told, and how many went untold before it. `undefined`: keep quiet.
   * The same key is the same failure.
   */
  tell(key: string): { readonly untold: number } | undefined
  /** The failure is over: the next one is a first one again. */
  forget(key: string): void
}

const summaryEveryMs = 60_000
/** After so long without it, it is a new occurrence. */
const overAfterMs = 10 * 60_000
const keysMax = 2_000

export function createRepeats(now: () => number = Date.now): Repeats {
  const known = new Map<string, Repeat>()
  return {
    tell(key) {
      const at = now()
      const repeat = known.get(key)
      if (!repeat || at - repeat.lastAt > overAfterMs) {
        // A Map remembers the order of insertion: what goes is the oldest.
        if (known.size >= keysMax) for (const oldest of known.keys()) if (known.delete(oldest)) break
        known.set(key, { toldAt: at, lastAt: at, count: 0 })
        return { untold: 0 }
      }
      repeat.lastAt = at
      if (at - repeat.toldAt < summaryEveryMs) {
        repeat.count++
        return undefined
      }
      const untold = repeat.count
      known.set(key, { toldAt: at, lastAt: at, count: 0 })
      return { untold }
    },
    forget: (key) => void known.delete(key),
  }
}
