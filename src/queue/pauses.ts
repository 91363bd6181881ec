// What a person has paused: kept in Redis, so that every replica honours it and a restart forgets nothing.

import type { Cluster, Redis } from 'ioredis'
import { refOf } from '../event.ts'
import type { StreamKey } from '../event.ts'
import { pausesKey } from './keys.ts'

/** `tenant:acme`, `stream:acme/attacks`, `destination:soc`. */
export type PauseName = `${'tenant' | 'stream' | 'destination'}:${string}`

export interface Pause {
  readonly name: PauseName
  /** Unix milliseconds. */
  readonly since: number
  /** In the words of whoever paused it; may be empty. */
  readonly reason: string
}

export interface Pauses {
  list(): Promise<Pause[]>
  /** One that is there already keeps its `since`. */
  set(name: PauseName, reason: string): Promise<void>
  /** Whether there was one. */
  clear(name: PauseName): Promise<boolean>
}

export function createPauses(redis: Redis | Cluster, prefix: string): Pauses {
  const key = pausesKey(prefix)
  const list = async (): Promise<Pause[]> => {
    const fields = Object.entries(await redis.hgetall(key)) as [PauseName, string][]
    return fields.map(([name, text]) => ({ name, ...(JSON.parse(text) as { since: number; reason: string }) }))
  }
  return {
    list,
    async set(name, reason) {
      const known = (await list()).find((pause) => pause.name === name)
      await redis.hset(key, name, JSON.stringify({ since: known?.since ?? Date.now(), reason }))
    },
    clear: async (name) => (await redis.hdel(key, name)) === 1,
  }
}

export interface PauseBoard {
  /** Takes what holds from now on; tells what has changed since. */
  take(pauses: readonly Pause[]): readonly PauseChange[]
  /** What keeps a stream from being read: a pause of it, or of its tenant. */
  ofStream(key: StreamKey): Pause | undefined
  /** Names of destinations that are not sent to. */
  destinations(): ReadonlySet<string>
}

export interface PauseChange {
  readonly name: PauseName
  /** Null: it is over. */
  readonly pause: Pause | null
}

/** What was last read of the pauses. */
export function createPauseBoard(): PauseBoard {
  let known: ReadonlyMap<PauseName, Pause> = new Map()
  return {
    take(pauses) {
      const before = known
      known = new Map(pauses.map((pause) => [pause.name, pause]))
      const begun = pauses.filter(({ name, reason }) => before.get(name)?.reason !== reason)
      const over = [...before.keys()].filter((name) => !known.has(name))
      return [...begun.map((pause) => ({ name: pause.name, pause })), ...over.map((name) => ({ name, pause: null }))]
    },
    ofStream: (key) => known.get(`tenant:${refOf(key).tenant}`) ?? known.get(`stream:${key}`),
    destinations() {
      const names = [...known.keys()].filter((name) => name.startsWith('destination:'))
      return new Set(names.map((name) => name.slice('destination:'.length)))
    },
  }
}
