// What a person has paused: kept in Redis, so that every replica honours it and a restart forgets nothing.

import type { Cluster, Redis } from 'ioredis'
import { refOf } from '../event.ts'
import type { StreamKey } from '../event.ts'
import type { Report } from '../telemetry/report.ts'
import { pausesKey } from './keys.ts'
import type { Outlets } from './outlets.ts'

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
  /** Reads what is paused from now on. */
  look(): Promise<void>
  /** What keeps a stream from being read: a pause of it, or of its tenant. */
  ofStream(key: StreamKey): Pause | undefined
}

export interface PauseBoardParts {
  readonly pauses: Pick<Pauses, 'list'>
  readonly outlets: Pick<Outlets, 'hold'>
  readonly report: Pick<Report, 'pauseChanged'>
}

/** What was last read of the pauses. */
export function createPauseBoard({ pauses, outlets, report }: PauseBoardParts): PauseBoard {
  let known: ReadonlyMap<PauseName, Pause> = new Map()
  return {
    async look() {
      const before = known
      known = new Map((await pauses.list()).map((pause) => [pause.name, pause]))
      for (const [name, pause] of known)
        if (before.get(name)?.reason !== pause.reason) report.pauseChanged({ name, pause })
      for (const name of before.keys()) if (!known.has(name)) report.pauseChanged({ name, pause: null })
      outlets.hold(destinationsIn(known.keys()))
    },
    ofStream: (key) => known.get(`tenant:${refOf(key).tenant}`) ?? known.get(`stream:${key}`),
  }
}

function destinationsIn(names: Iterable<string>): ReadonlySet<string> {
  const prefix = 'destination:'
  return new Set([...names].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)))
}
