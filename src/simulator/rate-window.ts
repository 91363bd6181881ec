// The service's limit: so many requests in any sliding second, per source address.

export interface RateWindow {
  /** undefined: admitted. Otherwise the milliseconds until the next request would be. */
  admit(address: string, nowMs: number): number | undefined
}

export function createRateWindow(requestsPerSecond: number): RateWindow {
  // Per address the times of the latest admitted requests, as a ring: the oldest one decides.
  const rings = new Map<string, { times: Float64Array; next: number }>()
  return {
    admit(address, nowMs) {
      let ring = rings.get(address)
      if (ring === undefined) {
        ring = { times: new Float64Array(requestsPerSecond).fill(Number.NEGATIVE_INFINITY), next: 0 }
        rings.set(address, ring)
      }
      const oldest = ring.times[ring.next] ?? Number.NEGATIVE_INFINITY
      if (nowMs - oldest < 1000) return 1000 - (nowMs - oldest)
      ring.times[ring.next] = nowMs
      ring.next = (ring.next + 1) % requestsPerSecond
      return undefined
    },
  }
}
