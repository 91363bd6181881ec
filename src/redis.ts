// Connections to Redis: what an URL means, how each role behaves when Redis is away, whether the server
// found there can be trusted with our state, and its errors as coded ones.

import { Cluster, Redis } from 'ioredis'
import type { CommonRedisOptions } from 'ioredis'
import type { ConnectionOptions } from 'node:tls'
import { asTailraceError, TailraceError } from './errors.ts'
import { defined, parseRedisUrl } from './redis-url.ts'
import type { Target } from './redis-url.ts'

export interface RedisTls {
  /** PEM text, not file names. `ca` replaces the system's authorities. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  /** The name the certificate must have, where it is not the host of the URL. */
  readonly servername?: string
}

export interface RedisOptions {
  /**
   * One of
   * - `redis://[user:password@]host[:port][/db]`, `rediss://…` (TLS)
   * - `unix:///path/to.sock[?db=n]`
   * - `redis+sentinel://host:port,host:port/master[/db]`, `rediss+sentinel://…`
   * - `redis+cluster://host:port,host:port`, `rediss+cluster://…`
   *
   * User and password in it are percent-encoded. With Sentinel they are for the Redis servers; where
   * `password` is given too, that is for the servers and the one in the URL for the Sentinels.
   */
  readonly url: string
  /** Names the connections in `CLIENT LIST`. Keys are not prefixed by the connection: BullMQ refuses that. */
  readonly prefix: string
  readonly username?: string
  readonly password?: string
  readonly tls?: RedisTls
}

/**
 * - `commands`: fails fast. A command that cannot be sent, or is not answered, rejects within 10 s and is never
 *   sent twice by the connection; whoever sent it knows whether it may be repeated.
 * - `blocking`, `worker`: waits for Redis for ever and sends unanswered commands again, as BullMQ wants it.
 *   A blocking command must not block for more than 20 s, or the connection is taken for dead.
 */
export type RedisRole = 'commands' | 'blocking' | 'worker'

type Base = Omit<CommonRedisOptions, 'replyMapping'> & { tls?: ConnectionOptions }

const commandTimeoutMs = 10_000
const silenceMs = 30_000

/**
 * Starts to connect, and goes on trying with bounded, jittered back-off until it is disconnected. Listen to
 * `error` for the reasons (through `asRedisError`); nobody has to. Throws `config_invalid` for a wrong URL.
 */
export function connectRedis(options: RedisOptions, role: RedisRole): Redis | Cluster {
  const target = parseRedisUrl(options.url)
  if (options.tls !== undefined && !target.tls) {
    throw new TailraceError('config_invalid', 'redis.tls is set, but redis.url is not of a TLS kind (rediss://…).')
  }
  const given = defined({ username: options.username, password: options.password })
  const sentinelLogin = target.kind === 'sentinel' && 'password' in given && 'password' in target.login
  const login = sentinelLogin ? given : { ...target.login, ...given }
  const tls = target.tls ? { tls: defined({ ...options.tls }) } : {}
  const base: Base = { ...roleOptions(role), ...login, ...tls, connectionName: `${options.prefix}-${role}` }
  const redis = target.kind === 'cluster' ? connectCluster(target, base, role) : connectOne(target, base, sentinelLogin)
  // Without a listener an error event ends the process; with this one it is up to others to add theirs.
  redis.on('error', () => undefined)
  return redis
}

function connectOne(target: Target, base: Base, sentinelLogin: boolean): Redis {
  if (target.kind === 'socket') return new Redis({ ...base, path: target.path, db: target.db })
  if (target.kind === 'single') return new Redis({ ...base, ...target.hosts[0], db: target.db })
  const { username, password } = sentinelLogin ? target.login : {}
  const tls = base.tls ? { enableTLSForSentinelMode: true, sentinelTLS: base.tls } : {}
  return new Redis({
    ...base,
    ...defined({ sentinelUsername: username, sentinelPassword: password }),
    ...tls,
    sentinels: target.hosts,
    name: target.path,
    db: target.db,
    sentinelCommandTimeout: 5_000,
    sentinelRetryStrategy: backoffMs,
    // No failover detector: its connections to Sentinels that are down write to stderr by themselves. A fail-over
    // is seen by the lost connection, by READONLY, or by silence.
    failoverDetector: false,
  })
}

function connectCluster(target: Target, base: Base, role: RedisRole): Cluster {
  const cluster = new Cluster(target.hosts, {
    redisOptions: base,
    clusterRetryStrategy: backoffMs,
    // Certificates name hosts; a cluster tells addresses. The first look-up decides, as for any client.
    dnsLookup: (address, callback) => callback(null, address),
    slotsRefreshTimeout: 5_000,
  })
  if (role === 'commands') {
    // The time limit of ioredis begins when a node has been chosen: without one, a command waits for ever.
    const send = cluster.sendCommand.bind(cluster)
    cluster.sendCommand = (command, stream, node: unknown) => {
      command.setTimeout(commandTimeoutMs)
      return send(command, stream, node)
    }
  }
  return cluster
}

function roleOptions(role: RedisRole): Base {
  const both: Base = {
    retryStrategy: backoffMs,
    connectTimeout: 5_000,
    socketTimeout: silenceMs,
    keepAlive: 10_000,
    // A master that a fail-over has made a replica: connect anew. What was refused is not repeated here.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  }
  if (role !== 'commands') return { ...both, maxRetriesPerRequest: null, autoResendUnfulfilledCommands: true }
  // 0, not 1: with 1 and no resending, ioredis 6.0 forgets commands that were under way when the connection
  // broke once, and their promises settle only by the time limit. With 0 they reject when it breaks.
  return { ...both, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: commandTimeoutMs }
}

/** 50 ms doubling up to 2 s, the upper half of it random, so that replicas do not return in step. */
function backoffMs(times: number): number {
  const most = Math.min(50 * 2 ** Math.min(times - 1, 10), 2_000)
  return most / 2 + (Math.random() * most) / 2
}

/** What an operator should know of a Redis. */
export interface RedisReport {
  readonly cluster: boolean
  /** Changes when this is another Redis than before, or was restarted: what was cached must be read anew. */
  readonly identity: string
  /** The one server, or every master of the cluster. */
  readonly nodes: readonly RedisNode[]
}

export interface RedisNode {
  readonly address: string
  readonly runId: string
  readonly version: string
  readonly role: string
  readonly appendOnly: boolean
  /** `always`, `everysec` or `no`; null where `CONFIG GET` is not permitted. */
  readonly appendFsync: string | null
  /** 0: no bound. */
  readonly maxMemoryBytes: number
  readonly maxMemoryPolicy: string
  readonly usedMemoryBytes: number
  readonly replicas: number
  /** Replicas that must have answered lately for a write to be taken; null where not permitted to ask. */
  readonly minReplicas: number | null
}

/** Asks the server, or all masters of a cluster. Rejects with a coded error. */
export async function inspectRedis(redis: Redis | Cluster): Promise<RedisReport> {
  try {
    if (redis instanceof Redis) return reportOf(false, [await inspectNode(redis)])
    await redis.ping() // the masters are known once it is connected
    return reportOf(true, await Promise.all(redis.nodes('master').map(inspectNode)))
  } catch (error) {
    throw asRedisError(error)
  }
}

function reportOf(cluster: boolean, nodes: RedisNode[]): RedisReport {
  const identity = nodes.map((node) => node.runId).toSorted()
  return { cluster, identity: identity.join(','), nodes }
}

async function inspectNode(redis: Redis): Promise<RedisNode> {
  const info = new Map((await redis.info()).split('\r\n').map((line) => splitAt(line, line.indexOf(':'))))
  const { host, port, path } = redis.options
  return {
    address: path ?? `${host}:${port}`,
    runId: info.get('run_id') ?? '',
    version: info.get('redis_version') ?? '0',
    role: info.get('role') ?? 'master',
    appendOnly: info.get('aof_enabled') === '1',
    appendFsync: await setting(redis, 'appendfsync'),
    maxMemoryBytes: Number(info.get('maxmemory') ?? 0),
    maxMemoryPolicy: info.get('maxmemory_policy') ?? 'noeviction',
    usedMemoryBytes: Number(info.get('used_memory') ?? 0),
    replicas: Number(info.get('connected_slaves') ?? 0),
    minReplicas: numberOrNull(await setting(redis, 'min-replicas-to-write')),
  }
}

function splitAt(line: string, index: number): [string, string] {
  return [line.slice(0, Math.max(index, 0)), line.slice(index + 1)]
}

/** Null where the server does not let us ask: hosted ones do not, and an ACL need not. */
async function setting(redis: Redis, name: string): Promise<string | null> {
  try {
    const reply: unknown = await redis.config('GET', name)
    return Array.isArray(reply) && typeof reply[1] === 'string' ? reply[1] : null
  } catch (error) {
    if (isReplyError(error)) return null
    throw error
  }
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text)
}

/**
 * Throws `redis_unsafe`, with the remedy, for a Redis that may drop our state. Returns what is worth a warning.
 * Every policy but `noeviction` is refused as soon as `maxmemory` is set. The `volatile-*` ones evict only keys
 * that expire, but those are leases and the request limit: without them a stream is read twice and the service
 * is pushed past its limit. Without `maxmemory` nothing is ever evicted, so the policy is only warned about.
 */
export function assertSafe(report: RedisReport): string[] {
  return report.nodes.flatMap((node) => {
    const where = report.cluster ? `Redis at ${node.address}` : 'Redis'
    if (Number.parseInt(node.version, 10) < 7) {
      throw new TailraceError('redis_unsafe', `${where} is version ${node.version}; 7.0 or newer is needed.`)
    }
    if (node.role !== 'master') {
      throw new TailraceError('redis_unsafe', `${where} is a replica. Give redis.url the address of the master.`)
    }
    const evicts = node.maxMemoryPolicy !== 'noeviction'
    if (evicts && node.maxMemoryBytes > 0) {
      throw new TailraceError(
        'redis_unsafe',
        `${where} evicts keys when it is full (maxmemory-policy ${node.maxMemoryPolicy}), which loses events. Set CONFIG SET maxmemory-policy noeviction, and the same in its configuration file.`,
      )
    }
    return [...persistenceWarnings(node), ...(evicts ? [policyWarning(node)] : [])].map((text) => `${where}: ${text}`)
  })
}

function persistenceWarnings(node: RedisNode): string[] {
  const warnings = []
  if (!node.appendOnly) {
    warnings.push('the append-only file is off; a restart goes back to the last snapshot. Set appendonly yes.')
  } else if (node.appendFsync === 'no') {
    warnings.push('appendfsync is no; a power cut goes back by up to half a minute. Set everysec or always.')
  } else if (node.appendFsync === 'everysec') {
    warnings.push('appendfsync is everysec; after a power cut the last second is read again, and may be sent twice.')
  }
  if (node.replicas > 0 && node.minReplicas === 0) {
    warnings.push('min-replicas-to-write is 0; a fail-over may go back by any time. Set it to 1.')
  }
  return warnings
}

function policyWarning(node: RedisNode): string {
  return `maxmemory-policy is ${node.maxMemoryPolicy}; harmless only while maxmemory is 0. Set noeviction.`
}

/**
 * Whatever a Redis client threw, as a coded error. Its cause is a copy without the command: ioredis hangs the
 * arguments onto the error, and those of AUTH are the password.
 */
export function asRedisError(thrown: unknown): TailraceError {
  if (thrown instanceof TailraceError || !(thrown instanceof Error)) return asTailraceError(thrown)
  const cause = withoutCommand(thrown)
  const { message } = cause
  if (/\bOOM\b|^MISCONF/.test(message)) {
    return new TailraceError('redis_full', `Redis takes no more writes: ${message}`, { cause })
  }
  if (/^(WRONGPASS|NOAUTH|NOPERM|ERR AUTH)\b/.test(message)) {
    return new TailraceError(
      'redis_unreachable',
      `Redis refuses the user, its password or its permissions: ${message}`,
      {
        cause,
      },
    )
  }
  if (
    isReplyError(thrown) &&
    !/^-?(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|BUSY)\b/.test(message)
  ) {
    return new TailraceError('internal', `Redis refused a command: ${message}`, { cause, inDoubt: true })
  }
  if (isReplyError(thrown) || isConnectionError(thrown, message)) {
    return new TailraceError('redis_unreachable', `Redis does not answer: ${message}`, { cause, inDoubt: true })
  }
  return asTailraceError(cause)
}

function isReplyError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError'
}

const connectionWords =
  /closed|timed out|timeout|max retries|unreachable|startup nodes|slots cache|aborted|certificate|tls|ssl|sentinel|writeable/i

function isConnectionError(error: Error, message: string): boolean {
  return 'syscall' in error || error instanceof AggregateError || connectionWords.test(message)
}

function withoutCommand(error: Error): Error {
  const last: unknown = 'lastNodeError' in error ? error.lastNodeError : undefined
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : last
  const why = inner instanceof Error ? `${error.message} ${inner.message}`.trim() : error.message
  const copy = new Error(why)
  copy.name = error.name
  if (error.stack !== undefined) copy.stack = error.stack
  return copy
}
