// The scene of a fault test: simulator, Redis, receiver and daemons; the blows that fall; the judgement.

import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { nastyWorld } from '../../src/simulator/life.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startRedis } from '../redis.ts'
import type { TestRedis } from '../redis.ts'
import { startDaemonProcess } from './daemon.ts'
import type { DaemonProcess } from './daemon.ts'
import { judge, rolledBack } from './judge.ts'
import type { Doubt, Verdict } from './judge.ts'
import { startReceiver } from './receiver.ts'
import type { Mood, Receiver } from './receiver.ts'

export interface Scene extends AsyncDisposable {
  readonly simulator: Simulator
  readonly receiver: Receiver
  readonly daemons: readonly DaemonProcess[]
  readonly folder: string
  /** Ends one daemon with SIGKILL and starts it again. */
  killDaemon(nth: number): Promise<void>
  /** Stops one daemon for so long, ms: longer than its locks. */
  stopDaemon(nth: number, ms: number): Promise<void>
  killRedis(): Promise<void>
  /** Takes Redis back by about so many seconds, as a power cut or a fail-over does. */
  rollBack(seconds: number): Promise<void>
  mood(mood: Mood, ms: number): Promise<void>
  /** Lets the world stand still until nothing arrives any more, and judges. */
  verdict(): Promise<Verdict>
}

export interface SceneOptions {
  readonly seed: number
  readonly replicas: number
  readonly firstPort: number
  /** Share of answers of the service that go wrong. */
  readonly faultShare: number
}

const exec = promisify(execFile)
/** From a confirmation to its record in Redis, at most. */
const settleMs = 1_500

export async function openScene(options: SceneOptions): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-faults-'))
  stack.defer(async () => rm(folder, { recursive: true, force: true }))
  const simulator = stack.use(await startSimulator(simulatorOptions(options)))
  const aof = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--aof-timestamp-enabled', 'yes']
  const redis = stack.use(
    await startRedis(...aof, '--aof-use-rdb-preamble', 'no', '--auto-aof-rewrite-percentage', '0'),
  )
  const receiver = stack.use(await startReceiver())
  injectFaults(simulator, options.faultShare)
  const daemons: DaemonProcess[] = []
  for (let nth = 0; nth < options.replicas; nth++) {
    const config = join(folder, `tailrace-${nth}.yaml`)
    await writeFile(config, configOf({ redis, simulator, receiver, port: options.firstPort + nth }))
    daemons.push(stack.use(startDaemonProcess(config, process.env['FAULTS_LOG'] ?? join(folder, `log-${nth}`))))
  }
  const doubts: Doubt[] = []
  const blows = createBlows({ daemons, redis, receiver, doubts, firstPort: options.firstPort })
  const open = stack.move()
  return {
    simulator,
    receiver,
    daemons,
    folder,
    ...blows,
    async verdict() {
      simulator.faults.clear()
      simulator.freeze()
      await settled(receiver)
      return judge({
        account: [...simulator.world.account()],
        arrived: [...receiver.arrived.values()],
        doubts,
        shownMs: 30_000,
        goneMs: 25_000,
        now: Date.now(),
      })
    },
    [Symbol.asyncDispose]: async () => open.disposeAsync(),
  }
}

function simulatorOptions({ seed }: SceneOptions): Parameters<typeof startSimulator>[0] {
  return {
    seed,
    clients: [4711, 4712],
    clockSkewSeconds: 90,
    pageMax: 100,
    world: {
      ...nastyWorld,
      attacksPerSecond: 8,
      lateness: { minSeconds: 0.5, maxSeconds: 5, rareShare: 0.02, rareSeconds: 30 },
      // A huge record is cut by any syslog receiver; here it would be cut before it could be judged.
      hugeShare: 0.002,
      history: { attacks: 500, spanSeconds: 600 },
    },
  }
}

function injectFaults(simulator: Simulator, share: number): void {
  if (share === 0) return
  for (const kind of ['429', '503', '503-html', 'truncate', 'html-200', 'inner-error', 'cut', 'reset'] as const)
    simulator.faults.inject({ kind, probability: share / 8, ...(kind === '429' ? { retryAfterSeconds: 1 } : {}) })
}

function configOf(parts: { redis: TestRedis; simulator: Simulator; receiver: Receiver; port: number }): string {
  const [login] = parts.simulator.credentials
  const timeline = {
    every: '1s',
    overlap: '3m',
    start: '20m',
    pageSize: 100,
    reconcileEvery: '1m',
    reconcileWindow: '20m',
  }
  const inventory = { every: '3s', pageSize: 100 }
  const tenant = (name: string, client: number): object => ({
    name,
    baseUrl: parts.simulator.url,
    credentials: { uuid: login?.uuid, secret: login?.secret },
    clients: [client],
    streams: {
      attacks: timeline,
      incidents: timeline,
      vulnerabilities: inventory,
      rules: { every: '2s', pageSize: 100, reconcileEvery: '3s' },
      conditions: inventory,
    },
  })
  // JSON is YAML.
  return JSON.stringify({
    redis: { url: parts.redis.url },
    http: { port: parts.port },
    log: { level: process.env['FAULTS_LEVEL'] ?? 'warn' },
    service: { headersTimeout: '5s', bodyTimeout: '5s' },
    shutdown: { grace: '5s' },
    destinations: [
      {
        name: 'siem',
        sink: 'syslog',
        address: `127.0.0.1:${parts.receiver.port}`,
        framing: 'octet',
        maxMessageBytes: 4_000_000,
        confirmTimeout: '5s',
        confirm: 'close',
      },
    ],
    inlineTenants: [tenant('acme', 4711), tenant('bolt', 4712)],
  })
}

function createBlows(parts: {
  readonly daemons: readonly DaemonProcess[]
  readonly redis: TestRedis
  readonly receiver: Receiver
  readonly doubts: Doubt[]
  readonly firstPort: number
}): Pick<Scene, 'killDaemon' | 'stopDaemon' | 'killRedis' | 'rollBack' | 'mood'> {
  const { daemons, redis, receiver, doubts, firstPort } = parts
  const started = async (): Promise<void> => {
    await Promise.all(daemons.map(async (_, nth) => untilReady(firstPort + nth)))
  }
  const doubt = (from: number, why: string): void => {
    doubts.push({ from: from - settleMs, until: Date.now() + settleMs, why })
  }
  const daemon = (nth: number): DaemonProcess => {
    const found = daemons[nth]
    if (!found) throw new Error(`no daemon ${nth}`)
    return found
  }
  return {
    async killDaemon(nth) {
      const from = Date.now()
      await daemon(nth).kill('SIGKILL')
      daemon(nth).start()
      doubt(from, 'daemon killed')
    },
    async stopDaemon(nth, ms) {
      const from = Date.now()
      daemon(nth).signal('SIGSTOP')
      await delay(ms)
      daemon(nth).signal('SIGCONT')
      doubt(from, 'daemon stopped')
    },
    async killRedis() {
      await started()
      const from = Date.now()
      await redis.kill()
      await redis.start()
      doubt(from, 'Redis killed')
    },
    async rollBack(seconds) {
      await started()
      const from = Date.now()
      await redis.kill('SIGTERM')
      const folder = join(redis.folder, 'appendonlydir')
      const manifest = (await readdir(folder)).find((name) => name.endsWith('.manifest')) ?? ''
      const to = Math.floor(from / 1000) - seconds
      await exec('redis-check-aof', ['--truncate-to-timestamp', String(to), join(folder, manifest)])
      await redis.start()
      doubt(from - (seconds + 2) * 1000, rolledBack)
    },
    async mood(mood, ms) {
      await receiver.mood(mood)
      await delay(ms)
      await receiver.mood('well')
    },
  }
}

/** A daemon that finds no Redis when it starts ends: that is its manner, and for whoever started it to repair. */
async function untilReady(port: number): Promise<void> {
  const until = Date.now() + 20_000
  while (Date.now() < until) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (answer?.ok === true) return
    await delay(50)
  }
}

/** Nothing has arrived for 12 s, which is more than three of the slowest rhythm, and than any back-off that remains. */
async function settled(receiver: Receiver): Promise<void> {
  const quietMs = 12_000
  const until = Date.now() + 180_000
  let count = -1
  let since = Date.now()
  while (Date.now() - since < quietMs && Date.now() < until) {
    await delay(250)
    const now = [...receiver.arrived.values()].reduce((sum, event) => sum + event.deliveries.length, 0)
    if (now !== count) since = Date.now()
    count = now
  }
}

export function summary(verdict: Verdict): string {
  const { due, lost, invented, events, duplicates, unexplained, notClosed } = verdict
  return [
    `versions that had to arrive: ${due}, lost: ${lost.length}`,
    `events that arrived: ${events}, never shown: ${invented.length}`,
    `duplicates: ${duplicates}, of batches that were confirmed beyond doubt: ${unexplained.length}`,
    `ends that were not told: ${notClosed.length}`,
  ].join('\n')
}
