// How many per minute, over the last minute, in bounded memory.

export interface Rate {
  add(count: number): void
  perMinute(): number
}

const slotMs = 5_000
const slots = 12

export function createRate(now: () => number): Rate {
  const counts = Array.from({ length: slots }, () => 0)
  let latest = Math.floor(now() / slotMs)
  const forward = () => {
    const current = Math.floor(now() / slotMs)
    // Slots that time has passed over are empty again; after a minute, all of them.
    for (let slot = Math.max(latest + 1, current - slots + 1); slot <= current; slot++) counts[slot % slots] = 0
    latest = Math.max(latest, current)
  }
  return {
    add(count) {
      forward()
      counts[latest % slots] = (counts[latest % slots] ?? 0) + count
    },
    perMinute() {
      forward()
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}
