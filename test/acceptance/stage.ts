// What the acceptance tests share: a folder, a configuration, the daemon in this process or as one of its
// own, and what came of it in files.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { registers } from '../../src/commands/registers.ts'
import { loadConfig } from '../../src/config.ts'
import { startDaemon } from '../../src/daemon.ts'
import type { Daemon } from '../../src/daemon.ts'
import type { ServiceRecord, StreamName } from '../../src/event.ts'
import { recordVersion } from '../../src/simulator/account.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { createReport } from '../../src/telemetry/create-report.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { createStatus } from '../../src/telemetry/status.ts'
import type { DestinationStatus, StatusPicture, StreamStatus } from '../../src/telemetry/status.ts'
import { logInMemory } from '../telemetry/facts.ts'
import type { Line } from '../telemetry/facts.ts'

export interface Folder extends AsyncDisposable {
  readonly path: string
  /** The path of a file in it, written with the text or, as JSON (which is YAML), the object. */
  write(name: string, content: string | object): Promise<string>
  file(name: string): string
}

export async function openFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'tailrace-acceptance-'))
  const file = (name: string): string => join(path, name)
  return {
    path,
    file,
    async write(name, content) {
      await writeFile(file(name), typeof content === 'string' ? content : JSON.stringify(content))
      return file(name)
    },
    [Symbol.asyncDispose]: async () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  }
}

export interface TenantChoice {
  readonly name: string
  readonly client: number
  /** Default: attacks every second. */
  readonly streams?: object
  readonly destinations?: readonly string[]
  readonly secret?: string
}

export const attacksEachSecond = { attacks: { every: '1s', overlap: '1m', start: '10m' } }

export function tenantOf(simulator: Simulator, choice: TenantChoice): object {
  const [login] = simulator.credentials
  const { name, client, streams = attacksEachSecond, destinations, secret = login?.secret } = choice
  return {
    name,
    baseUrl: simulator.url,
    credentials: { uuid: login?.uuid, secret },
    clients: [client],
    streams,
    ...(destinations === undefined ? {} : { destinations }),
  }
}

export function fileDestination(name: string, path: string): object {
  return { name, sink: 'file', path }
}

export function syslogDestination(name: string, port: number, more: object = {}): object {
  return {
    name,
    sink: 'syslog',
    address: `127.0.0.1:${port}`,
    framing: 'octet',
    maxMessageBytes: 1_000_000,
    confirmTimeout: '5s',
    confirm: 'close',
    ...more,
  }
}

export interface RunningDaemon extends AsyncDisposable {
  readonly daemon: Daemon
  /** What an operator was told at the start. */
  readonly findings: readonly string[]
  picture(): StatusPicture
  stream(tenant: string, stream?: StreamName): StreamStatus | undefined
  destination(name: string): DestinationStatus | undefined
  lines(): Line[]
}

/** The daemon in this process, as `tailrace run` makes it but for its HTTP endpoints. */
export async function runDaemon(configFile: string, level: 'info' | 'warn' = 'info'): Promise<RunningDaemon> {
  const config = await loadConfig(configFile, {}, registers)
  const status = createStatus({ version: 'test' })
  const { log, lines } = logInMemory(level)
  const report = createReport({ metrics: createMetrics({ version: 'test' }), log, also: status.report })
  const findings: string[] = []
  const { signal } = new AbortController()
  const daemon = await startDaemon({ config, report, signal, tell: (finding) => void findings.push(finding) })
  return {
    daemon,
    findings,
    picture: () => status.picture(),
    stream: (tenant, stream = 'attacks') =>
      status.picture().streams.find((one) => one.tenant === tenant && one.stream === stream),
    destination: (name) => status.picture().destinations.find((one) => one.destination === name),
    lines,
    [Symbol.asyncDispose]: async () => daemon[Symbol.asyncDispose](),
  }
}

export interface DaemonProcess extends AsyncDisposable {
  readonly pid: number
  /** Everything it printed so far. */
  output(): string
  /** Log lines so far. */
  lines(): Line[]
  /** Where it serves its status; it has said so once it runs. */
  url(): Promise<string>
  signal(name: NodeJS.Signals): void
  /** Its exit code, or the signal that ended it. */
  ended(): Promise<number | NodeJS.Signals>
}

/** `node src/main.ts` with these arguments. Killed, if it still runs, when disposed. */
export function startProcess(args: readonly string[], env: NodeJS.ProcessEnv = process.env): DaemonProcess {
  const child = spawn(process.execPath, ['src/main.ts', ...args], { stdio: ['ignore', 'pipe', 'pipe'], env })
  const closed = once(child, 'close')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    pid: child.pid ?? 0,
    output: () => text,
    lines: () => linesOf(text.slice(0, text.lastIndexOf('\n') + 1)),
    async url() {
      for (;;) {
        const [, url] = /Status: (http:\/\/[\w.:]+)\//.exec(text) ?? []
        if (url !== undefined) return url
        if (hasEnded()) throw new Error(`it ended: ${text}`)
        await delay(20)
      }
    },
    signal: (name) => void child.kill(name),
    async ended() {
      await closed
      return child.exitCode ?? child.signalCode ?? 'SIGKILL'
    },
    async [Symbol.asyncDispose]() {
      if (!hasEnded()) child.kill('SIGKILL')
      await closed
    },
  }
}

function linesOf(text: string): Line[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line) => JSON.parse(line) as Line)
}

export async function fetchStatus(url: string): Promise<StatusPicture> {
  const answer = await fetch(`${url}/api/status`)
  return (await answer.json()) as StatusPicture
}

/** An event as a destination of the format `json` gets it. */
export interface EventLine {
  readonly id: string
  readonly revision: number
  readonly sequence: number
  readonly action: string
  readonly kind: string
  readonly tenant: string
  readonly stream: StreamName
  readonly identity: string
  readonly body: unknown
  readonly record: ServiceRecord
}

/** The events in a file so far; half a line at its end is left out. */
export async function eventsIn(path: string): Promise<EventLine[]> {
  if (!existsSync(path)) return []
  const text = await readFile(path, 'utf8')
  return parseEvents(text)
}

function parseEvents(text: string): EventLine[] {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as EventLine)
}

/** How many lines a file has, without taking them apart. */
export function lineCount(path: string): number {
  if (!existsSync(path)) return 0
  const bytes = readFileSync(path)
  let count = 0
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) count++
  return count
}

export function versionName(event: Pick<EventLine, 'stream' | 'identity' | 'record'>): string {
  return `${event.stream} ${event.identity} ${recordVersion(event.record)}`
}

/**
 * What the service shows now, or showed for longer than the given time, and is not among the events. For
 * one client, one stream.
 */
export function missingOf(
  simulator: Simulator,
  events: Iterable<Pick<EventLine, 'stream' | 'identity' | 'record'>>,
  choice: { readonly client: number; readonly stream?: StreamName; readonly shownMs?: number },
): string[] {
  const { client, stream = 'attacks', shownMs = 20_000 } = choice
  const arrived = new Set([...events].map(versionName))
  return [...simulator.world.account({ client, stream })]
    .filter((row) => (row.shownUntil ?? Infinity) - row.shownFrom >= shownMs)
    .map((row) => `${row.stream} ${row.identity} ${row.version}`)
    .filter((name) => !arrived.has(name))
}

/** Polls until everything that the (frozen) service has shown is in the file. */
export async function expectAllIn(
  path: string,
  simulator: Simulator,
  choice: Parameters<typeof missingOf>[2] & { readonly timeoutMs?: number },
): Promise<void> {
  const { timeoutMs = 20_000, ...rest } = choice
  // Not expect.poll: tests that run beside one another each have an expect of their own.
  await vi.waitFor(async () => expect(missingOf(simulator, await eventsIn(path), rest)).toEqual([]), {
    timeout: timeoutMs,
    interval: 250,
  })
}

/** Ids of the events that are there more than once. */
export function twice(events: readonly EventLine[]): string[] {
  const seen = new Set<string>()
  return events.map(({ id }) => id).filter((id) => seen.size === seen.add(id).size)
}
