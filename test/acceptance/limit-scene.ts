// A backlog that would take far more than the limit, and how much of the limit is used. The service is
// simulated in this process, the daemons are processes of their own.

import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { stillWorld } from '../../src/simulator/life.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { startRedis } from '../redis.ts'
import { fileDestination, openFolder, startProcess, tenantOf } from './stage.ts'

export interface LimitFigures {
  readonly replicas: number
  readonly seconds: number
  /** Requests within any second, at most; from the first one on. */
  readonly highest: number
  /** Requests a second in the steady window. */
  readonly mean: number
  readonly throttled: number
  /** Answers that were no 200, by operation and outcome. */
  readonly odd: readonly string[]
  /** Share of a core that each daemon used in the steady window, and this process. */
  readonly cores: readonly number[]
  readonly ownCores: number
  /** Lag of the simulator's event loop, at most, milliseconds. */
  readonly longestLagMs: number
  /** Warnings of the daemons. */
  readonly complaints: readonly string[]
}

export interface LimitChoice {
  readonly replicas: number
  readonly seconds: number
  readonly tenants?: number
  readonly service?: object
}

const highestRate = 500

export async function measureLimit({
  replicas,
  seconds,
  tenants = 100,
  service = {},
}: LimitChoice): Promise<LimitFigures> {
  await using stack = new AsyncDisposableStack()
  const clients = Array.from({ length: tenants }, (_, i) => i + 1)
  // Pages of ten: enough of them for half a minute at the limit.
  const perClient = Math.ceil(((seconds + 20) * highestRate * 10) / tenants)
  const world = { ...stillWorld, history: { attacks: perClient, spanSeconds: 80_000 } }
  const options = { clients, latencyMs: 50, requestsPerSecond: highestRate, world, frozen: true }
  const simulator = stack.use(await startSimulator(options))
  const redis = stack.use(await startRedis())
  const folder = stack.use(await openFolder())
  const streams = { attacks: { every: '1s', overlap: '1m', start: '24h', pageSize: 10, reconcileEvery: '24h' } }
  const daemons = []
  for (let nth = 0; nth < replicas; nth++) {
    const config = await folder.write(`tailrace-${nth}.yaml`, {
      redis: { url: redis.url },
      http: { port: 0 },
      log: { level: 'warn' },
      service,
      destinations: [fileDestination('file', folder.file(`events-${nth}`))],
      inlineTenants: clients.map((client) => tenantOf(simulator, { name: `t${client}`, client, streams })),
    })
    daemons.push(stack.use(startProcess(['run', '--config', config])))
  }
  // Steady: each daemon has made as many requests as it needs to know how long one takes.
  const giveUpAt = performance.now() + 60_000
  while (simulator.stats.report().total < replicas * 3 * highestRate && performance.now() < giveUpAt) await delay(100)
  const whole = simulator.stats.report()
  simulator.stats.reset()
  const before = { at: performance.now(), own: process.cpuUsage(), others: await Promise.all(daemons.map(cpuSeconds)) }
  let longestLagMs = 0
  while (performance.now() - before.at < seconds * 1_000) {
    const asked = performance.now()
    await delay(20)
    longestLagMs = Math.max(longestLagMs, performance.now() - asked - 20)
  }
  const steady = simulator.stats.report()
  const took = (performance.now() - before.at) / 1_000
  const own = process.cpuUsage(before.own)
  const after = await Promise.all(daemons.map(cpuSeconds))
  const reports = [whole, steady]
  const outcomes = reports.flatMap(({ operations }) =>
    Object.entries(operations).flatMap(([operation, counts]) =>
      Object.entries(counts).map(([outcome, count]) => ({ operation, outcome, count })),
    ),
  )
  return {
    replicas,
    seconds: took,
    highest: Math.max(...reports.map(({ highestPerSecond }) => highestPerSecond)),
    mean: steady.total / took,
    throttled: outcomes.filter(({ outcome }) => outcome === '429').reduce((sum, { count }) => sum + count, 0),
    odd: outcomes
      .filter(({ outcome }) => outcome !== '200')
      .map((odd) => `${odd.operation} ${odd.outcome}: ${odd.count}`),
    cores: after.map((cpu, i) => (cpu - (before.others[i] ?? 0)) / took),
    ownCores: (own.user + own.system) / 1e6 / took,
    longestLagMs,
    complaints: daemons.flatMap((daemon) => daemon.lines().map(({ msg }) => msg)),
  }
}

/** What a process has used so far. Linux counts in hundredths of a second. */
async function cpuSeconds({ pid }: { readonly pid: number }): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
