// What the service saw of its callers: how many requests, and how close together.

export interface StatsReport {
  readonly total: number
  /** Operation → HTTP status (or what was done to the connection) → count. */
  readonly operations: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** The most requests that arrived within any one second, rejected ones included. */
  readonly highestPerSecond: number
  readonly highestPerSecondByAddress: Readonly<Record<string, number>>
  /** Over the time from the first to the last arrival. */
  readonly meanPerSecond: number
  readonly firstArrival: number | null
  readonly lastArrival: number | null
}

export interface Stats {
  /** `nowMs` is monotonic, and taken as early as possible. */
  arrived(address: string, nowMs: number): void
  answered(operation: string, outcome: string): void
  report(): StatsReport
  reset(): void
}

export function createStats(): Stats {
  let operations = new Map<string, Map<string, number>>()
  let windows = new Map<string, SlidingCount>()
  let overall = createSlidingCount()
  return {
    arrived(address, nowMs) {
      let own = windows.get(address)
      if (own === undefined) windows.set(address, (own = createSlidingCount()))
      own.add(nowMs)
      overall.add(nowMs)
    },
    answered(operation, outcome) {
      let outcomes = operations.get(operation)
      if (outcomes === undefined) operations.set(operation, (outcomes = new Map()))
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    },
    report() {
      const { total, first, last } = overall
      return {
        total,
        operations: Object.fromEntries([...operations].map(([name, counts]) => [name, Object.fromEntries(counts)])),
        highestPerSecond: overall.highest,
        highestPerSecondByAddress: Object.fromEntries([...windows].map(([address, own]) => [address, own.highest])),
        meanPerSecond: total > 1 && last > first ? ((total - 1) * 1000) / (last - first) : total,
        firstArrival: total > 0 ? Math.round(performance.timeOrigin + first) : null,
        lastArrival: total > 0 ? Math.round(performance.timeOrigin + last) : null,
      }
    },
    reset() {
      operations = new Map()
      windows = new Map()
      overall = createSlidingCount()
    },
  }
}

interface SlidingCount {
  readonly total: number
  readonly highest: number
  readonly first: number
  readonly last: number
  add(nowMs: number): void
}

function createSlidingCount(): SlidingCount {
  let times: number[] = []
  let start = 0
  const count = { total: 0, highest: 0, first: 0, last: 0 }
  return Object.assign(count, {
    add(nowMs: number) {
      if (count.total++ === 0) count.first = nowMs
      count.last = nowMs
      times.push(nowMs)
      while (nowMs - (times[start] ?? nowMs) >= 1000) start++
      if (times.length - start > count.highest) count.highest = times.length - start
      // The past is dropped in large pieces, so that a run of hours stays small.
      if (start > 10_000) {
        times = times.slice(start)
        start = 0
      }
    },
  })
}
