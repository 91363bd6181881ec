import { expect, test } from 'vitest'
import type { SecurityEvent } from '../../src/event.ts'
import { makeBatches } from '../../src/queue/batch.ts'
import type { Outlet } from '../../src/queue/batch.ts'
import { createBatches } from '../../src/queue/batches.ts'
import { streamKeys } from '../../src/queue/keys.ts'
import { createStore } from '../../src/queue/store.ts'
import type { Lease, Store } from '../../src/queue/store.ts'
import { connectRedis } from '../../src/redis.ts'
import { startCluster } from '../redis-cluster.ts'
import { startRedis } from '../redis.ts'
import { eventsOf } from './events.ts'
import type { Cluster, Redis } from 'ioredis'

const key = 'acme/attacks' as const

const plain = { key: 'plain', encode: (event: SecurityEvent) => `${event.id} ${event.recordJson}` }
const odd = { key: 'odd', encode: (event: SecurityEvent) => (event.sequence % 2 === 1 ? event.id : undefined) }
const outlets: Outlet[] = [
  { destination: 'soc', encoding: plain },
  { destination: 'lake', encoding: plain },
  { destination: 'odd', encoding: odd },
]
const limits = { events: 1000, bytes: 1 << 20 }

async function begin(store: Store, token = 'token'): Promise<Lease> {
  const lease = await store.begin(key, token, 1_000, 'live')
  if (!('key' in lease)) throw new Error('held')
  return lease
}

const seen = { identity: 'identity-012', version: 'version8', revision: 3, closed: false, mark: 4_000_000_000 }

/** Returns how many keys of the batch are left. */
async function commits(redis: Redis | Cluster): Promise<number> {
  const store = createStore(redis, 't')
  const batches = createBatches(redis, 't')
  const [batch] = await makeBatches(eventsOf(5), outlets, limits)
  if (!batch) throw new Error('no batch')
  const lease = await begin(store)
  await store.commit(lease, { state: 'S', trouble: '', seen: [seen], last: [], batches: [batch] })
  expect((await begin(store)).state).toBe('S')
  expect(await store.lookup(key, ['identity-012', 'identity-013'])).toEqual([
    { version: 'version8', revision: 3, closed: false, mark: 4_000_000_000 },
    undefined,
  ])
  expect([...(await batches.unqueued(key))]).toEqual([[batch.id, expect.arrayContaining(['soc', 'lake', 'odd'])]])
  const ref = { key, id: batch.id }
  const owed = await batches.load(ref, 'odd')
  expect(owed?.records.map((record) => Buffer.from(record).toString())).toEqual(['e0', 'e2', 'e4'])
  const dead = [{ index: 1, code: 'sink_refused_event', reason: 'no', record: Buffer.from('x') }]
  await batches.settle(ref, 'odd', { left: [[2, 3]], dead })
  expect((await batches.load(ref, 'odd'))?.left).toEqual([[2, 3]])
  for (const destination of ['odd', 'soc', 'lake']) await batches.settle(ref, destination, { left: [], dead: [] })
  expect(await batches.load(ref, 'soc')).toBeUndefined()
  await batches.settle(ref, 'soc', { left: [], dead: [] })
  expect((await batches.owed(key, -1_000, 10)).size).toBe(0)
  expect(await batches.debts(key)).toEqual(
    expect.arrayContaining([
      { destination: 'soc', batches: 0, bytes: 0, dead: 0 },
      { destination: 'odd', batches: 0, bytes: 0, dead: 1 },
    ]),
  )
  return await redis.exists(streamKeys('t', key).batch(batch.id))
}

test('a page is committed whole, shipped by whoever owes it, and gone when nobody does', async () => {
  await using redis = await startRedis()
  expect(await commits(redis.client)).toBe(0)
})

test('the same on a Redis Cluster', async () => {
  await using cluster = await startCluster()
  const client = connectRedis({ url: cluster.url, prefix: 't' }, 'commands')
  try {
    expect(await commits(client)).toBe(0)
  } finally {
    client.disconnect()
  }
})

test('a commit is refused after a takeover, and after another commit', async () => {
  await using redis = await startRedis()
  const store = createStore(redis.client, 't')
  const nothing = { state: '', trouble: '', seen: [], last: [], batches: [] }
  const stopped = await store.begin(key, 'stopped', 1, 'live')
  if (!('key' in stopped)) throw new Error('held')
  await expect.poll(async () => 'key' in (await store.begin(key, 'other', 5_000, 'live'))).toBe(true)
  await expect(store.commit(stopped, nothing)).rejects.toMatchObject({ code: 'lease_lost' })
  expect(await store.renew(stopped, 1_000)).toBe(false)
  expect(await store.begin(key, 'third', 1_000, 'live')).toMatchObject({ lane: 'live' })
  const other = await begin(store, 'other')
  await store.commit(other, nothing)
  await expect(store.commit(other, nothing)).rejects.toMatchObject({ code: 'lease_lost' })
})

test('a deep turn gives way to a live one that waits', async () => {
  await using redis = await startRedis()
  const store = createStore(redis.client, 't')
  const deep = await store.begin(key, 'deep', 5_000, 'deep')
  if (!('key' in deep)) throw new Error('held')
  expect(await store.begin(key, 'live', 5_000, 'live')).toMatchObject({ lane: 'deep' })
  await store.commit(deep, { state: '', trouble: '', seen: [], last: [], batches: [] })
  expect(await store.begin(key, 'deep again', 5_000, 'deep')).toMatchObject({ waitMs: 100 })
  const live = await store.begin(key, 'live', 5_000, 'live')
  if (!('key' in live)) throw new Error('held')
  await store.release(live, '')
  expect(await store.begin(key, 'deep again', 5_000, 'deep')).toHaveProperty('key')
})

test('an emptied script cache is no error', async () => {
  await using redis = await startRedis()
  const store = createStore(redis.client, 't')
  await begin(store)
  await redis.client.script('FLUSH')
  await store.commit(await begin(store), { state: 'after', trouble: '', seen: [], last: [], batches: [] })
  expect((await store.peek(key)).state).toBe('after')
})

test('a full Redis takes nothing of a page, and still lets go of what is confirmed', async () => {
  await using redis = await startRedis('--maxmemory-policy', 'noeviction')
  const store = createStore(redis.client, 't')
  const batches = createBatches(redis.client, 't')
  const [batch] = await makeBatches(eventsOf(1), outlets, limits)
  if (!batch) throw new Error('no batch')
  await store.commit(await begin(store), { state: 'one', trouble: '', seen: [], last: [], batches: [batch] })
  const lease = await begin(store)
  await redis.client.config('SET', 'maxmemory', '1')
  const commit = { state: 'two', trouble: '', seen: [seen], last: [], batches: [] }
  await expect(store.commit(lease, commit)).rejects.toThrow(/OOM/)
  expect(await store.lookup(key, ['identity-012'])).toEqual([undefined])
  for (const { destination } of outlets)
    await batches.settle({ key, id: batch.id }, destination, { left: [], dead: [] })
  expect(await batches.load({ key, id: batch.id }, 'soc')).toBeUndefined()
  await redis.client.config('SET', 'maxmemory', '0')
  await store.commit(lease, commit)
  expect((await store.peek(key)).state).toBe('two')
})

test('what is too old is forgotten; what is missing is found once', async () => {
  await using redis = await startRedis()
  const store = createStore(redis.client, 't')
  const entries = Array.from({ length: 3000 }, (_, i) => ({
    identity: `identity${String(i).padStart(4, '0')}`,
    version: 'version8',
    revision: 1,
    closed: i % 10 === 0,
    mark: i,
  }))
  const last = entries.map((entry) => [entry.identity, Buffer.from(`last ${entry.identity}`)] as const)
  await store.commit(await begin(store), { state: '', trouble: '', seen: entries, last, batches: [] })
  const lease = await begin(store)
  const found = new Set<string>()
  let cursor = '0'
  do {
    const scanned = await store.scan(lease, { cursor, mode: 'missing', below: 100, closedBelow: 50 })
    for (const entry of scanned.found) {
      expect(entry.last.toString()).toBe(`last ${entry.identity}`)
      found.add(entry.identity)
    }
    ;({ cursor } = scanned)
  } while (cursor !== '0')
  expect(found.size).toBe(90)
  expect(await store.lookup(key, ['identity0000', 'identity0060'])).toEqual([undefined, expect.anything()])
  do {
    ;({ cursor } = await store.scan(lease, { cursor, mode: 'prune', below: 2000, closedBelow: 0 }))
  } while (cursor !== '0')
  expect(await redis.client.hlen(streamKeys('t', key).seen)).toBe(1000)
})

test('the trail is bounded by what it holds, and gone once it is turned off', async () => {
  await using redis = await startRedis()
  const batches = createBatches(redis.client, 't')
  const commitOne = async (trail: number | null): Promise<void> => {
    const store = createStore(redis.client, 't', trail)
    const events = eventsOf(5).map((event) => ({ ...event, id: event.id.padEnd(22, '-') }))
    const made = await makeBatches(events, outlets, limits)
    const lease = await begin(store)
    await store.commit(lease, { state: 'S', trouble: '', seen: [], last: [], batches: made, pass: 'live x, page 1' })
    for (const { id } of made)
      for (const destination of ['soc', 'lake', 'odd'])
        await batches.settle({ key, id }, destination, { left: [], dead: [] })
  }
  const { trail } = streamKeys('t', key)
  for (let i = 0; i < 30; i++) await commitOne(100)
  // A batch of five weighs fifteen, and has three more entries for who has settled it.
  expect(await redis.client.xlen(trail)).toBeLessThanOrEqual(6 * 4 + 3)
  expect(await redis.client.xlen(trail)).toBeGreaterThan(6 * 4 - 4)
  await commitOne(null)
  expect(await redis.client.exists(trail)).toBe(1)
  await commitOne(0)
  expect(await redis.client.exists(trail)).toBe(0)
})
