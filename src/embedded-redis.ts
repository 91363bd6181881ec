// A private redis-server for a daemon without `redis.url`: append-only file, Unix socket, all below the data
// folder. It survives a crash of the daemon and is found again; it ends with the daemon otherwise.

import { createHash } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstat, mkdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { lives, lockFolder, markOf, parseMark, textOf } from './data-lock.ts'
import type { ProcessMark } from './data-lock.ts'
import { TailraceError } from './errors.ts'
import { asRedisError, connectRedis } from './redis.ts'

export interface EmbeddedRedis extends AsyncDisposable {
  /** For `connectRedis`: `unix:///…/redis.sock`. Stays the same when the server is started again. */
  readonly url: string
  /** Whether a server that a crashed daemon had left was found. */
  readonly found: boolean
  /** Sentences for an operator: where the socket is when it could not be in the folder, say. */
  readonly findings: readonly string[]
}

export interface EmbeddedRedisOptions {
  /** The data folder; created when missing. */
  readonly folder: string
  /** Ends the start, not the server: that is what disposal is for. */
  readonly signal: AbortSignal
  /** Told each time that the server died, or could not be started again, while the daemon runs. */
  readonly failed?: (error: TailraceError) => void
}

/**
 * Resolves once the server answers and its file is loaded, however long that takes. Rejects with `data_in_use`,
 * `redis_missing` or `redis_unreachable` (the last lines of its log are in the message).
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  await using stack = new AsyncDisposableStack()
  const place = await choosePlace(options.folder)
  stack.use(await lockFolder(options.folder))
  const left = await findServer(place)
  const url = urlOf(place.socket)
  const owner = connectRedis({ url, prefix: ownerName }, 'worker')
  stack.defer(() => owner.disconnect())
  const server = left ?? (await launch(place))
  stack.defer(async () => kill(server.mark))
  await Promise.race([owner.ping(), diedEarly(server, place), aborted(options.signal)])
  const kept = stack.move()
  const ending = new AbortController()
  const supervision = supervise(server, { place, options, signal: ending.signal })
  return {
    url,
    found: left !== undefined,
    findings: place.findings,
    async [Symbol.asyncDispose]() {
      ending.abort()
      const last = await supervision
      await shutDown(place.socket, last)
      await kept.disposeAsync()
      await rm(place.socket, { force: true })
      await rm(place.record, { force: true })
    },
  }
}

/** For `connectRedis`: the private server of a folder, if one runs there; undefined: none does. Creates nothing. */
export async function findEmbeddedRedis(folder: string): Promise<string | undefined> {
  const directory = await realpath(join(folder, 'redis')).catch(() => undefined)
  if (directory === undefined) return undefined
  for (const socket of [join(directory, 'redis.sock'), join(shortDirectory(directory), 'redis.sock')]) {
    const found = await lstat(socket).catch(() => undefined)
    if (found?.isSocket() && found.uid === process.getuid?.()) return urlOf(socket)
  }
  return undefined
}

function urlOf(socket: string): string {
  return `unix://${socket.split('/').map(encodeURIComponent).join('/')}`
}

function shortDirectory(directory: string): string {
  return join(tmpdir(), `tailrace-${createHash('sha256').update(directory).digest('hex').slice(0, 16)}`)
}

const ownerName = 'tailrace-owner'

interface Place {
  readonly directory: string
  readonly socket: string
  readonly log: string
  /** Names the server's process. */
  readonly record: string
  readonly findings: readonly string[]
}

async function choosePlace(folder: string): Promise<Place> {
  const made = join(folder, 'redis')
  await mkdir(made, { recursive: true, mode: 0o700 })
  const directory = await realpath(made)
  const paths = { directory, log: join(directory, 'redis.log'), record: join(directory, 'server.json') }
  const socket = join(directory, 'redis.sock')
  // The kernel's limit for the path of a Unix socket, without the final zero.
  if (Buffer.byteLength(socket) <= 107) return { ...paths, socket, findings: [] }
  const short = shortDirectory(directory)
  await mkdir(short, { recursive: true, mode: 0o700 })
  const found = await lstat(short)
  // Anyone may create names in the temporary folder: a socket is put only where nobody else can.
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
    throw new TailraceError(
      'config_invalid',
      `${short} belongs to someone else. Choose a data folder of a shorter path.`,
    )
  }
  const finding = `The path of the data folder is too long for a Unix socket; the one of Redis is in ${short}.`
  return { ...paths, socket: join(short, 'redis.sock'), findings: [finding] }
}

interface Server {
  readonly mark: ProcessMark
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>
}

/** The server that a daemon left here when it crashed, or undefined. One that is stuck is ended first. */
async function findServer(place: Place): Promise<Server | undefined> {
  const pid = await answeringPid(place)
  const recorded = parseMark((await textOf(place.record)) ?? '')
  if (pid !== undefined) {
    const mark = (await markOf(pid)) ?? recorded
    if (!mark) throw new TailraceError('data_in_use', `A Redis in another container uses ${place.directory}. Stop it.`)
    await writeFile(place.record, JSON.stringify(mark))
    return { mark, ended: goneByLooking(mark) }
  }
  // Two servers on one append-only file would destroy it.
  if (recorded) await kill(recorded)
  await rm(place.socket, { force: true })
  return undefined
}

/** Undefined where nobody answers. Throws `data_in_use` where another daemon is connected. */
async function answeringPid(place: Place): Promise<number | undefined> {
  const limits = { commandTimeout: 3_000, connectTimeout: 3_000, maxRetriesPerRequest: 0, retryStrategy: () => null }
  const probe = new Redis({ path: place.socket, lazyConnect: true, enableReadyCheck: false, ...limits })
  probe.on('error', () => undefined)
  try {
    await probe.connect()
    const pid = /^process_id:(\d+)/m.exec(await probe.info('server'))?.[1]
    // What the lock file cannot see: a daemon in another container. The kernel closes a dead one's connection.
    for (let tries = 0; String(await probe.client('LIST')).includes(`name=${ownerName}`); tries++) {
      if (tries >= 10) {
        throw new TailraceError(
          'data_in_use',
          `Another Tailrace uses ${place.directory}. Stop it, or choose another folder.`,
        )
      }
      await delay(100)
    }
    return Number(pid)
  } catch (error) {
    if (error instanceof TailraceError) throw error
    return undefined
  } finally {
    probe.disconnect()
  }
}

async function launch(place: Place): Promise<Server> {
  await keepLogSmall(place.log)
  const child = spawn('redis-server', serverOptions(place), {
    cwd: place.directory,
    stdio: 'ignore',
    // A session of its own: a SIGINT from the terminal, or the daemon's death, is not its end.
    detached: true,
    // The daemon's environment has secrets in it. Only what finds the program is handed on.
    env: { PATH: process.env['PATH'] },
  })
  const exited = once(child, 'exit')
  exited.catch(() => undefined) // the same failure as that of `spawn`
  try {
    await once(child, 'spawn')
  } catch (error) {
    throw new TailraceError(
      'redis_missing',
      'The program redis-server was not found. Install it (Debian, Ubuntu: apt-get install redis-server), or set redis.url.',
      { cause: error },
    )
  }
  child.unref()
  const mark = await markOf(child.pid ?? 0)
  if (!mark) throw await failedToStart(place)
  await writeFile(place.record, JSON.stringify(mark))
  return { mark, ended: exited.then(() => undefined) }
}

function serverOptions(place: Place): string[] {
  const options = {
    port: '0',
    unixsocket: place.socket,
    unixsocketperm: '700',
    dir: place.directory,
    logfile: place.log,
    save: '',
    appendonly: 'yes',
    appendfsync: 'everysec',
    'aof-timestamp-enabled': 'yes',
    'aof-load-truncated': 'yes',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
  }
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
}

async function keepLogSmall(log: string): Promise<void> {
  const found = await stat(log).catch(() => undefined)
  if (found && found.size > 1_000_000) await rename(log, `${log}.1`)
}

async function diedEarly(server: Server, place: Place): Promise<never> {
  await server.ended
  throw await failedToStart(place)
}

async function failedToStart(place: Place): Promise<TailraceError> {
  const lines = ((await textOf(place.log)) ?? '').trimEnd().split('\n').slice(-5)
  return new TailraceError('redis_unreachable', `redis-server ended. Its log ${place.log} says: ${lines.join(' | ')}`)
}

async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort')
  throw signal.reason
}

interface Supervision {
  readonly place: Place
  readonly options: EmbeddedRedisOptions
  readonly signal: AbortSignal
}

/** Starts the server again, with bounded back-off, whenever it ends, until the signal; then tells the last one. */
async function supervise(first: Server, { place, options, signal }: Supervision): Promise<Server> {
  const stop = once(signal, 'abort').then(() => undefined)
  let [server, failures, startedAt] = [first, 0, Date.now()]
  for (;;) {
    await Promise.race([server.ended, stop])
    if (signal.aborted) return server
    failures = Date.now() - startedAt > 60_000 ? 0 : failures + 1
    options.failed?.(await failedToStart(place))
    await within(Math.min(50 * 2 ** failures, 10_000), stop)
    if (signal.aborted) return server
    startedAt = Date.now()
    try {
      await rm(place.socket, { force: true })
      server = await launch(place)
    } catch (error) {
      options.failed?.(asRedisError(error))
    }
  }
}

async function shutDown(socket: string, server: Server): Promise<void> {
  const limits = { commandTimeout: 5_000, maxRetriesPerRequest: 0, retryStrategy: () => null }
  const redis = new Redis({ path: socket, lazyConnect: true, enableReadyCheck: false, ...limits })
  redis.on('error', () => undefined)
  try {
    await redis.connect()
    await redis.shutdown()
  } catch (error) {
    // The answer to SHUTDOWN is a closed connection; and who does not answer is ended by `kill`.
    if (!(error instanceof Error)) throw error
  } finally {
    redis.disconnect()
  }
  await within(10_000, server.ended)
  await kill(server.mark)
}

/** SIGTERM, which lets it write what it has, and SIGKILL where that does not end it in 10 s. */
async function kill(mark: ProcessMark): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!(await lives(mark))) return
    process.kill(mark.pid, signal)
    await within(10_000, goneByLooking(mark))
  }
}

/** For a process that is no child of ours. */
async function goneByLooking(mark: ProcessMark): Promise<void> {
  while (await lives(mark)) await delay(200, undefined, { ref: false })
}

/** Waits for the work, but no longer than this; leaves no timer behind. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const limit = new AbortController()
  const timer = delay(ms, undefined, { signal: limit.signal }).catch(() => undefined)
  await Promise.race([work, timer])
  limit.abort()
}
