// The scene of the fault test of sinks: one daemon with a destination of each kind, whose receivers are killed.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createRandom, mixSeed, type Random } from '../../src/simulator/random.ts'
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { startRedis } from '../redis.ts'
import { hasKcat } from '../ship/kafka-broker.ts'
import { hasRelp, hasRsyslog } from '../ship/rsyslog.ts'
import { startDaemonProcess } from './daemon.ts'
import { judge, type Doubt, type Verdict } from './judge.ts'
import type { Arrived } from './receiver.ts'
import { startBroker } from './receivers/broker.ts'
import { moments, type FrailReceiver } from './receivers/frail.ts'
import { startRsyslogd } from './receivers/rsyslogd.ts'
import * as stores from './receivers/store.ts'

/** The sinks that confirm, with what the test of each needs on this machine. */
const receivers = {
  'syslog-tcp': { there: hasRsyslog, start: () => startRsyslogd('tcp') },
  'syslog-tls': { there: hasRsyslog, start: () => startRsyslogd('tls') },
  'syslog-relp': { there: hasRelp, start: () => startRsyslogd('relp') },
  webhook: { there: true, start: stores.startWebhook },
  'splunk-hec': { there: true, start: stores.startCollector },
  elasticsearch: { there: true, start: stores.startSearch },
  sentinel: { there: true, start: stores.startAzure },
  'google-secops': { there: true, start: stores.startChronicle },
  otlp: { there: true, start: stores.startTelemetry },
  s3: { there: true, start: stores.startObjects },
  kafka: { there: hasKcat, start: startBroker },
} as const satisfies Record<string, { readonly there: boolean; readonly start: () => Promise<FrailReceiver> }>

export type SinkName = keyof typeof receivers

export function isSinkName(name: string): name is SinkName {
  return Object.hasOwn(receivers, name)
}

/** Those that can be tested on this machine. */
export const sinkNames = Object.keys(receivers)
  .filter(isSinkName)
  .filter((name) => receivers[name].there)

export interface SinkVerdict extends Verdict {
  readonly sink: SinkName
  readonly kills: number
  /** Events that another receiver has, or whose number is lower than that of one that has arrived. */
  readonly missing: readonly string[]
}

export interface SinksScene extends AsyncDisposable {
  /** Resolves when the daemon has sent its first events; until `torment` nothing else happens at the service. */
  begun(): Promise<void>
  /** Kills and starts every receiver at random moments for so long; all are well in the end. */
  torment(ms: number): Promise<void>
  /** Nothing happens at the service any more. */
  freeze(): void
  /** What the receivers still lack; empty in the end. */
  lacking(): Promise<string[]>
  verdicts(): Promise<SinkVerdict[]>
  /** How often the daemon ended by itself. */
  readonly deaths: readonly string[]
}

export interface SinksSetup {
  readonly seed: number
  readonly sinks: readonly SinkName[]
  readonly attacksPerSecond?: number
}

interface Subject {
  readonly sink: SinkName
  readonly receiver: FrailReceiver
  readonly random: Random
  readonly doubts: Doubt[]
  kills: number
}

/** From an answer to its record in Redis, at most. */
const settleMs = 750

export async function openSinksScene({ seed, sinks, attacksPerSecond = 6 }: SinksSetup): Promise<SinksScene> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-sinks-'))
  stack.defer(async () => rm(folder, { recursive: true, force: true }))
  const world = {
    attacksPerSecond,
    growthsPerSecond: attacksPerSecond,
    lateness: { minSeconds: 0, maxSeconds: 1, rareShare: 0, rareSeconds: 1 },
    vulnerabilityChangesPerMinute: 60,
    ruleChangesPerMinute: 60,
    history: { attacks: 50, spanSeconds: 300 },
  }
  const simulator = stack.use(await startSimulator({ seed, clients: [4711], world, frozen: true }))
  const redis = stack.use(await startRedis('--appendonly', 'yes'))
  const subjects = await Promise.all(
    sinks.map(async (sink, nth): Promise<Subject> => {
      const receiver = await receivers[sink].start()
      return { sink, receiver, random: createRandom(mixSeed(seed, nth)), doubts: [], kills: 0 }
    }),
  )
  for (const { receiver } of subjects) stack.use(receiver)
  const config = join(folder, 'tailrace.yaml')
  await writeFile(config, configOf(redis.url, simulator, subjects))
  const log = process.env['FAULTS_LOG'] ?? join(folder, 'log')
  const daemon = stack.use(startDaemonProcess(config, log))
  const account = (): Parameters<typeof judge>[0]['account'] => [...simulator.world.account()]
  const known = new Map<SinkName, readonly Arrived[]>()
  const open = stack.move()
  return {
    deaths: daemon.deaths,
    async begun() {
      const [{ receiver }] = subjects as [Subject]
      while ((await receiver.arrived()).length === 0 && daemon.deaths.length === 0) await delay(50)
    },
    async torment(ms) {
      const over = new AbortController()
      const all = subjects.map(async (subject) => torment(subject, over.signal))
      simulator.thaw()
      // Where one cannot be started again, the others must end before they are disposed.
      await Promise.race([delay(ms), Promise.all(all)]).catch(() => undefined)
      over.abort()
      await Promise.allSettled(all)
      await Promise.all(all)
    },
    freeze: () => simulator.freeze(),
    async lacking() {
      if (daemon.deaths.length > 0) throw new Error(`the daemon has ended; its log: ${await readFile(log, 'utf8')}`)
      for (const { sink, receiver } of subjects) known.set(sink, await receiver.arrived())
      const all = [...known.values()].flat()
      return subjects.flatMap(({ sink, doubts }) => {
        const arrived = known.get(sink) ?? []
        const { lost, notClosed } = judge({ ...common(), account: account(), arrived, doubts })
        const short = { events: missing(arrived, all).length, versions: lost.length, ends: notClosed.length }
        const words = Object.entries(short).map(([what, count]) => `${count} ${what}`)
        return Object.values(short).every((count) => count === 0) ? [] : [`${sink} lacks ${words.join(', ')}`]
      })
    },
    async verdicts() {
      for (const { sink, receiver } of subjects) known.set(sink, await receiver.arrived())
      const all = [...known.values()].flat()
      return subjects.map(({ sink, kills, doubts }) => {
        const arrived = known.get(sink) ?? []
        const verdict = judge({ ...common(), account: account(), arrived, doubts })
        return { sink, kills, ...verdict, missing: missing(arrived, all) }
      })
    },
    [Symbol.asyncDispose]: async () => open.disposeAsync(),
  }
}

function common(): { readonly shownMs: number; readonly goneMs: number; readonly now: number } {
  return { shownMs: 30_000, goneMs: 25_000, now: Date.now() }
}

function configOf(redisUrl: string, simulator: Simulator, subjects: readonly Subject[]): string {
  const [login] = simulator.credentials
  const timeline = { every: '1s', overlap: '1m', start: '10m', reconcileEvery: '1m', reconcileWindow: '10m' }
  const inventory = { every: '1s' }
  // JSON is YAML.
  return JSON.stringify({
    redis: { url: redisUrl },
    http: { port: 0 },
    log: { level: process.env['FAULTS_LEVEL'] ?? 'warn' },
    shutdown: { grace: '5s' },
    destinations: subjects.map(({ sink, receiver }) => ({ name: sink, ...receiver.destination })),
    inlineTenants: [
      {
        name: 'acme',
        baseUrl: simulator.url,
        credentials: { uuid: login?.uuid, secret: login?.secret },
        clients: [4711],
        streams: {
          attacks: timeline,
          incidents: timeline,
          vulnerabilities: inventory,
          rules: { ...timeline, reconcileEvery: '3s' },
          conditions: inventory,
        },
      },
    ],
  })
}

async function torment(subject: Subject, over: AbortSignal): Promise<void> {
  const { receiver, random, doubts } = subject
  while (!over.aborted) {
    await delay(random.int(100, 1_500))
    await receiver.kill(random.pick(moments))
    const killed = Date.now()
    subject.kills++
    await delay(random.int(0, 300))
    await receiver.start()
    doubts.push({ from: killed - settleMs, until: killed, why: 'receiver killed' })
  }
}

/** Events that are known elsewhere, and gaps in the numbers of a stream. */
function missing(arrived: readonly Arrived[], all: readonly Arrived[]): string[] {
  const here = new Set(arrived.map(numberOf))
  const known = new Set(all.map(numberOf))
  const highest = new Map<string, number>()
  for (const { stream, sequence } of all) highest.set(stream, Math.max(sequence, highest.get(stream) ?? 0))
  for (const [stream, last] of highest) {
    for (let sequence = 1; sequence <= last; sequence++) known.add(`${stream} ${sequence}`)
  }
  return [...known].filter((one) => !here.has(one))
}

function numberOf({ stream, sequence }: Arrived): string {
  return `${stream} ${sequence}`
}

export function sinkSummary(verdicts: readonly SinkVerdict[]): string {
  const rows = verdicts.map((verdict) => ({
    sink: verdict.sink,
    kills: verdict.kills,
    due: verdict.due,
    lost: verdict.lost.length,
    missing: verdict.missing.length,
    events: verdict.events,
    invented: verdict.invented.length,
    duplicates: verdict.duplicates,
    unexplained: verdict.unexplained.length,
    'end not told': verdict.notClosed.length,
  }))
  const names = Object.keys(rows[0] ?? {}) as (keyof (typeof rows)[number])[]
  const lines = [names.map(String), ...rows.map((row) => names.map((name) => String(row[name])))]
  const widths = names.map((_name, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines.map((line) => line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')).join('\n')
}
