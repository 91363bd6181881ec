// Watches whether Redis answers, is the same as before, and has room.

import type { Cluster, Redis } from 'ioredis'
import type { TailraceError } from './errors.ts'
import { asRedisError, inspectRedis } from './redis.ts'
import { every } from './rhythm.ts'
import type { Report } from './telemetry/report.ts'

export interface RedisWatcher {
  /** The share of its memory that is in use; of the fullest master of a cluster. */
  memory(share: number): void
  changed(fact: Parameters<Report['redisChanged']>[0]): void
  /** It is another one, was restarted or failed over: what it knew last may be gone. */
  replaced(): Promise<void>
  failed(error: TailraceError): void
}

type State = 'ready' | 'lost' | 'full'

/** Reports how it is at first, and then changes only. */
export function watchRedis(redis: Redis | Cluster, everyMs: number, watcher: RedisWatcher): AsyncDisposable {
  let identity: string | undefined
  let state: State | undefined
  const become = (next: State, reason: string): void => {
    if (next === state) return
    state = next
    watcher.changed({ state: next, reason })
  }
  const look = async (): Promise<void> => {
    const report = await inspectRedis(redis)
    const shares = report.nodes.map(({ usedMemoryBytes, maxMemoryBytes }) =>
      maxMemoryBytes === 0 ? 0 : usedMemoryBytes / maxMemoryBytes,
    )
    const share = Math.max(...shares)
    watcher.memory(share)
    become(share >= 1 ? 'full' : 'ready', share >= 1 ? 'it is at its maxmemory' : 'it answers, and has room')
    if (identity !== undefined && identity !== report.identity) {
      watcher.changed({ state: 'replaced', reason: 'it was restarted, or another one has taken its place' })
      await watcher.replaced()
    }
    ;({ identity } = report)
  }
  return every(everyMs, look, (thrown) => {
    const error = asRedisError(thrown)
    if (error.code === 'redis_unreachable') become('lost', error.message)
    else watcher.failed(error)
  })
}
