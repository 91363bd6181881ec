// Runs the Lua scripts of this folder. Each touches one stream only, so one slot of a cluster.

import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Cluster, Redis } from 'ioredis'

const names = ['begin', 'renew', 'release', 'lookup', 'commit', 'scan', 'load', 'settle'] as const
type ScriptName = (typeof names)[number]

export type RunScript = (
  name: ScriptName,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
) => Promise<unknown>

const sources = new Map(
  names.map((name) => {
    const text = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')
    return [name, { text, sha: hash('sha1', text) }] as const
  }),
)

/**
 * Replies come as Buffers. A script that the server has forgotten (restart, fail-over, SCRIPT FLUSH) is
 * sent again in full. Rejects as ioredis does.
 */
export function createScripts(redis: Redis | Cluster): RunScript {
  return async (name, keys, args) => {
    const script = sources.get(name)
    if (!script) throw new Error(`no script ${name}`)
    const rest = [...keys, ...args]
    try {
      return await redis.callBuffer('EVALSHA', [script.sha, keys.length, ...rest])
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return await redis.callBuffer('EVAL', [script.text, keys.length, ...rest])
    }
  }
}
