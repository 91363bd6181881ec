// What is known of each stream, kept in Redis: lease, state, seen set, and the batches that are owed.
// One script commits a page, so all of it moves together, and goes back together where Redis loses its end.

import type { Cluster, Redis } from 'ioredis'
import type { StreamKey } from '../event.ts'
import { TailraceError } from '../errors.ts'
import type { Batch } from './batch.ts'
import { streamKeys, streamsKey } from './keys.ts'
import { createScripts } from './scripts.ts'
import { packChanges, packIdentities, unpackChanges, unpackSeen } from './seen.ts'
import type { Seen, SeenChange } from './seen.ts'

/** A lease that was taken, with what was read under it. Commits are refused once any of it is outdated. */
export interface Lease {
  readonly key: StreamKey
  readonly token: string
  /** Redis' clock, Unix milliseconds. */
  readonly now: number
  readonly n: number
  /** What the last commit left, '' at first; opaque here. */
  readonly state: string
  /** What failed turns left; '' = nothing. Opaque here. */
  readonly trouble: string
}

export type Lane = 'live' | 'deep'

/** Another turn works on the stream, or is about to. */
export interface Taken {
  readonly waitMs: number
  readonly lane: string
}

export interface Commit {
  readonly state: string
  /** What failed turns left and is not over yet; '' = nothing. */
  readonly trouble: string
  readonly seen: readonly SeenChange[]
  /** Inventories: identity → the last record as bytes, or null to forget it. */
  readonly last: readonly (readonly [identity: string, record: Buffer | null])[]
  readonly batches: readonly Batch[]
  /** Names the page that brought it, for the trail. */
  readonly pass?: string
}

export interface Scanned {
  /** Of the next call; '0': all has been looked through. */
  readonly cursor: string
  readonly found: readonly (SeenChange & { readonly last: Buffer })[]
}

export interface ScanRequest {
  readonly cursor: string
  readonly mode: 'prune' | 'missing'
  /** Entries with a lower mark are pruned, or reported as missing. */
  readonly below: number
  /** Closed entries with a lower mark are forgotten. */
  readonly closedBelow: number
}

export interface Store {
  /** Adds streams to the list of those whose batches are looked after. */
  register(keys: readonly StreamKey[]): Promise<void>
  /** Every stream that was ever registered, also those of tenants that are gone. */
  registered(): Promise<StreamKey[]>
  /** The lease, or whose it is. A deep lane gives way to a live one that waits. */
  begin(key: StreamKey, token: string, leaseMs: number, lane: Lane): Promise<Lease | Taken>
  renew(lease: Lease, leaseMs: number): Promise<boolean>
  release(lease: Lease, trouble: string): Promise<void>
  /** Forgets what failed turns left: what was wrong may have been put right. */
  forgive(keys: readonly StreamKey[]): Promise<void>
  lookup(key: StreamKey, identities: readonly string[]): Promise<(Seen | undefined)[]>
  /** Rejects with `lease_lost` where somebody else has committed, or taken the stream over. */
  commit(lease: Lease, commit: Commit): Promise<void>
  scan(lease: Lease, request: ScanRequest): Promise<Scanned>
  /** State and trouble of a stream, without a lease, for people to look at. */
  peek(key: StreamKey): Promise<{ readonly state: string; readonly trouble: string }>
}

/** `trail`: so many events of each stream are kept in its trail; null: the trail is left as it is. */
export function createStore(redis: Redis | Cluster, prefix: string, trail: number | null = null): Store {
  const run = createScripts(redis)
  return {
    async register(keys) {
      if (keys.length > 0) await redis.sadd(streamsKey(prefix), ...keys)
    },
    async registered() {
      return (await redis.smembers(streamsKey(prefix))) as StreamKey[]
    },
    async begin(key, token, leaseMs, lane) {
      const reply = await run('begin', [streamKeys(prefix, key).state], [token, leaseMs, lane])
      const [now, waitMs, n, state, trouble, holder] = reply as [number, number, Buffer, Buffer, Buffer, Buffer]
      if (waitMs > 0) return { waitMs, lane: holder.toString() }
      return { key, token, now, n: Number(n.toString()), state: state.toString(), trouble: trouble.toString() }
    },
    async renew(lease, leaseMs) {
      return (await run('renew', [streamKeys(prefix, lease.key).state], [lease.token, leaseMs])) === 1
    },
    async release(lease, trouble) {
      await run('release', [streamKeys(prefix, lease.key).state], [lease.token, trouble])
    },
    async forgive(keys) {
      await Promise.all(keys.map(async (key) => redis.hdel(streamKeys(prefix, key).state, 'trouble')))
    },
    async lookup(key, identities) {
      if (identities.length === 0) return []
      const reply = await run('lookup', [streamKeys(prefix, key).seen], [packIdentities(identities)])
      return unpackSeen(reply as Buffer)
    },
    async commit(lease, commit) {
      const keys = streamKeys(prefix, lease.key)
      const args: (string | number | Buffer)[] = [lease.token, lease.n, commit.state, commit.trouble]
      args.push(packChanges(commit.seen), trail ?? '', commit.pass ?? '', commit.last.length)
      for (const [identity, record] of commit.last) args.push(Buffer.from(identity, 'latin1'), record ?? '')
      for (const batch of commit.batches) args.push(...batchArguments(batch))
      const own = [keys.state, keys.seen, keys.last, keys.owed, keys.outbox, keys.debt, keys.trail]
      const reply = await run('commit', [...own, ...commit.batches.map((b) => keys.batch(b.id))], args)
      const [done, n] = reply as [number, number]
      if (done !== 1) throw new TailraceError('lease_lost', `${lease.key}: commit ${lease.n} came after ${n}`)
    },
    async scan(lease, request) {
      const keys = streamKeys(prefix, lease.key)
      const { cursor, mode, below, closedBelow } = request
      const reply = await run(
        'scan',
        [keys.seen, keys.state, keys.last],
        [cursor, below, mode, closedBelow, lease.token, lease.n],
      )
      const [next, found, ...last] = reply as [Buffer, Buffer, ...Buffer[]]
      if (next.toString() === '-1') throw new TailraceError('lease_lost', `${lease.key}: taken over while scanning`)
      return {
        cursor: next.toString(),
        found: unpackChanges(found).map((entry, i) => ({ ...entry, last: last[i] ?? Buffer.alloc(0) })),
      }
    },
    async peek(key) {
      const [state, trouble] = await redis.hmget(streamKeys(prefix, key).state, 'state', 'trouble')
      return { state: state ?? '', trouble: trouble ?? '' }
    },
  }
}

function batchArguments(batch: Batch): (string | number | Buffer)[] {
  const { trace } = batch
  const fields: (string | number | Buffer)[] = ['oldest', batch.oldest]
  for (const { key, count, packed } of batch.encodings) fields.push(`e/${key}`, packed, `c/${key}`, count)
  const debts: (string | number)[] = []
  for (const [destination, key] of batch.owers) {
    fields.push(`d/${destination}`, key)
    const bytes = batch.encodings.find((encoded) => encoded.key === key)?.packed.length ?? 0
    debts.push(destination, bytes)
  }
  return [
    batch.id,
    fields.length / 2,
    ...fields,
    batch.owers.size,
    ...debts,
    trace.replayed ? '' : trace.first,
    trace.ids,
  ]
}
