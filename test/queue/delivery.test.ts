// What the queue does about each remedy, with a real Redis and a receiver that does as it is told.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import type { ErrorCode, ErrorDetails } from '../../src/errors.ts'
import { makeBatches } from '../../src/queue/batch.ts'
import type { Batch } from '../../src/queue/batch.ts'
import { createBatches } from '../../src/queue/batches.ts'
import { deliver } from '../../src/queue/delivery.ts'
import type { Receiver, Untaken } from '../../src/queue/delivery.ts'
import { createGate } from '../../src/queue/gate.ts'
import { streamKeys } from '../../src/queue/keys.ts'
import { openOutlets } from '../../src/queue/outlets.ts'
import type { Outlets } from '../../src/queue/outlets.ts'
import { createStore } from '../../src/queue/store.ts'
import { connectRedis } from '../../src/redis.ts'
import { createReport } from '../../src/telemetry/create-report.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { createStatus } from '../../src/telemetry/status.ts'
import type { Status } from '../../src/telemetry/status.ts'
import { startRedis } from '../redis.ts'
import { eventsOf } from './events.ts'
import { logInMemory } from '../telemetry/facts.ts'

const key = 'acme/attacks' as const
const prefix = 't'
const plain = { key: 'plain', encode: ({ id }: { readonly id: string }) => id }
const wide = { events: 1_000, bytes: 1 << 20 }

interface Send {
  readonly sendId: string
  readonly ids: readonly string[]
  readonly at: number
}

/** Throws what it should be answered with; what it returns was not taken, the rest is confirmed. */
type Answer = (ids: readonly string[], nth: number) => Untaken[] | void | Promise<Untaken[] | void>

interface Stage extends AsyncDisposable {
  readonly redis: Awaited<ReturnType<typeof startRedis>>
  readonly sends: Send[]
  /** Most sends that were under way at once. */
  readonly most: () => number
  readonly status: Status
  readonly outlets: Outlets
  commit(count: number): Promise<Batch>
  owed(): Promise<number>
  dead(): Promise<Record<string, { code: string; reason: string; record: string }>>
}

async function openStage(
  answer: Answer,
  options: { limits?: Receiver['limits']; concurrencyMax?: number } = {},
): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const redis = stack.use(await startRedis())
  const workers = connectRedis({ url: redis.url, prefix }, 'worker')
  stack.defer(() => workers.disconnect())
  const sends: Send[] = []
  let [open, most] = [0, 0]
  const receiver: Receiver = {
    name: 'soc',
    limits: options.limits ?? wide,
    concurrencyMax: options.concurrencyMax ?? 8,
    async send(records, sendId) {
      const ids = records.map((record) => Buffer.from(record).toString())
      sends.push({ sendId, ids, at: Date.now() })
      most = Math.max(most, ++open)
      try {
        return (await answer(ids, sends.length)) ?? []
      } finally {
        open--
      }
    },
  }
  const status = createStatus({ version: 'test' })
  const { log } = logInMemory('info')
  const report = createReport({ metrics: createMetrics({ version: 'test' }), log, also: status.report })
  const batches = createBatches(redis.client, prefix)
  const store = createStore(redis.client, prefix)
  const engine = { commands: redis.client, workers, prefix, onError: () => undefined }
  const outlets = openOutlets({ engine, batches, report, haltedProbeMs: 1_500 })
  await outlets.use([receiver], 0)
  stack.defer(async () => outlets.close(200))
  outlets.start()
  const kept = stack.move()
  return {
    redis,
    sends,
    most: () => most,
    status,
    outlets,
    async commit(count) {
      const [batch] = await makeBatches(eventsOf(count), [{ destination: 'soc', encoding: plain }], wide)
      const lease = await store.begin(key, 'token', 1_000, 'live')
      if (!batch || !('key' in lease)) throw new Error('no batch, or no lease')
      await store.commit(lease, { state: 'S', trouble: '', seen: [], last: [], batches: [batch] })
      return batch
    },
    owed: async () => redis.client.zcard(streamKeys(prefix, key).owed),
    async dead() {
      const found = await redis.client.hgetall(streamKeys(prefix, key).dead)
      return Object.fromEntries(
        Object.entries(found).map(([field, value]) => [
          field,
          JSON.parse(value) as { code: string; reason: string; record: string },
        ]),
      )
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  }
}

function refuse(code: ErrorCode, details?: ErrorDetails): never {
  throw new TailraceError(code, `refused: ${code}`, details)
}

const idsOf = (count: number): string[] => eventsOf(count).map(({ id }) => id)

test('a poisonous record is isolated and set aside; all others are delivered, once', async () => {
  const confirmed: string[] = []
  await using stage = await openStage((ids) => {
    if (ids.includes('e13')) refuse('sink_refused_batch')
    confirmed.push(...ids)
  })
  const batch = await stage.commit(100)
  await stage.outlets.relay(key, [batch], 'live')
  await expect.poll(() => stage.owed()).toBe(0)
  expect(confirmed.toSorted()).toEqual(
    idsOf(100)
      .filter((id) => id !== 'e13')
      .toSorted(),
  )
  const dead = await stage.dead()
  expect(Object.keys(dead)).toEqual([`soc/${batch.id}/13`])
  const [letter] = Object.values(dead)
  expect(letter).toMatchObject({ code: 'sink_refused_batch', reason: 'refused: sink_refused_batch' })
  expect(Buffer.from(letter?.record ?? '', 'base64').toString()).toBe('e13')
  // It takes halving, not one send for each record.
  expect(stage.sends.length).toBeLessThan(20)
  // A receiver that answers, if only to refuse, is not down.
  expect(stage.status.picture().destinations[0]?.state).not.toBe('down')
})

test('of a batch that is taken in part, only what was not taken is sent again, and what was refused is dead', async () => {
  const confirmed: string[] = []
  await using stage = await openStage((ids, nth) => {
    const untaken = ids.flatMap((id, index): Untaken[] => {
      if (id === 'e3') return [{ index, error: new TailraceError('sink_refused_event', 'never') }]
      // The first time half of them are too much.
      if (nth === 1 && index % 2 === 1) return [{ index, error: new TailraceError('sink_unavailable', 'not now') }]
      return []
    })
    confirmed.push(...ids.filter((_, index) => !untaken.some((one) => one.index === index)))
    return untaken
  })
  const batch = await stage.commit(10)
  await stage.outlets.relay(key, [batch], 'live')
  await expect.poll(() => stage.owed()).toBe(0)
  expect(stage.sends.map(({ ids }) => ids)).toEqual([idsOf(10), ['e1', 'e5', 'e7', 'e9']])
  expect(confirmed.toSorted()).toEqual(
    idsOf(10)
      .filter((id) => id !== 'e3')
      .toSorted(),
  )
  expect(Object.keys(await stage.dead())).toEqual([`soc/${batch.id}/3`])
  // A receiver that knows the id of a send must not take the rest for the whole.
  expect(stage.sends[0]?.sendId).toBe(batch.id)
  expect(stage.sends[1]?.sendId).toMatch(new RegExp(`^${batch.id}-[\\w-]{8}$`))
})

test('what is refused together with others is halved until the refused one is alone', async () => {
  const confirmed: string[] = []
  await using stage = await openStage((ids) => {
    const half = ids.filter((id) => Number(id.slice(1)) % 2 === 0)
    if (!half.includes('e4')) return void confirmed.push(...ids)
    // A partition with the poisonous record refuses all of its records; the other takes its own.
    confirmed.push(...ids.filter((id) => !half.includes(id)))
    return half.map((id) => ({ index: ids.indexOf(id), error: new TailraceError('sink_refused_batch', 'too large') }))
  })
  const batch = await stage.commit(10)
  await stage.outlets.relay(key, [batch], 'live')
  await expect.poll(() => stage.owed()).toBe(0)
  expect(Object.keys(await stage.dead())).toEqual([`soc/${batch.id}/4`])
  const others = idsOf(10).filter((id) => id !== 'e4')
  expect(confirmed.toSorted()).toEqual(others.toSorted())
})

test('each attempt to send the same records has the same id, and each part of a batch its own', async () => {
  await using stage = await openStage(
    (_, nth) => {
      if (nth <= 2) throw new TailraceError('sink_reset', 'broken')
    },
    { limits: { events: 4, bytes: 1 << 20 }, concurrencyMax: 1 },
  )
  await stage.outlets.relay(key, [await stage.commit(10)], 'live')
  await expect.poll(() => stage.owed(), { timeout: 15_000 }).toBe(0)
  const [first, ...others] = stage.sends.map(({ sendId }) => sendId)
  expect(others.slice(0, 2)).toEqual([first, first])
  expect(new Set([first, ...others]).size).toBe(3)
})

test('while the receiver asks to wait, one probe at a time is let through, and nothing is spent', async () => {
  let waiting = true
  let open = 0
  let mostProbes = 0
  await using stage = await openStage(async (_ids, nth) => {
    if (!waiting) return
    open++
    // Two were under way when the gate closed.
    if (nth > 2) mostProbes = Math.max(mostProbes, open)
    await sleep(20)
    open--
    refuse('sink_throttled', { waitMs: 300 })
  })
  const batches: Batch[] = []
  for (let i = 0; i < 6; i++) batches.push(await stage.commit(3))
  await stage.outlets.relay(key, batches, 'live')
  await expect.poll(() => stage.sends.length, { timeout: 15_000 }).toBeGreaterThan(4)
  expect(mostProbes).toBe(1)
  expect(stage.status.picture().destinations[0]).toMatchObject({ state: 'down', reason: 'refused: sink_throttled' })
  // The probes keep to what the receiver asked for.
  const probes = stage.sends.slice(2).map(({ at }) => at)
  const pauses = probes.slice(1).map((at, i) => at - (probes[i] ?? 0))
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(290)
  expect(await stage.dead()).toEqual({})
  waiting = false
  await expect.poll(() => stage.owed(), { timeout: 40_000 }).toBe(0)
  expect(stage.status.picture().destinations[0]).toMatchObject({ state: 'up', deadLetters: 0 })
}, 60_000)

test('refused credentials halt the destination; it is looked at again slowly and goes on by itself', async () => {
  let refused = true
  await using stage = await openStage(() => {
    if (refused) refuse('sink_credentials')
  })
  await stage.outlets.relay(key, [await stage.commit(5)], 'live')
  await expect.poll(() => stage.status.picture().destinations[0]?.state).toBe('halted')
  expect(stage.status.picture().destinations[0]).toMatchObject({
    reason: 'refused: sink_credentials',
    lastError: { code: 'sink_credentials' },
  })
  expect(stage.sends.length).toBe(1)
  expect(await stage.owed()).toBe(1)
  refused = false
  await expect.poll(() => stage.owed(), { timeout: 10_000 }).toBe(0)
  const [first, second] = stage.sends
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_490)
  expect(stage.status.picture().destinations[0]?.state).toBe('up')
})

test('of a batch that takes several sends, only what was not confirmed is sent again', async () => {
  await using stage = await openStage(
    (_ids, nth) => {
      if (nth === 2) refuse('sink_reset', { inDoubt: true })
    },
    { limits: { events: 4, bytes: 1 << 20 } },
  )
  await stage.outlets.relay(key, [await stage.commit(10)], 'live')
  await expect.poll(() => stage.owed()).toBe(0)
  expect(stage.sends.map(({ ids }) => ids)).toEqual([
    ['e0', 'e1', 'e2', 'e3'],
    ['e4', 'e5', 'e6', 'e7'],
    ['e4', 'e5', 'e6', 'e7'],
    ['e8', 'e9'],
  ])
})

test('what was confirmed of a batch survives the death of who sent it', async () => {
  const stalled = Promise.withResolvers<void>()
  await using stage = await openStage(
    async (_ids, nth) => {
      if (nth === 2) await stalled.promise
    },
    { limits: { events: 4, bytes: 1 << 20 } },
  )
  const batch = await stage.commit(10)
  await stage.outlets.relay(key, [batch], 'live')
  await expect.poll(() => stage.sends.length).toBe(2)
  // Another process finds the batch: it begins where the confirmations ended.
  const again: string[] = []
  const receiver: Receiver = {
    name: 'soc',
    limits: wide,
    concurrencyMax: 1,
    async send(records) {
      again.push(...records.map((record) => Buffer.from(record).toString()))
      return []
    },
  }
  const { report } = createStatus({ version: 'test' })
  const draining = new AbortController().signal
  const gate = createGate({ destination: 'soc', concurrencyMax: 1, haltedProbeMs: 1_000, report, draining })
  const ports = { batches: createBatches(stage.redis.client, prefix), gate, report }
  await deliver({ key, id: batch.id }, receiver, ports, draining)
  expect(again).toEqual(['e4', 'e5', 'e6', 'e7', 'e8', 'e9'])
  expect(await stage.owed()).toBe(0)
  // A duplicate of the job finds nothing to send.
  await deliver({ key, id: batch.id }, receiver, ports, draining)
  expect(again).toHaveLength(6)
  // The first one comes to life again: it may finish what it held, and spoils nothing.
  stalled.resolve()
  await expect.poll(() => stage.sends.length).toBe(3)
  await expect
    .poll(async () => createBatches(stage.redis.client, prefix).debts(key))
    .toEqual([{ destination: 'soc', batches: 0, bytes: 0, dead: 0 }])
})

test('a batch that is queued again while it is under way, or after, is sent once', async () => {
  const gate = Promise.withResolvers<void>()
  await using stage = await openStage(async () => gate.promise)
  const batch = await stage.commit(3)
  await stage.outlets.relay(key, [batch], 'live')
  await expect.poll(() => stage.sends.length).toBe(1)
  await stage.outlets.relay(key, [batch], 'live')
  await stage.outlets.sweep([key], 0)
  gate.resolve()
  await expect.poll(() => stage.owed()).toBe(0)
  await stage.outlets.relay(key, [batch], 'live')
  await stage.outlets.sweep([key], 0)
  const queue = `${prefix}:{ship-soc}:ship-soc`
  await expect.poll(async () => stage.redis.client.llen(`${queue}:wait`)).toBe(0)
  await expect.poll(async () => stage.redis.client.llen(`${queue}:active`)).toBe(0)
  expect(stage.sends.length).toBe(1)
})

test('what a crash left in the outbox is queued by the sweep', async () => {
  await using stage = await openStage(() => undefined)
  await stage.commit(3)
  expect(stage.sends.length).toBe(0)
  await stage.outlets.sweep([key], 0)
  await expect.poll(() => stage.owed()).toBe(0)
  expect(stage.sends.map(({ ids }) => ids)).toEqual([['e0', 'e1', 'e2']])
})

test('no more sends at once than the destination may take', async () => {
  await using stage = await openStage(async () => sleep(20), {
    concurrencyMax: 3,
  })
  const batches: Batch[] = []
  for (let i = 0; i < 20; i++) batches.push(await stage.commit(1))
  await stage.outlets.relay(key, batches, 'live')
  await expect.poll(() => stage.owed()).toBe(0)
  expect(stage.sends.length).toBe(20)
  expect(stage.most()).toBeLessThanOrEqual(3)
  expect(stage.most()).toBeGreaterThan(1)
})
