// The names of everything kept in Redis. One hash tag per stream, so that its scripts run on a Redis Cluster.

import type { StreamKey } from '../event.ts'

export interface StreamKeys {
  /** Hash: n (commits so far), state, token and leaseUntil, trouble. */
  readonly state: string
  /** Hash: 12 bytes of identity → 16 bytes (see seen.ts). */
  readonly seen: string
  /** Hash, inventories only: 12 bytes of identity → the last record, for the event that says it has gone. */
  readonly last: string
  /** Sorted set: ids of the batches that some destination still owes; score: Unix ms. */
  readonly owed: string
  /** Set: ids of batches that are not known to be queued. */
  readonly outbox: string
  /** Hash: `<destination>/bytes`, `/batches`, `/dead` → sums of what it owes. */
  readonly debt: string
  /** Hash: `<destination>/<batch>/<index>` → a dead letter. */
  readonly dead: string
  /** Stream: which batches there were lately, and who has confirmed them (see trail.ts). */
  readonly trail: string
  /** Hash per batch (see batches.ts). */
  batch(id: string): string
}

export function streamKeys(prefix: string, key: StreamKey): StreamKeys {
  const tag = `${prefix}:{${key}}:`
  return {
    state: `${tag}state`,
    seen: `${tag}seen`,
    last: `${tag}last`,
    owed: `${tag}owed`,
    outbox: `${tag}outbox`,
    debt: `${tag}debt`,
    dead: `${tag}dead`,
    trail: `${tag}trail`,
    batch: (id) => `${tag}batch:${id}`,
  }
}

/** Set: every stream that was ever committed to, so that a removed tenant's batches are still shipped. */
export function streamsKey(prefix: string): string {
  return `${prefix}:streams`
}

/** The prefix of a BullMQ queue: a hash tag of its own, so that queues spread over a cluster. */
export function queuePrefix(prefix: string, queue: string): string {
  return `${prefix}:{${queue}}`
}

/** Hash: what a person has paused (see pauses.ts). */
export function pausesKey(prefix: string): string {
  return `${prefix}:paused`
}
