import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lives } from '../src/data-lock.ts'
import type { ProcessMark } from '../src/data-lock.ts'
import { startEmbeddedRedis } from '../src/embedded-redis.ts'
import type { TailraceError } from '../src/errors.ts'
import { connectRedis } from '../src/redis.ts'

const { signal } = new AbortController()
const modulePath = join(import.meta.dirname, '../src/embedded-redis.ts')

async function dataFolder(name = 'data folder') {
  const root = await mkdtemp(join(tmpdir(), 'tailrace-data-'))
  return { folder: join(root, name), [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) }
}

function open(url: string) {
  const redis = connectRedis({ url, prefix: 'test' }, 'worker')
  return { redis, [Symbol.dispose]: () => redis.disconnect() }
}

async function recorded(folder: string): Promise<ProcessMark> {
  return JSON.parse(await readFile(join(folder, 'redis/server.json'), 'utf8')) as ProcessMark
}

/** A daemon of its own: starts the server, writes a key, and says that it has. */
async function startDaemon(folder: string, env: NodeJS.ProcessEnv = process.env) {
  const code = `
    import { startEmbeddedRedis } from ${JSON.stringify(modulePath)}
    import { connectRedis } from ${JSON.stringify(join(import.meta.dirname, '../src/redis.ts'))}
    try {
      const server = await startEmbeddedRedis({ folder: ${JSON.stringify(folder)}, signal: new AbortController().signal })
      await connectRedis({ url: server.url, prefix: 'child' }, 'worker').set('key', 'value')
      console.log('ready')
    } catch (error) {
      console.log(error.code, error.message)
      process.exit(1)
    }`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, line: line.toString().trim() }
}

test('starts with a file and a socket of its own, keeps the data, and ends with the daemon', async () => {
  await using place = await dataFolder()
  const { folder } = place
  let mark: ProcessMark
  {
    await using server = await startEmbeddedRedis({ folder, signal })
    expect(server).toMatchObject({ found: false, findings: [], url: expect.stringContaining('data%20folder') })
    using connection = open(server.url)
    await connection.redis.set('key', 'value')
    const names = ['appendonly', 'appendfsync', 'aof-timestamp-enabled', 'maxmemory-policy', 'save', 'port']
    expect(await connection.redis.config('GET', ...(names as [string]))).toEqual(
      expect.arrayContaining(['everysec', 'noeviction', '']),
    )
    expect((await stat(join(folder, 'redis/redis.sock'))).mode & 0o777).toBe(0o700)
    mark = await recorded(folder)
    expect(await lives(mark)).toBe(true)
  }
  expect(await lives(mark)).toBe(false)
  expect((await readdir(folder)).concat(await readdir(join(folder, 'redis'))).toSorted()).toEqual([
    'appendonlydir',
    'redis',
    'redis.log',
  ])
  await using again = await startEmbeddedRedis({ folder, signal })
  using connection = open(again.url)
  expect(await connection.redis.get('key')).toBe('value')
})

test('is found again, with its data, after the daemon was killed', async () => {
  await using place = await dataFolder()
  const { child, line } = await startDaemon(place.folder)
  expect(line).toBe('ready')
  const before = await recorded(place.folder)
  await expect(startEmbeddedRedis({ folder: place.folder, signal })).rejects.toMatchObject({ code: 'data_in_use' })
  child.kill('SIGKILL')
  await once(child, 'exit')
  {
    await using server = await startEmbeddedRedis({ folder: place.folder, signal })
    expect(server.found).toBe(true)
    expect(await recorded(place.folder)).toEqual(before)
    using connection = open(server.url)
    expect(await connection.redis.get('key')).toBe('value')
  }
  expect(await lives(before)).toBe(false)
})

test('a second daemon is refused, in the same process and without the lock file', async () => {
  await using place = await dataFolder()
  await using _ = await startEmbeddedRedis({ folder: place.folder, signal })
  await expect(startEmbeddedRedis({ folder: place.folder, signal })).rejects.toMatchObject({ code: 'data_in_use' })
  await rm(join(place.folder, 'tailrace.lock')) // as good as invisible: a daemon in another container
  await expect(startEmbeddedRedis({ folder: place.folder, signal })).rejects.toMatchObject({ code: 'data_in_use' })
})

test('is started again when it dies', async () => {
  await using place = await dataFolder()
  const failures: TailraceError[] = []
  await using server = await startEmbeddedRedis({
    folder: place.folder,
    signal,
    failed: (error) => failures.push(error),
  })
  using connection = open(server.url)
  await connection.redis.set('key', 'value')
  process.kill((await recorded(place.folder)).pid, 'SIGKILL')
  await expect.poll(() => failures.length).toBe(1)
  expect(await connection.redis.get('key')).toBe('value')
  process.kill((await recorded(place.folder)).pid, 'SIGKILL')
  await expect.poll(() => failures.length).toBe(2)
})

test('a stale lock, a stale socket and a file cut short are no obstacle', async () => {
  await using place = await dataFolder()
  const { folder } = place
  const { child } = await startDaemon(folder)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const left = await recorded(folder)
  process.kill(left.pid, 'SIGKILL')
  await expect.poll(() => lives(left)).toBe(false)
  const files = await readdir(join(folder, 'redis/appendonlydir'))
  const tail = files.find((name) => name.endsWith('.incr.aof')) ?? ''
  await appendFile(join(folder, 'redis/appendonlydir', tail), '*3\r\n$3\r\nSET\r\n$3\r\nhal')
  await writeFile(join(folder, 'tailrace.lock'), '')
  await using server = await startEmbeddedRedis({ folder, signal })
  expect(server.found).toBe(false)
  using connection = open(server.url)
  expect(await connection.redis.get('key')).toBe('value')
})

test('a long path has its socket elsewhere, and says so', async () => {
  await using place = await dataFolder('x'.repeat(120))
  let elsewhere: string
  {
    await using server = await startEmbeddedRedis({ folder: place.folder, signal })
    elsewhere = server.url.slice('unix://'.length)
    expect(server.findings).toMatchObject([expect.stringContaining('too long')])
    using connection = open(server.url)
    expect(await connection.redis.ping()).toBe('PONG')
  }
  await rm(join(elsewhere, '..'), { recursive: true })
})

test('says what to install when the program is missing', async () => {
  await using place = await dataFolder()
  const { line } = await startDaemon(place.folder, { PATH: '' })
  expect(line).toMatch(/^redis_missing .*apt-get install redis-server/)
})

test('a damaged file is refused with the words of the log', async () => {
  await using place = await dataFolder()
  const { folder } = place
  {
    await using _ = await startEmbeddedRedis({ folder, signal })
  }
  const files = await readdir(join(folder, 'redis/appendonlydir'))
  const tail = files.find((name) => name.endsWith('.incr.aof')) ?? ''
  await writeFile(join(folder, 'redis/appendonlydir', tail), 'not a command\r\nat all\r\n')
  await expect(startEmbeddedRedis({ folder, signal })).rejects.toMatchObject({
    code: 'redis_unreachable',
    message: expect.stringContaining('Bad file format'),
  })
})

test('an abort ends the start, and leaves nothing behind', async () => {
  await using place = await dataFolder()
  const reason = new Error('enough')
  await expect(startEmbeddedRedis({ folder: place.folder, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  expect(await lives(await recorded(place.folder))).toBe(false)
  expect(await readdir(place.folder)).toEqual(['redis'])
})
