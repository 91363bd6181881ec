// One example of every fact, and a log that is kept in memory.

import { TailraceError } from '../../src/errors.ts'
import { createLog } from '../../src/telemetry/log.ts'
import type { Log, LogLevel, LogOptions } from '../../src/telemetry/log.ts'
import type { Report, StreamRef } from '../../src/telemetry/report.ts'

export const stream: StreamRef = { tenant: 'acme', stream: 'attacks' }
export const destination = 'soc'
export const unreachable = new TailraceError('sink_unreachable', 'connect ECONNREFUSED 192.0.2.1:514')

/** What a daemon reports while all is well. */
export function reportNormal(report: Report, now = Date.now()): void {
  report.requestAnswered({ instance: 'eu', operation: 'readAttacks', status: 200, ms: 42 })
  report.instanceConfigured({ instance: 'eu', requestsPerSecond: 500 })
  report.pageCommitted({ ...stream, created: 3, updated: 2, closed: 0, known: 10, late: [7] })
  report.passCompleted({ ...stream, purpose: 'live', pages: 2, records: 15, ms: 900 })
  report.watermarkMoved({ ...stream, completeAt: now - 5_000, clockSkewMs: 0 })
  report.streamConfigured({ ...stream, everyMs: 15_000 })
  report.destinationConfigured({ destination, sink: 'syslog', format: 'cef', confirms: 'All.', confirmed: true })
  report.eventsShipped({ ...stream, destination, events: 5, bytes: 2_000, ms: 12, delayMs: 6_000 })
  report.backlogMeasured({ destination, batches: 1, bytes: 400, boundBytes: 1_000, deadLetters: 0 })
  report.certificateSeen({ destination, expiresAt: now + 86_400_000 })
  report.destinationChanged({ destination, state: 'up', reason: null })
  report.configApplied({ tenants: 1, destinations: 1, broken: 0, restart: [] })
  report.turnRecovered({ ...stream, failures: 2 })
  report.backlogFull({ ...stream, destination, full: false })
  report.redisChanged({ state: 'ready', reason: 'connected' })
  report.pauseChanged({ name: 'destination:soc', pause: null })
  report.redisMeasured({ memoryShare: 0.25 })
}

/** And when nothing is. */
export function reportTrouble(report: Report): void {
  const retry = { failures: 1, retryMs: 1_000 }
  report.requestAnswered({ instance: 'eu', operation: 'readAttacks', status: 0, ms: 10_000 })
  report.instanceThrottled({ instance: 'eu', ms: 1_000 })
  report.passGivenUp({ ...stream, purpose: 'live', reason: 'the seam is missing' })
  report.turnFailed({ ...stream, error: new TailraceError('service_timeout', 'no answer in 30 s'), ...retry })
  report.backlogFull({ ...stream, destination, full: true })
  report.gapDeclared({ ...stream, from: 0, to: 1_000, reason: 'deep offsets are refused' })
  report.sendFailed({ destination, error: unreachable, events: 5, retryMs: 500 })
  report.eventDead({ ...stream, destination, error: new TailraceError('sink_refused_event', 'too long') })
  report.destinationChanged({ destination, state: 'halted', reason: 'credentials refused' })
  report.pauseChanged({ name: 'destination:soc', pause: { since: 0, reason: 'maintenance' } })
  report.redisChanged({ state: 'lost', reason: 'connection closed' })
  report.configRefused({ error: new TailraceError('config_invalid', 'tailrace.yaml has a mistake') })
  report.streamRemoved({ tenant: 'gone', stream: 'rules' })
  report.destinationRemoved({ destination: 'gone' })
  report.failed({ error: new TailraceError('internal', 'undefined is not a function'), during: 'sweep' })
}

export interface Line {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

export function logInMemory(
  level: LogLevel,
  more: Partial<LogOptions> = {},
): { log: Log; lines: () => Line[]; text: () => string } {
  let text = ''
  const log = createLog({ level, stream: { write: (line) => (text += line) }, ...more })
  const lines = () =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line)
  return { log, lines, text: () => text }
}
