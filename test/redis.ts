// A real redis-server for one test: own folder, Unix socket, no port.

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'

export interface TestRedis extends AsyncDisposable {
  /** For `redis.url`: `unix:///…/redis.sock`. */
  readonly url: string
  readonly path: string
  readonly folder: string
  /** A connection of its own, closed with the server. */
  readonly client: Redis
  kill(signal?: NodeJS.Signals): Promise<void>
  start(): Promise<void>
}

export async function startRedis(...extra: string[]): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-redis-'))
  const path = join(folder, 'redis.sock')
  const args = ['--port', '0', '--unixsocket', path, '--dir', folder, '--save', '', '--daemonize', 'no']
  const launch = async () => {
    const child = spawn('redis-server', [...args, ...extra], { stdio: 'ignore' })
    await answers(path)
    return child
  }
  let child = await launch()
  const client = new Redis({ path, maxRetriesPerRequest: null, retryStrategy: () => 50 })
  client.on('error', () => undefined) // the tests kill the server on purpose
  return {
    url: `unix://${path}`,
    path,
    folder,
    client,
    async kill(signal = 'SIGKILL') {
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    },
    async start() {
      child = await launch()
    },
    async [Symbol.asyncDispose]() {
      client.disconnect()
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function answers(path: string): Promise<void> {
  const probe = new Redis({ path, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 })
  probe.on('error', () => undefined)
  try {
    for (let tries = 0; ; tries++) {
      try {
        await probe.connect()
        await probe.ping()
        return
      } catch (error) {
        if (tries > 500) throw error
        await delay(10)
      }
    }
  } finally {
    probe.disconnect()
  }
}
