// The service's rate limit, shared by everything that leaves from one source address: at most so many
// requests in any second, as the service sees them.
//
// A request reaches the service at some moment between the grant of its slot and its answer, and never
// before the fixed part of the way there. So a slot is free again one second after the answer, less that
// fixed part, for which the shortest time of any recent request stands. This bounds every sliding second
// whatever jitter, stalls and retries do, and costs only the jitter.

import { hash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'

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
  readonly signal: AbortSignal
  readonly resolve: (release: () => void) => void
  readonly reject: (reason: unknown) => void
}

const windowMs = 1_000
/** The service's clock ticks, and ours: a slot rests a little longer than the window. */
const marginMs = 2
/** The shortest time is looked for among the requests of the last and the current span. */
const shortestSpanMs = 10_000
const text = readFileSync(new URL('./limit.lua', import.meta.url), 'utf8')
const sha = hash('sha1', text)

export function createLimit(options: LimitOptions): Limit {
  const tag = `${options.prefix}:{limit/${options.instance}/${options.egress}}`
  const waiters: Waiter[] = []
  const closing = new AbortController()
  let ended: (string | number)[] = []
  let serial = 0
  const owner = randomBytes(6).toString('base64url')
  const shortest = createShortest()
  let pumping = false

  const call = async (wanted: number, embargoMs: number): Promise<[number, number]> => {
    const released = ended
    ended = []
    const first = `${owner}/${serial++}/`
    const args = [options.requestsPerSecond, wanted, options.requestMs, first, embargoMs, ...released]
    const keys = [`${tag}:slots`, `${tag}:embargo`]
    let reply: [number, number]
    try {
      reply = (await evaluate(options.redis, keys, args)) as [number, number]
    } catch (error) {
      ended.push(...released)
      throw error
    }
    for (let i = 0; i < reply[0]; i++) grant(`${first}${i}`)
    return reply
  }
  const grant = (slot: string): void => {
    const grantedAt = performance.now()
    let open = true
    const release = (): void => {
      if (!open) return
      open = false
      const took = performance.now() - grantedAt
      ended.push(slot, Math.ceil(windowMs + marginMs - shortest(took)))
      void pump()
    }
    const waiter = waiters.shift()
    if (!waiter) return release() // nobody wants it any more
    waiter.resolve(release)
  }
  const pump = async (): Promise<void> => {
    if (pumping) return
    pumping = true
    try {
      // One call carries all that ended and all that wait at this moment.
      await sleep(1, undefined, { signal: closing.signal })
      while (waiters.length > 0 || ended.length > 0) {
        const [, waitMs] = await call(waiters.length, 0)
        if (waitMs > 0) await sleep(Math.min(waitMs, 1_000), undefined, { signal: closing.signal })
      }
    } catch (error) {
      for (const waiter of waiters.splice(0)) waiter.reject(error)
    } finally {
      pumping = false
    }
  }
  return {
    async admit(signal) {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<() => void>()
      const waiter = { signal, resolve, reject }
      const give = (): void => {
        const at = waiters.indexOf(waiter)
        if (at >= 0) waiters.splice(at, 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', give, { once: true })
      waiters.push(waiter)
      void pump()
      try {
        return await promise
      } finally {
        signal.removeEventListener('abort', give)
      }
    },
    async pause(ms) {
      await call(0, ms)
    },
    close() {
      closing.abort(new Error('the rate limit was closed'))
    },
  }
}

/** The shortest of recent durations, milliseconds. */
function createShortest(): (took: number) => number {
  let since = performance.now()
  let before = Infinity
  let current = Infinity
  return (took) => {
    const now = performance.now()
    if (now - since > shortestSpanMs) {
      before = current
      current = Infinity
      since = now
    }
    current = Math.min(current, took)
    return Math.min(before, current, windowMs / 4)
  }
}

async function evaluate(
  redis: Redis | Cluster,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.call('EVALSHA', [sha, keys.length, ...keys, ...args])
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    return await redis.call('EVAL', [text, keys.length, ...keys, ...args])
  }
}
