// Exponential back-off with full jitter.

export interface Backoff {
  readonly firstMs: number
  readonly highestMs: number
}

/** A random wait of up to `firstMs` doubled with each failure, never above `highestMs`. `failures` from 1. */
export function backoffMs(failures: number, { firstMs, highestMs }: Backoff): number {
  const bound = Math.min(highestMs, firstMs * 2 ** Math.min(failures - 1, 30))
  return Math.round(bound * (0.1 + 0.9 * Math.random()))
}
