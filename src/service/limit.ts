// The service's rate limit, shared by everything that leaves from one source address: at most so many
// requests in any second, as the service sees them.
//
// A request reaches the service at some moment between the grant of its slot and its answer, and never
// before the fixed part of the way there. So a slot is free again one second after the answer, less that
// fixed part, for which the shortest time of many recent requests stands. This bounds every sliding second
// whatever jitter, stalls and retries do, and costs only the jitter. Of few requests even the shortest may have
// been slow (connections are opened, code is cold): until there are enough, a slot rests the whole second.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import { readScript, runScript } from '../lua.ts'

export interface LimitOptions {
  readonly redis: Redis | Cluster
  /** Keys begin with it. */
  readonly prefix: string
  readonly instance: string
  /** Names the source address; replicas behind the same one share the limit. */
  readonly egress: string
  readonly requestsPerSecond: number
  /** A request that has not ended after so long never will, milliseconds. */
  readonly requestMs: number
}

export interface Limit {
  /** Resolves when a request may be sent; the returned function tells that it was answered or failed. */
  admit(signal: AbortSignal): Promise<() => void>
  /** No request to this instance for so long, milliseconds. */
  pause(ms: number): Promise<void>
  /** Rejects whoever still waits. */
  close(): void
}

interface Waiter {
  readonly resolve: (release: () => void) => void
  readonly reject: (reason: unknown) => void
}

const windowMs = 1_000
/** The service's clock ticks, and ours: a slot rests a little longer than the window. */
const marginMs = 2
/** The shortest time is looked for among the requests of the last and the current span. */
const shortestSpanMs = 10_000
/** It counts once there are as many as the limit allows in so many seconds. */
const shortestSeconds = 2
const script = readScript(new URL('./limit.lua', import.meta.url))

export function createLimit(options: LimitOptions): Limit {
  const slots = createSlots(options)
  const waiters: Waiter[] = []
  const closing = new AbortController()
  let pumping = false

  /** One call carries all that has ended and all that waits at this moment. */
  const pump = async (): Promise<void> => {
    if (pumping) return
    pumping = true
    try {
      await sleep(1, undefined, { signal: closing.signal })
      while (waiters.length > 0 || slots.ended() > 0) {
        const { granted, waitMs } = await slots.take(waiters.length, 0)
        for (const slot of granted) give(slot)
        if (waitMs > 0) await sleep(waitMs, undefined, { signal: closing.signal })
      }
    } catch (error) {
      const reason: unknown = closing.signal.aborted ? closing.signal.reason : error
      for (const waiter of waiters.splice(0)) waiter.reject(reason)
    } finally {
      pumping = false
    }
  }
  const give = (slot: string): void => {
    const end = slots.begin(slot)
    const release = (): void => {
      end()
      void pump()
    }
    const waiter = waiters.shift()
    if (waiter) waiter.resolve(release)
    else release() // nobody wants it any more
  }
  return {
    async admit(signal) {
      signal.throwIfAborted()
      closing.signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<() => void>()
      const waiter = { resolve, reject }
      const withdraw = (): void => {
        const at = waiters.indexOf(waiter)
        if (at >= 0) waiters.splice(at, 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', withdraw, { once: true })
      waiters.push(waiter)
      void pump()
      try {
        return await promise
      } finally {
        signal.removeEventListener('abort', withdraw)
      }
    },
    async pause(ms) {
      await slots.take(0, ms)
    },
    close() {
      closing.abort(new Error('the rate limit was closed'))
    },
  }
}

interface Slots {
  /** Requests that have ended and whose slots are not given back yet. */
  ended(): number
  /** Takes slots and gives back those of requests that have ended. */
  take(wanted: number, embargoMs: number): Promise<{ readonly granted: readonly string[]; readonly waitMs: number }>
  /** A request begins in a slot; the result tells that it has ended. */
  begin(slot: string): () => void
}

function createSlots(options: LimitOptions): Slots {
  const tag = `${options.prefix}:{limit/${options.instance}/${options.egress}}`
  const keys = [`${tag}:slots`, `${tag}:embargo`]
  const owner = randomBytes(6).toString('base64url')
  const shortest = createShortest(options.requestsPerSecond * shortestSeconds)
  let ended: { readonly slot: string; readonly freeAt: number }[] = []
  let serial = 0
  return {
    ended: () => ended.length,
    async take(wanted, embargoMs) {
      const returned = ended
      ended = []
      const first = `${owner}/${serial++}/`
      // A moment of our clock as what is left until then: however late it is told, the slot rests no longer.
      const rests = returned.flatMap(({ slot, freeAt }) => [slot, Math.max(0, Math.ceil(freeAt - performance.now()))])
      const args = [options.requestsPerSecond, wanted, options.requestMs, first, embargoMs, ...rests]
      try {
        const [count, waitMs] = (await runScript(options.redis, script, keys, args)) as [number, number]
        return { granted: Array.from({ length: count }, (_, i) => `${first}${i}`), waitMs }
      } catch (error) {
        ended.push(...returned)
        throw error
      }
    },
    begin(slot) {
      const grantedAt = performance.now()
      let open = true
      return () => {
        if (!open) return
        open = false
        const endedAt = performance.now()
        ended.push({ slot, freeAt: endedAt + windowMs + marginMs - shortest(endedAt - grantedAt) })
      }
    },
  }
}

/** The shortest of recent durations, milliseconds; 0 where they are fewer than `countMin`. */
function createShortest(countMin: number): (took: number) => number {
  const nothing = { least: windowMs / 4, count: 0 }
  let since = performance.now()
  let [before, current] = [nothing, nothing]
  return (took) => {
    const now = performance.now()
    if (now - since > shortestSpanMs) {
      ;[before, current] = [current, nothing]
      since = now
    }
    current = { least: Math.min(current.least, took), count: current.count + 1 }
    return before.count + current.count < countMin ? 0 : Math.min(before.least, current.least)
  }
}
