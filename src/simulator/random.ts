// A small seeded random source (mulberry32), so that a run can be repeated.

export interface Random {
  /** In [0, 1). */
  next(): number
  /** Whole number in [min, max]. */
  int(min: number, max: number): number
  pick<T>(items: readonly [T, ...T[]]): T
  chance(probability: number): boolean
  /** Letters, digits, `-` and `_`. */
  word(length: number): string
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    int,
    pick: (items) => items[int(0, items.length - 1)] ?? items[0],
    chance: (probability) => next() < probability,
    word(length) {
      let word = ''
      for (let i = 0; i < length; i++) word += alphabet.charAt(int(0, 63))
      return word
    },
  }
}

/** Two numbers as one seed, well mixed. */
export function mixSeed(seed: number, part: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(part + 1, 0xc2b2ae35)
  mixed ^= mixed >>> 15
  return Math.imul(mixed, 0x27d4eb2f) >>> 0
}
