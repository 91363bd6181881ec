// What the commands of repair have in common: the state in Redis, reached with the configuration, whether a daemon
// runs or not.

import type { Cluster, Redis } from 'ioredis'
import { loadConfig } from '../config.ts'
import type { Config } from '../config.ts'
import { findEmbeddedRedis } from '../embedded-redis.ts'
import { TailraceError } from '../errors.ts'
import { refOf, streamNames } from '../event.ts'
import type { StreamKey } from '../event.ts'
import { createBatches } from '../queue/batches.ts'
import type { Batches } from '../queue/batches.ts'
import { createStore } from '../queue/store.ts'
import type { Store } from '../queue/store.ts'
import { asRedisError, connectRedis } from '../redis.ts'
import type { Terminal } from './command.ts'
import { registers } from './registers.ts'

export interface RedisAccess extends AsyncDisposable {
  readonly config: Config
  readonly redis: Redis | Cluster
  readonly prefix: string
  readonly store: Store
  readonly batches: Batches
}

export interface StreamChoice {
  readonly tenant?: string
  readonly stream?: string
}

/** Rejects with `config_invalid`, or with `redis_unreachable` where Redis does not run. */
export async function openRedisAccess(file: string, terminal: Terminal): Promise<RedisAccess> {
  const config = await loadConfig(file, terminal.env, registers)
  const { url, data, prefix } = config.redis
  const found = url === '' ? await findEmbeddedRedis(data) : url
  if (found === undefined) throw notRunning(data)
  const redis = connectRedis({ ...config.redis, url: found }, 'commands')
  try {
    await redis.ping()
  } catch (thrown) {
    redis.disconnect()
    const error = asRedisError(thrown)
    throw url === '' && error.code === 'redis_unreachable' ? notRunning(data) : error
  }
  return {
    config,
    redis,
    prefix,
    store: createStore(redis, prefix),
    batches: createBatches(redis, prefix),
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  }
}

function notRunning(data: string): TailraceError {
  const text = `Redis is not running: the private one in ${data} runs as long as the daemon does. Start \`tailrace run\`, then try again.`
  return new TailraceError('redis_unreachable', text)
}

export function misuse(message: string): TailraceError {
  return new TailraceError('misuse', message)
}

/** Streams that are configured or were ever read, by name; all that fit the choice. Rejects where none does. */
export async function chooseStreams(access: RedisAccess, choice: StreamChoice): Promise<StreamKey[]> {
  const { tenant, stream } = choice
  if (stream !== undefined && !streamNames.some((name) => name === stream))
    throw misuse(`${stream} is no stream; there are: ${streamNames.join(', ')}`)
  const all = [...new Set([...configuredStreams(access.config), ...(await access.store.registered())])].toSorted()
  const fit = all.filter((key) => {
    const ref = refOf(key)
    return (tenant === undefined || ref.tenant === tenant) && (stream === undefined || ref.stream === stream)
  })
  if (fit.length > 0 || (tenant === undefined && stream === undefined)) return fit
  const tenants = [...new Set(all.map((key) => refOf(key).tenant))]
  throw misuse(
    `No stream ${stream ?? ''} of ${tenant ?? 'any tenant'} is known. Tenants: ${tenants.join(', ') || 'none'}`,
  )
}

export function configuredStreams({ tenants }: Config): StreamKey[] {
  return tenants.flatMap(({ name, streams }) => streams.map(({ stream }): StreamKey => `${name}/${stream}`))
}

/** What cannot be undone is done with `--yes`, or once a person at the terminal has agreed. */
export async function assent(question: string, yes: boolean, terminal: Terminal): Promise<void> {
  if (yes) return
  if (!terminal.ask) throw misuse(`${question} Say so with --yes.`)
  const answer = await terminal.ask(`${question} Type yes to go on: `)
  if (answer.trim().toLowerCase() !== 'yes') throw misuse('Nothing was done.')
}
