import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { asRedisError, assertSafe, connectRedis, inspectRedis } from '../src/redis.ts'
import type { RedisOptions, RedisReport, RedisRole } from '../src/redis.ts'
import { startCluster } from './redis-cluster.ts'
import { startRedis } from './redis.ts'

const secret = 'pa:s/s@w%rd'

/** A connection that is closed with the test. */
function open(options: Omit<RedisOptions, 'prefix'>, role: RedisRole = 'commands') {
  const redis = connectRedis({ ...options, prefix: 'test' }, role)
  return { redis, [Symbol.dispose]: () => redis.disconnect() }
}

async function failure(work: Promise<unknown>) {
  try {
    await work
  } catch (error) {
    return asRedisError(error)
  }
  throw new Error('it should have failed')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}

test.for([
  'http://host',
  'redis://:6379',
  'redis://host:99999',
  'redis://host/db',
  'redis://one,two',
  'redis+sentinel://one:26379,two:26379',
  'redis+cluster://one/3',
  'unix://relative',
  `redis://user:${secret}@host`,
  'redis://user:100%@host',
])('refuses %s without repeating it', (url) => {
  expect(() => connectRedis({ url, prefix: 'test' }, 'commands')).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.not.stringContaining(url) }),
  )
})

test('refuses TLS options for a URL without TLS', () => {
  expect(() => connectRedis({ url: 'redis://host', prefix: 'test', tls: { ca: '' } }, 'commands')).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  )
})

test('connects through a Unix socket, to a database, and is named', async () => {
  await using server = await startRedis()
  using connection = open({ url: `${server.url}?db=3` }, 'worker')
  await connection.redis.set('key', 'value')
  expect(await server.client.info('keyspace')).toContain('db3:keys=1')
  expect(String(await server.client.client('LIST'))).toContain('name=test-worker')
})

test('connects by TLS with a client certificate, and not without trust', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-tls-'))
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2']
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', ...subject]
  execFileSync('openssl', [...made, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const port = await freePort()
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert]
  await using server = await startRedis('--tls-port', `${port}`, ...files)
  const [ca, clientKey] = [await readFile(cert, 'utf8'), await readFile(key, 'utf8')]
  const url = `rediss://127.0.0.1:${port}`
  using trusted = open({ url, tls: { ca, cert: ca, key: clientKey, servername: 'localhost' } })
  expect(await trusted.redis.ping()).toBe('PONG')
  using unknown = open({ url })
  expect(await failure(unknown.redis.ping())).toMatchObject({ code: 'redis_unreachable' })
  using nameless = open({ url, tls: { ca, servername: 'localhost' } })
  expect(await failure(nameless.redis.ping())).toMatchObject({ code: 'redis_unreachable' })
  expect(await server.client.ping()).toBe('PONG')
})

test('logs in as an ACL user; a wrong password is in no error', async () => {
  const port = await freePort()
  await using server = await startRedis('--port', `${port}`)
  await server.client.acl('SETUSER', 'tailrace', 'on', `>${secret}`, '~*', '&*', '+@all', '-config')
  const encoded = encodeURIComponent(secret)
  using inUrl = open({ url: `redis://tailrace:${encoded}@127.0.0.1:${port}` })
  expect(await inUrl.redis.acl('WHOAMI')).toBe('tailrace')
  using beside = open({ url: `redis://tailrace@127.0.0.1:${port}`, password: secret })
  expect(await beside.redis.acl('WHOAMI')).toBe('tailrace')
  expect((await inspectRedis(beside.redis)).nodes[0]).toMatchObject({ appendFsync: null, role: 'master' })

  const wrong = `${secret}x`
  using refused = open({ url: `redis://tailrace@127.0.0.1:${port}`, password: wrong })
  const error = await failure(refused.redis.ping())
  expect(error).toMatchObject({ code: 'redis_unreachable', message: expect.stringContaining('WRONGPASS') })
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(wrong)
})

test('commands fail at once when Redis goes, are not sent again, and work when it is back', async () => {
  await using server = await startRedis('--appendonly', 'yes', '--appendfsync', 'always')
  using connection = open({ url: server.url })
  const { redis } = connection
  await redis.set('count', 1)
  await server.client.client('PAUSE', 60_000, 'WRITE')
  const unanswered = failure(redis.incr('count'))
  await expect.poll(() => server.client.client('LIST')).toContain('cmd=incr')
  await server.kill()
  expect(await unanswered).toMatchObject({ code: 'redis_unreachable', inDoubt: true })
  expect(await failure(redis.get('count'))).toMatchObject({ code: 'redis_unreachable' })
  await server.start()
  await expect.poll(() => redis.get('count').catch(() => null)).toBe('1')
})

test('a worker waits for Redis, and sees that it is another one', async () => {
  await using server = await startRedis()
  using connection = open({ url: server.url }, 'worker')
  const before = await inspectRedis(connection.redis)
  await server.kill()
  const answer = inspectRedis(connection.redis)
  await server.start()
  expect((await answer).identity).not.toBe(before.identity)
})

test('a full Redis is redis_full, also from a script', async () => {
  await using server = await startRedis('--maxmemory', '1mb', '--maxmemory-policy', 'noeviction')
  using connection = open({ url: server.url })
  expect(await failure(connection.redis.set('key', 'value'))).toMatchObject({ code: 'redis_full', remedy: 'wait' })
  const script = connection.redis.eval("return redis.call('SET', KEYS[1], 'value')", 1, 'key')
  expect(await failure(script)).toMatchObject({ code: 'redis_full' })
})

test('refuses a Redis that evicts, and warns of one that forgets', async () => {
  await using server = await startRedis('--maxmemory', '100mb', '--maxmemory-policy', 'volatile-lru')
  using connection = open({ url: server.url })
  const evicting = await inspectRedis(connection.redis)
  expect(() => assertSafe(evicting)).toThrow(
    expect.objectContaining({ code: 'redis_unsafe', message: expect.stringContaining('maxmemory-policy noeviction') }),
  )
  await server.client.config('SET', 'maxmemory', 0)
  expect(assertSafe(await inspectRedis(connection.redis))).toMatchObject([
    expect.stringContaining('append-only'),
    expect.stringContaining('volatile-lru'),
  ])
  await server.client.config('SET', 'maxmemory-policy', 'noeviction')
  await server.client.config('SET', 'appendonly', 'yes')
  expect(assertSafe(await inspectRedis(connection.redis))).toMatchObject([expect.stringContaining('everysec')])
  await server.client.config('SET', 'appendfsync', 'always')
  expect(assertSafe(await inspectRedis(connection.redis))).toEqual([])
})

test.for([{ version: '6.2.14' }, { role: 'slave' }])('refuses %o', (change, { expect }) => {
  const node = { address: 'a', runId: 'r', version: '7.0.0', role: 'master', appendOnly: true, appendFsync: 'always' }
  const memory = { maxMemoryBytes: 0, maxMemoryPolicy: 'noeviction', usedMemoryBytes: 0, replicas: 0, minReplicas: 0 }
  const report: RedisReport = { cluster: false, identity: 'r', nodes: [{ ...node, ...memory, ...change }] }
  expect(() => assertSafe(report)).toThrow(expect.objectContaining({ code: 'redis_unsafe' }))
})

test('finds the master through Sentinels that have a password of their own', async () => {
  const [port, sentinelPort, deadPort] = [await freePort(), await freePort(), await freePort()]
  await using server = await startRedis('--port', `${port}`)
  await server.client.config('SET', 'requirepass', 'inner')
  const config = join(server.folder, 'sentinel.conf')
  const lines = [`port ${sentinelPort}`, 'bind 127.0.0.1', `dir ${server.folder}`, 'requirepass outer']
  await writeFile(
    config,
    [...lines, `sentinel monitor main 127.0.0.1 ${port} 1`, 'sentinel auth-pass main inner'].join('\n'),
  )
  await using _ = ended(spawn('redis-server', [config, '--sentinel'], { stdio: 'ignore' }))
  const hosts = `127.0.0.1:${deadPort},127.0.0.1:${sentinelPort}`
  using connection = open({ url: `redis+sentinel://:outer@${hosts}/main`, password: 'inner' }, 'worker')
  expect(await connection.redis.ping()).toBe('PONG')
  expect((await inspectRedis(connection.redis)).nodes[0]).toMatchObject({ role: 'master' })
})

test('works on a cluster, and warns of each master', async () => {
  await using cluster = await startCluster()
  using connection = open({ url: cluster.url })
  const { redis } = connection
  await Promise.all(Array.from({ length: 50 }, (_, index) => redis.set(`key-${index}`, index)))
  const report = await inspectRedis(redis)
  expect(report).toMatchObject({ cluster: true, nodes: [{ role: 'master' }, { role: 'master' }, { role: 'master' }] })
  expect(assertSafe(report)).toHaveLength(3)
})

function ended(child: ReturnType<typeof spawn>): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
