import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createLimit } from '../../src/service/limit.ts'
import type { Limit } from '../../src/service/limit.ts'
import { startRedis } from '../redis.ts'
import type { TestRedis } from '../redis.ts'

const never = new AbortController().signal

function open(redis: TestRedis, requestsPerSecond: number): Limit {
  const options = { prefix: 't', instance: 'eu', egress: 'default', requestMs: 5_000 }
  return createLimit({ ...options, redis: redis.client, requestsPerSecond })
}

/** The most arrivals in any second. */
function busiest(arrivals: readonly number[]): number {
  const sorted = arrivals.toSorted((a, b) => a - b)
  let most = 0
  for (let from = 0, to = 0; to < sorted.length; to++) {
    while ((sorted[to] ?? 0) - (sorted[from] ?? 0) >= 1000) from++
    most = Math.max(most, to - from + 1)
  }
  return most
}

test('two replicas together never pass the limit in any second, and use it', async () => {
  await using redis = await startRedis()
  const limits = [open(redis, 100), open(redis, 100)]
  const arrivals: number[] = []
  const until = performance.now() + 4_000
  const worker = async (limit: Limit): Promise<void> => {
    while (performance.now() < until) {
      const release = await limit.admit(never)
      // The way there takes 5 ms at the least, and sometimes much longer.
      await delay(5 + (Math.random() < 0.1 ? Math.random() * 40 : 0))
      arrivals.push(performance.now())
      await delay(20)
      release()
    }
  }
  await Promise.all(limits.flatMap((limit) => Array.from({ length: 10 }, async () => worker(limit))))
  for (const limit of limits) limit.close()
  expect(busiest(arrivals)).toBeLessThanOrEqual(100)
  const seconds = (Math.max(...arrivals) - Math.min(...arrivals)) / 1000
  expect(arrivals.length / seconds).toBeGreaterThan(85)
})

test('a pause holds for every replica', async () => {
  await using redis = await startRedis()
  const [one, two] = [open(redis, 1000), open(redis, 1000)]
  const first = await one.admit(never)
  first()
  await one.pause(700)
  const from = performance.now()
  const release = await two.admit(never)
  release()
  expect(performance.now() - from).toBeGreaterThan(600)
  one.close()
  two.close()
})

test('who gives up waiting takes no slot; who is closed is rejected', async () => {
  await using redis = await startRedis()
  const limit = open(redis, 1)
  const release = await limit.admit(never)
  const control = new AbortController()
  const waiting = limit.admit(control.signal)
  control.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  const left = limit.admit(never)
  limit.close()
  await expect(left).rejects.toThrow('closed')
  release()
})

test('a request that never ends holds its slot for its longest time only', async () => {
  await using redis = await startRedis()
  const options = { prefix: 't', instance: 'eu', egress: 'default', requestMs: 300 }
  const crashed = createLimit({ ...options, redis: redis.client, requestsPerSecond: 1 })
  await crashed.admit(never)
  crashed.close()
  const limit = createLimit({ ...options, redis: redis.client, requestsPerSecond: 1 })
  const release = await limit.admit(never)
  expect(release).toBeTypeOf('function')
  release()
  limit.close()
})
