// A daemon's status as it might be: what the page is shown with in tests.

import { TailraceError } from '../../src/errors.ts'
import type { StreamName } from '../../src/event.ts'
import { startHttp } from '../../src/telemetry/http.ts'
import type { HttpEndpoints } from '../../src/telemetry/http.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import type { Report } from '../../src/telemetry/report.ts'
import { createStatus } from '../../src/telemetry/status.ts'

export const usual: readonly StreamName[] = ['attacks', 'incidents', 'vulnerabilities']

export interface Scene extends AsyncDisposable {
  readonly report: Report
  readonly http: HttpEndpoints
}

export async function openScene(more: { readonly token?: string; readonly host?: string } = {}): Promise<Scene> {
  const status = createStatus({ version: '1.2.3' })
  const parts = { status, metrics: createMetrics({ version: '1.2.3' }), ready: () => [] }
  const http = await startHttp({ host: '127.0.0.1', port: 0, ...parts, ...more })
  return { report: status.report, http, [Symbol.asyncDispose]: async () => http[Symbol.asyncDispose]() }
}

/** All is well, for so many tenants. */
export function reportWell(report: Report, tenants: readonly string[], now = Date.now()): void {
  report.configApplied({ tenants: tenants.length, destinations: 3, broken: 0, restart: [] })
  report.redisChanged({ state: 'ready', reason: 'it answers, and has room' })
  report.redisMeasured({ memoryShare: 0.31 })
  for (const instance of ['eu', 'ru']) report.instanceConfigured({ instance, requestsPerSecond: 500 })
  for (const tenant of tenants) {
    for (const stream of usual)
      report.streamConfigured({ tenant, stream, everyMs: stream === 'attacks' ? 15_000 : 300_000 })
  }
  for (let i = 0; i < 900; i++) report.requestAnswered({ instance: 'eu', operation: 'attack', status: 200, ms: 80 })
  for (let i = 0; i < 120; i++) report.requestAnswered({ instance: 'ru', operation: 'attack', status: 200, ms: 80 })
  for (const [i, tenant] of tenants.entries()) {
    for (const stream of usual) {
      const ref = { tenant, stream }
      report.pageCommitted({ ...ref, created: i % 7, updated: i % 3, closed: 0, known: 10, late: [] })
      report.passCompleted({ ...ref, purpose: 'live', pages: 1, records: 10 + (i % 13), ms: 900 })
      report.watermarkMoved({ ...ref, completeAt: now - 1_000 * (3 + (i % 12)), clockSkewMs: 0 })
    }
  }
  const sinks = [
    ['soc', 'syslog', 'cef', 'The receiver has read everything and closed.'],
    ['splunk', 'splunk-hec', 'json', 'The indexer has acknowledged every event.'],
    ['archive', 's3', 'ocsf', 'The object is stored.'],
  ] as const
  for (const [destination, sink, format, confirms] of sinks) {
    report.destinationConfigured({ destination, sink, format, confirms, confirmed: true })
    report.destinationChanged({ destination, state: 'up', reason: null })
    report.backlogMeasured({ destination, batches: 0, bytes: 0, boundBytes: 268_435_456, deadLetters: 0 })
    const ref = { tenant: tenants[0] ?? 'acme', stream: 'attacks' } as const
    report.eventsShipped({ ...ref, destination, events: 431, bytes: 90_000, ms: 20, delayMs: 4_100 })
  }
}

/** The worst night. */
export function reportNight(report: Report, tenants: readonly string[], now = Date.now()): void {
  const [first = 'acme', second = 'beta', third = 'gamma', fourth = 'delta'] = tenants
  const refused = new TailraceError('service_refused', 'attack: eu answered 403: access denied for this client')
  for (const stream of usual)
    report.turnFailed({ tenant: first, stream, error: refused, failures: 14, retryMs: 300_000 })
  const timeout = new TailraceError('service_timeout', 'attack: ru did not begin to answer within 60 s')
  report.turnFailed({ tenant: second, stream: 'attacks', error: timeout, failures: 5, retryMs: 30_000 })
  report.watermarkMoved({ tenant: third, stream: 'attacks', completeAt: now - 4_380_000, clockSkewMs: 0 })
  report.backlogFull({ tenant: fourth, stream: 'attacks', destination: 'splunk', full: true })
  const gap = { from: now - 90_000_000, to: now - 86_000_000, reason: 'deep offsets are refused' }
  report.gapDeclared({ tenant: fourth, stream: 'incidents', ...gap })
  const certificate = new TailraceError(
    'sink_certificate',
    'splunk.example.org: certificate has expired (CERT_HAS_EXPIRED)',
  )
  report.sendFailed({ destination: 'splunk', error: certificate, events: 500, retryMs: 300_000 })
  report.destinationChanged({ destination: 'splunk', state: 'halted', reason: certificate.message })
  const backlog = { batches: 4_210, bytes: 241_000_000, boundBytes: 268_435_456 }
  report.backlogMeasured({ destination: 'splunk', ...backlog, deadLetters: 0 })
  const reset = new TailraceError('sink_unreachable', 'connect ECONNREFUSED 192.0.2.17:6514')
  report.sendFailed({ destination: 'soc', error: reset, events: 500, retryMs: 30_000 })
  report.destinationChanged({ destination: 'soc', state: 'down', reason: reset.message })
  report.backlogMeasured({ destination: 'soc', batches: 31, bytes: 1_900_000, boundBytes: 268_435_456, deadLetters: 0 })
  report.backlogMeasured({ destination: 'archive', batches: 0, bytes: 0, boundBytes: 268_435_456, deadLetters: 12 })
  report.certificateSeen({ destination: 'archive', expiresAt: now + 6 * 86_400_000 })
  report.configRefused({
    error: new TailraceError(
      'config_invalid',
      'tenants/umbrella.yaml: line 7: streams.atacks is not an option; did you mean attacks?',
    ),
  })
  report.instanceThrottled({ instance: 'eu', ms: 1_000 })
  const broken = new TailraceError('internal', 'undefined is not a function')
  report.failed({ error: broken, during: 'sweeping' })
}

export const fewTenants = ['acme', 'globex', 'initech', 'umbrella', 'wayne-enterprises']
export const manyTenants = Array.from({ length: 1_000 }, (_, i) => `tenant-${String(i).padStart(4, '0')}`)
