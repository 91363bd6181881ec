// Runs the Lua scripts of this folder. Each touches one stream only, so one slot of a cluster.

import type { Cluster, Redis } from 'ioredis'
import { readScript, runScript } from '../lua.ts'

const names = ['begin', 'renew', 'release', 'lookup', 'commit', 'scan', 'load', 'settle', 'requeue'] as const
type ScriptName = (typeof names)[number]

export type RunScript = (
  name: ScriptName,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
) => Promise<unknown>

const scripts = new Map(names.map((name) => [name, readScript(new URL(`./lua/${name}.lua`, import.meta.url))] as const))

/** Replies come as Buffers; see lua.ts. */
export function createScripts(redis: Redis | Cluster): RunScript {
  return async (name, keys, args) => {
    const script = scripts.get(name)
    if (!script) throw new Error(`no script ${name}`)
    return await runScript(redis, script, keys, args)
  }
}
