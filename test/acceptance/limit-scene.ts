// A backlog that would take far more than the limit, and how much of the limit is used. The service is
// simulated in this process, the daemons are processes of their own.

import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { stillWorld } from '../../src/simulator/life.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startRedis } from '../redis.ts'
import { fileDestination, openFolder, startProcess, tenantOf } from './stage.ts'
import type { DaemonProcess } from './stage.ts'

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
  /** How long a window is. */
  readonly seconds: number
  /** Of so many windows the best one counts: for machines that are busy with other things. Default: 1. */
  readonly windows?: number
  /** A mean that needs no further window. */
  readonly enough?: number
  /** Requests before the first window: each daemon must learn how long one takes. Default: 3 s of them for each. */
  readonly before?: number
  readonly tenants?: number
  readonly service?: object
}

const highestRate = 500

export async function measureLimit({
  replicas,
  seconds,
  windows = 1,
  enough = 0,
  before = replicas * 3 * highestRate,
  tenants = 100,
  service = {},
}: LimitChoice): Promise<LimitFigures> {
  await using stack = new AsyncDisposableStack()
  const clients = Array.from({ length: tenants }, (_, i) => i + 1)
  // Pages of ten: more of them than can be read meanwhile.
  const perClient = Math.ceil(((seconds * windows * highestRate + before) * 1.2 * 10) / tenants)
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
  const giveUpAt = performance.now() + 60_000
  while (simulator.stats.report().total < before && performance.now() < giveUpAt) await delay(100)
  let best: Window | undefined
  for (let n = 0; n < windows && (best === undefined || best.mean < enough); n++) {
    const window = await watchWindow(simulator, daemons, seconds)
    if (window.mean > (best?.mean ?? -1)) best = window
  }
  if (!best) throw new Error('there was no window')
  const { operations, highestPerSecond } = simulator.stats.report()
  const odd = Object.entries(operations).flatMap(([operation, counts]) =>
    Object.entries(counts)
      .filter(([outcome]) => outcome !== '200')
      .map(([outcome, count]) => ({ operation, outcome, count })),
  )
  return {
    replicas,
    ...best,
    highest: highestPerSecond,
    throttled: odd.filter(({ outcome }) => outcome === '429').reduce((sum, { count }) => sum + count, 0),
    odd: odd.map(({ operation, outcome, count }) => `${operation} ${outcome}: ${count}`),
    complaints: daemons.flatMap((daemon) => daemon.lines().map(({ msg }) => msg)),
  }
}

type Window = Pick<LimitFigures, 'seconds' | 'mean' | 'cores' | 'ownCores' | 'longestLagMs'>

async function watchWindow(simulator: Simulator, daemons: readonly DaemonProcess[], seconds: number): Promise<Window> {
  const { total } = simulator.stats.report()
  const [own, others, from] = [process.cpuUsage(), await Promise.all(daemons.map(cpuSeconds)), performance.now()]
  let longestLagMs = 0
  while (performance.now() - from < seconds * 1_000) {
    const asked = performance.now()
    await delay(20)
    longestLagMs = Math.max(longestLagMs, performance.now() - asked - 20)
  }
  const took = (performance.now() - from) / 1_000
  const used = process.cpuUsage(own)
  const after = await Promise.all(daemons.map(cpuSeconds))
  return {
    seconds: took,
    mean: (simulator.stats.report().total - total) / took,
    cores: after.map((cpu, i) => (cpu - (others[i] ?? 0)) / took),
    ownCores: (used.user + used.system) / 1e6 / took,
    longestLagMs,
  }
}

/** What a process has used so far. Linux counts in hundredths of a second. */
async function cpuSeconds({ pid }: { readonly pid: number }): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
