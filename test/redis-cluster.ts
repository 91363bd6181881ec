// A real Redis Cluster for one test: three masters on loopback ports, all slots assigned, no replicas.
// The nodes start from a ready-made nodes.conf, so there is nothing to agree upon. It takes two seconds, for which a
// master that starts always refuses writes.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'

export interface TestCluster extends AsyncDisposable {
  /** For `redis.url`: `redis+cluster://127.0.0.1:…,…`. */
  readonly url: string
  readonly ports: readonly number[]
  /** Kills one master (0 to 2). Its slots stay unserved: there are no replicas. */
  kill(index: number): Promise<void>
  start(index: number): Promise<void>
}

const slots = ['0-5460', '5461-10922', '10923-16383']

export async function startCluster(...extra: string[]): Promise<TestCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-cluster-'))
  const ports = await freePorts(slots.length)
  const ids = ports.map((port) => String(port).padStart(40, 'a'))
  const children: ChildProcess[] = []
  const launch = async (index: number) => {
    const port = ports[index] ?? 0
    const own = join(folder, String(port))
    const args = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', own, '--save', '', '--appendonly', 'no']
    const cluster = ['--cluster-enabled', 'yes', '--cluster-port', `${port + 1}`, '--cluster-node-timeout', '2000']
    children[index] = spawn('redis-server', [...args, ...cluster, ...extra], { stdio: 'ignore' })
    await stateOk(port)
  }
  const kill = async (index: number) => {
    const child = children[index]
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  for (const [index, port] of ports.entries()) {
    const lines = ports.map((other, at) => nodeLine({ id: ids[at] ?? '', port: other, at, self: at === index }))
    await mkdir(join(folder, String(port)))
    await writeFile(
      join(folder, String(port), 'nodes.conf'),
      `${lines.join('\n')}\nvars currentEpoch 3 lastVoteEpoch 0\n`,
    )
  }
  await Promise.all(ports.map((_, index) => launch(index)))
  return {
    url: `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    ports,
    kill,
    start: launch,
    async [Symbol.asyncDispose]() {
      await Promise.all(ports.map((_, index) => kill(index)))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function nodeLine(node: { id: string; port: number; at: number; self: boolean }): string {
  const address = `127.0.0.1:${node.port}@${node.port + 1}`
  return `${node.id} ${address} ${node.self ? 'myself,' : ''}master - 0 0 ${node.at + 1} connected ${slots[node.at]}`
}

/** Pairs of free neighbours: a node's port, and the next one for its bus. Held all at once, so they differ. */
async function freePorts(count: number): Promise<number[]> {
  const held: Server[] = []
  const ports: number[] = []
  while (ports.length < count) {
    const first = await listen(0)
    if (!first) continue
    held.push(first)
    const { port } = first.address() as AddressInfo
    const next = await listen(port + 1)
    if (!next) continue
    held.push(next)
    ports.push(port)
  }
  await Promise.all(held.map(async (server) => once(server.close(), 'close')))
  return ports
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return server
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return undefined
    throw error
  }
}

async function stateOk(port: number): Promise<void> {
  const probe = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 20, maxRetriesPerRequest: null })
  probe.on('error', () => undefined)
  try {
    for (let tries = 0; !(await probe.cluster('INFO')).includes('cluster_state:ok'); tries++) {
      if (tries > 500) throw new Error('the cluster did not come up')
      await delay(20)
    }
  } finally {
    probe.disconnect()
  }
}
