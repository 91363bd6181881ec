// `tailrace run`: the daemon, with the built-in simulator and receiver where the configuration asks for them.

import { once } from 'node:events'
import { watchConfig } from '../config-watch.ts'
import { loadConfig } from '../config.ts'
import type { Config } from '../config.ts'
import { startDaemon } from '../daemon.ts'
import type { Daemon } from '../daemon.ts'
import { startReceiver } from '../simulator/receiver.ts'
import { startSimulator } from '../simulator/simulator.ts'
import { createReport } from '../telemetry/create-report.ts'
import { startHttp } from '../telemetry/http.ts'
import { createLog } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Report } from '../telemetry/report.ts'
import { openTracing } from '../telemetry/tracing.ts'
import { createStatus } from '../telemetry/status.ts'
import { version } from '../version.ts'
import type { ExitCode, Terminal } from './command.ts'
import { registers } from './registers.ts'

/** Resolves once everything is closed again. Rejects with a coded error where it cannot start. */
export async function run(options: { readonly config: string }, terminal: Terminal): Promise<ExitCode> {
  const config = await loadConfig(options.config, terminal.env, registers)
  // The one before, too: what is under way may still speak of it.
  let known = [[...secretsOf(config)]]
  const log = createLog({
    level: config.log.level,
    pretty: config.log.pretty,
    secrets: () => known.flat(),
  })
  const metrics = createMetrics({ version })
  const status = createStatus({ version })
  const report = createReport({ metrics, log, also: status.report })
  await using stack = new AsyncDisposableStack()
  stack.defer(() => log.info('stopped'))
  await startCompany(config, stack, terminal)

  let daemon: Daemon | undefined
  const http = await startHttp({
    ...config.http,
    metrics,
    status,
    ready: async () => daemon?.ready() ?? ['starting'],
  })
  stack.use(http)
  for (const warning of http.warnings) log.warn(warning)
  tellConfig(config, report, [])
  const { signal } = terminal
  let stoppedAt = 0
  const tracing = await openTracing({
    ...config.tracing,
    version,
    failed: (error) => report.failed({ error, during: 'sending traces' }),
  })
  stack.defer(async () => tracing?.close(Math.max(leastFlushMs, config.shutdown.grace - (Date.now() - stoppedAt))))
  const running = await startDaemon({ config, report, signal, tell: (finding) => log.info(finding), tracing })
  daemon = running
  stack.use(running)
  banner(log, config, http.url, running)
  const watch = watchConfig({
    first: config,
    load: async () => loadConfig(options.config, terminal.env, registers),
    apply: async (next) => {
      known = [[...secretsOf(next)], ...known.slice(0, 1)]
      await running.apply(next)
    },
    applied: (next, restart) => tellConfig(next, report, restart),
    refused: (error) => report.configRefused({ error }),
  })
  stack.use(watch)
  terminal.onReload?.(() => watch.reload())
  if (!signal.aborted) await once(signal, 'abort')
  stoppedAt = Date.now()
  log.info({ graceMs: config.shutdown.grace }, 'stopping: batches under way may still be confirmed')
  return 0
}

/** What sending the last traces may take where nothing is left of the grace. */
const leastFlushMs = 500

function tellConfig(config: Config, report: Report, restart: readonly string[]): void {
  const { tenants, destinations, brokenTenants } = config
  report.configApplied({
    tenants: tenants.length,
    destinations: destinations.length,
    broken: brokenTenants.length,
    restart,
  })
  for (const { name, error } of brokenTenants) report.failed({ error, during: `reading the file of tenant ${name}` })
}

/** For a first look without a service and a SIEM. */
async function startCompany(config: Config, stack: AsyncDisposableStack, terminal: Terminal): Promise<void> {
  const { receiver, simulator, tenants } = config
  if (receiver.enabled)
    stack.use(await startReceiver(receiver.port, (message) => terminal.print(`siem <- ${message.slice(0, 200)}`)))
  if (!simulator.enabled) return
  const own = tenants.filter((tenant) => tenant.instance === 'simulator')
  stack.use(
    await startSimulator({
      port: simulator.port,
      seed: simulator.seed,
      clients: own.flatMap((tenant) => tenant.clients),
      credentials: own.map((tenant) => ({
        uuid: tenant.credentials.uuid,
        secret: tenant.credentials.secret,
        clients: tenant.clients,
      })),
      world: { attacksPerSecond: simulator.attacksPerSecond },
    }),
  )
}

function banner(log: Log, config: Config, url: string, daemon: Daemon): void {
  log.info(
    {
      version,
      tenants: config.tenants.length,
      streams: daemon.streams.length,
      destinations: config.destinations.map(({ name, sink, format }) => `${name}: ${format.name} over ${sink.name}`),
      redis: config.redis.url === '' ? `embedded, in ${config.redis.data}` : 'external',
    },
    `Tailrace ${version} runs. Status: ${url}/  metrics: ${url}/metrics  health: ${url}/healthz ${url}/readyz`,
  )
}

function* secretsOf(config: Config): Iterable<string> {
  if (config.redis.password !== undefined) yield config.redis.password
  const password = /^[^:]+:\/\/[^:@/]*:([^@/]+)@/.exec(config.redis.url)?.[1]
  if (password !== undefined) yield decodeURIComponent(password)
  if (config.http.token !== '') yield config.http.token
  yield* Object.values(config.tracing.headers)
  for (const { credentials } of config.tenants) yield* [credentials.uuid, credentials.secret]
  for (const { sink, options, redaction } of config.destinations) {
    yield* secretsIn(options, sink.options)
    if (redaction.key !== '') yield redaction.key
  }
}

/** Text in sensitive options, in tables and lists of them, too. */
function* secretsIn(values: object, declared: object): Iterable<string> {
  for (const [name, declaration] of Object.entries(declared)) {
    const value: unknown = Reflect.get(values, name)
    if (isSensitive(declaration)) yield* textsIn(value)
    else if (typeof value === 'object' && value !== null && isSection(declaration)) yield* secretsIn(value, declaration)
  }
}

function* textsIn(value: unknown): Iterable<string> {
  if (typeof value === 'string' && value !== '') yield value
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner)
}

function isSection(declared: unknown): declared is object {
  return typeof declared === 'object' && declared !== null && !('default' in declared)
}

function isSensitive(declared: unknown): boolean {
  return typeof declared === 'object' && declared !== null && 'sensitive' in declared && declared.sensitive === true
}
