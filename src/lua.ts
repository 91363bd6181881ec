// Runs Lua scripts in Redis by their digest.

import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Cluster, Redis } from 'ioredis'

export interface Script {
  readonly text: string
  readonly sha: string
}

export function readScript(file: URL): Script {
  const text = readFileSync(file, 'utf8')
  return { text, sha: hash('sha1', text) }
}

/**
 * Texts in the reply come as Buffers. A script that the server has forgotten (restart, fail-over, SCRIPT
 * FLUSH) is sent again in full. Rejects as ioredis does.
 */
export async function runScript(
  redis: Redis | Cluster,
  { text, sha }: Script,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
): Promise<unknown> {
  const rest = [keys.length, ...keys, ...args]
  try {
    return await redis.callBuffer('EVALSHA', [sha, ...rest])
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    return await redis.callBuffer('EVAL', [text, ...rest])
  }
}
