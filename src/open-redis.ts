// The connections to the Redis of the configuration; without one there is a private Redis.

import type { Cluster, Redis } from 'ioredis'
import type { Config } from './config.ts'
import { startEmbeddedRedis } from './embedded-redis.ts'
import { connectRedis, type asRedisError } from './redis.ts'
import type { Report } from './telemetry/report.ts'

export interface RedisParts {
  readonly config: Config
  readonly report: Report
  readonly signal: AbortSignal
  readonly tell: (finding: string) => void
}

/** Everything that is opened is the stack's. */
export async function openRedis(
  { config, signal, tell, report }: RedisParts,
  stack: AsyncDisposableStack,
): Promise<{ commands: Redis | Cluster; workers: Redis | Cluster }> {
  let { url } = config.redis
  if (url === '') {
    const failed = (error: ReturnType<typeof asRedisError>): void => report.failed({ error, during: 'running Redis' })
    const embedded = stack.use(await startEmbeddedRedis({ folder: config.redis.data, signal, failed }))
    for (const finding of embedded.findings) tell(finding)
    ;({ url } = embedded)
  }
  const connect = (role: 'commands' | 'worker'): Redis | Cluster => {
    const redis = connectRedis({ ...config.redis, url }, role)
    stack.defer(() => redis.disconnect())
    return redis
  }
  return { commands: connect('commands'), workers: connect('worker') }
}
