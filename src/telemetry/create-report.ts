// Facts to metrics and log lines: the one place that decides both.

import type { TailraceError } from '../errors.ts'
import { isoTime } from './iso-time.ts'
import type { Log } from './log.ts'
import { boundedLabel } from './metrics.ts'
import type { Metrics } from './metrics.ts'
import { createRepeats } from './repeats.ts'
import type { DaemonFacts, ReadFacts, Report, ShipFacts } from './report.ts'
import { scrub } from './scrub.ts'

export interface ReportParts {
  readonly metrics: Metrics
  readonly log: Log
  /** Gets every fact too: the status picture. */
  readonly also?: Report
  /** Unix ms; for tests. */
  readonly now?: () => number
}

export function createReport(parts: ReportParts): Report {
  const tellers = { ...parts, say: createTeller(parts) }
  const own: Report = { ...readFacts(tellers), ...shipFacts(tellers), ...daemonFacts(tellers) }
  const { also } = parts
  return also ? both(own, also) : own
}

type Tellers = ReportParts & { readonly say: Teller }

interface Teller {
  /** Logs a failure, unless the same one was logged within the last minute. */
  failure(what: string, about: Record<string, string>, error: TailraceError, more?: object): void
  over(what: string, about: Record<string, string>): void
}

function createTeller({ log, now }: ReportParts): Teller {
  const repeats = createRepeats(now)
  const keyOf = (what: string, about: Record<string, string>) => [what, ...Object.values(about)].join(' ')
  const codes = new Map<string, Set<string>>()
  return {
    failure(what, about, error, more) {
      const key = keyOf(what, about)
      const known = codes.get(key) ?? new Set()
      codes.set(key, known.add(error.code))
      const told = repeats.tell(`${key} ${error.code}`)
      if (!told) return
      const level = levelOf(error)
      const untold = told.untold > 0 ? { repeated: told.untold } : {}
      const words = told.untold > 0 ? `${what}, ${told.untold} more times since it was last logged` : what
      log[level]({ ...about, ...more, ...untold, error }, `${words}: ${scrub(error.message)}`)
    },
    over(what, about) {
      const key = keyOf(what, about)
      for (const code of codes.get(key) ?? []) repeats.forget(`${key} ${code}`)
      codes.delete(key)
    },
  }
}

/** `error` where a person must act, or something is set aside; `warn` where it goes on by itself. */
function levelOf(error: TailraceError): 'warn' | 'error' {
  const { remedy } = error
  return remedy === 'halt' || remedy === 'stop' || error.code === 'internal' ? 'error' : 'warn'
}

function readFacts({ metrics, log, say }: Tellers): ReadFacts {
  const [purposeLabel, operationLabel] = [boundedLabel(20), boundedLabel(200)]
  return {
    requestAnswered({ instance, operation, status, ms }) {
      const labels = { service_instance: instance, operation: operationLabel(operation) }
      metrics.serviceRequests.inc({ ...labels, status: String(status) })
      metrics.serviceRequestDuration.observe(labels, seconds(ms))
      log.trace({ instance, operation, status, ms }, 'request answered')
    },
    instanceThrottled({ instance, ms }) {
      metrics.serviceThrottled.inc({ service_instance: instance })
      log.debug({ instance, ms }, 'the service asked us to slow down')
    },
    instanceConfigured({ instance, requestsPerSecond }) {
      metrics.serviceRequestsMax.set({ service_instance: instance }, count(requestsPerSecond))
      // From 0 on: a rise from nothing would not be seen as one.
      metrics.serviceThrottled.inc({ service_instance: instance }, 0)
    },
    pageCommitted({ tenant, stream, created, updated, closed, known, late }) {
      const labels = { tenant, stream }
      for (const [action, events] of Object.entries({ created, updated, closed })) {
        if (events > 0) metrics.eventsRead.inc({ ...labels, action }, events)
      }
      metrics.recordsKnown.inc(labels, count(known))
      for (const one of late) metrics.lateArrival.observe({ stream }, count(one))
      log.debug({ ...labels, created, updated, closed, known, late: late.length }, 'page committed')
    },
    passCompleted({ tenant, stream, purpose, pages, records, ms }) {
      metrics.passDuration.observe({ stream, purpose: purposeLabel(purpose) }, seconds(ms))
      log.debug({ tenant, stream, purpose, pages, records, ms }, 'pass completed')
    },
    passGivenUp({ tenant, stream, purpose, reason }) {
      metrics.passesGivenUp.inc({ tenant, stream })
      log.debug({ tenant, stream, purpose, reason: scrub(reason) }, 'pass given up; it starts again')
    },
    watermarkMoved: ({ tenant, stream, completeAt, clockSkewMs }) =>
      metrics.watermark.moved({ tenant, stream }, completeAt, clockSkewMs),
    turnFailed({ tenant, stream, error, failures, retryMs }) {
      metrics.turnsFailed.inc({ tenant, stream, code: error.code })
      metrics.errors.inc({ code: error.code })
      say.failure('reading failed', { tenant, stream }, error, { failures, retryMs })
    },
    turnRecovered({ tenant, stream, failures }) {
      say.over('reading failed', { tenant, stream })
      log.info({ tenant, stream, failures }, 'reading works again')
    },
    backlogFull({ tenant, stream, destination, full }) {
      metrics.streamPaused.set({ tenant, stream, destination }, full ? 1 : 0)
      const about = { tenant, stream, destination }
      const what = destination === 'redis' ? 'the memory of Redis' : `the backlog of ${destination}`
      if (full) log.warn(about, `reading pauses: ${what} is full`)
      else log.info(about, `reading goes on: ${what} has room`)
    },
    gapDeclared({ tenant, stream, from, to, reason }) {
      metrics.gaps.inc({ tenant, stream })
      metrics.errors.inc({ code: 'stream_gap' })
      const range = { from: isoTime(from), to: isoTime(to) }
      log.error({ tenant, stream, ...range, reason: scrub(reason) }, 'records could not be read; a gap is declared')
    },
  }
}

function shipFacts({ metrics, log, say }: Tellers): ShipFacts {
  return {
    destinationConfigured({ destination, sink, format, confirms, confirmed }) {
      metrics.destinationConfirms.set({ destination, sink, format }, confirmed ? 1 : 0)
      for (const code of refusals) metrics.batchesRetried.inc({ destination, code }, 0)
      if (confirmed) log.info({ destination, sink, format }, `it confirms: ${confirms}`)
      else log.warn({ destination, sink, format }, 'it confirms nothing: events count as delivered once they are sent')
    },
    eventsShipped({ tenant, stream, destination, events, bytes, ms, delayMs }) {
      metrics.eventsShipped.inc({ tenant, stream, destination }, count(events))
      metrics.bytesShipped.inc({ destination }, count(bytes))
      metrics.shipDuration.observe({ destination }, seconds(ms))
      metrics.deliveryDelay.observe({ destination }, seconds(delayMs))
      log.debug({ tenant, stream, destination, events, bytes, ms, delayMs }, 'events shipped')
    },
    sendFailed({ destination, error, events, retryMs }) {
      metrics.batchesRetried.inc({ destination, code: error.code })
      metrics.errors.inc({ code: error.code })
      say.failure('sending failed', { destination }, error, { events, retryMs })
    },
    eventDead({ tenant, stream, destination, error }) {
      metrics.eventsDead.inc({ destination, code: error.code })
      metrics.errors.inc({ code: error.code })
      say.failure('event set aside as a dead letter', { tenant, stream, destination }, error)
    },
    destinationChanged({ destination, state, reason }) {
      metrics.destinationUp.set({ destination }, state === 'up' ? 1 : 0)
      metrics.destinationHalted.set({ destination }, state === 'halted' ? 1 : 0)
      const about = { destination, state, ...(reason === null ? {} : { reason: scrub(reason) }) }
      if (state === 'up') {
        say.over('sending failed', { destination })
        log.info(about, 'the destination takes events')
      } else if (state === 'down') log.warn(about, 'the destination is down; its events wait')
      else log.error(about, 'the destination has stopped; someone must look')
    },
    backlogMeasured({ destination, batches, bytes, boundBytes, deadLetters }) {
      metrics.backlogBatches.set({ destination }, count(batches))
      metrics.backlogBytes.set({ destination }, count(bytes))
      if (boundBytes !== null) metrics.backlogBound.set({ destination }, count(boundBytes))
      metrics.deadLetters.set({ destination }, count(deadLetters))
    },
    certificateSeen: ({ destination, expiresAt }) => metrics.certificateExpiry.set({ destination }, seconds(expiresAt)),
  }
}

/** What a person must see to, counted from 0 on: a rise from nothing would not be seen as one. */
const refusals = ['sink_credentials', 'sink_certificate', 'sink_misconfigured'] as const

function daemonFacts({ metrics, log, say }: Tellers): DaemonFacts {
  return {
    configApplied({ tenants, destinations, broken, restart }) {
      metrics.configValid.set(1)
      metrics.tenantsBroken.set(count(broken))
      say.over('the configuration was refused', {})
      log.info({ tenants, destinations, broken }, 'the configuration is in force')
      if (restart.length > 0)
        log.warn({ sections: restart }, 'what has changed in these sections counts from the next start')
    },
    configRefused({ error }) {
      metrics.configValid.set(0)
      metrics.errors.inc({ code: error.code })
      say.failure('the configuration was refused', {}, error)
    },
    destinationRemoved({ destination }) {
      metrics.forget({ destination })
      log.info({ destination }, 'the destination is no longer configured')
    },
    streamConfigured: ({ tenant, stream, everyMs }) =>
      log.debug({ tenant, stream, everyMs }, 'the stream is configured'),
    streamRemoved({ tenant, stream }) {
      metrics.forget({ tenant, stream })
      log.info({ tenant, stream }, 'the stream is no longer configured')
    },
    redisChanged({ state, reason }) {
      metrics.redisUp.set(state === 'lost' ? 0 : 1)
      const about = { state, reason: scrub(reason) }
      if (state === 'ready') log.info(about, 'Redis is ready')
      else log.warn(about, redisWords[state])
    },
    pauseChanged({ name, pause }) {
      metrics.paused.set({ name }, pause === null ? 0 : 1)
      if (pause === null) log.info({ paused: name }, 'what was paused goes on')
      else log.info({ paused: name, since: isoTime(pause.since), reason: scrub(pause.reason) }, 'paused by a person')
    },
    redisMeasured: ({ memoryShare }) => metrics.redisMemory.set(count(memoryShare)),
    failed({ error, during }) {
      metrics.errors.inc({ code: error.code })
      say.failure('something failed', { during }, error)
    },
  }
}

const redisWords = {
  lost: 'Redis does not answer; everything waits',
  full: 'Redis is full; reading pauses',
  replaced: 'this is another Redis than before; everything is read anew',
}

type Facts = { [Name in keyof Report]: Parameters<Report[Name]>[0] }
type Listener = { [Name in keyof Facts]: (fact: Facts[Name]) => void }

function both(one: Listener, other: Listener): Report {
  const tell =
    <Name extends keyof Facts>(name: Name) =>
    (fact: Facts[Name]) => {
      one[name](fact)
      other[name](fact)
    }
  return {
    requestAnswered: tell('requestAnswered'),
    instanceThrottled: tell('instanceThrottled'),
    instanceConfigured: tell('instanceConfigured'),
    pageCommitted: tell('pageCommitted'),
    passCompleted: tell('passCompleted'),
    passGivenUp: tell('passGivenUp'),
    watermarkMoved: tell('watermarkMoved'),
    turnFailed: tell('turnFailed'),
    turnRecovered: tell('turnRecovered'),
    backlogFull: tell('backlogFull'),
    gapDeclared: tell('gapDeclared'),
    destinationConfigured: tell('destinationConfigured'),
    configApplied: tell('configApplied'),
    configRefused: tell('configRefused'),
    streamConfigured: tell('streamConfigured'),
    destinationRemoved: tell('destinationRemoved'),
    streamRemoved: tell('streamRemoved'),
    eventsShipped: tell('eventsShipped'),
    sendFailed: tell('sendFailed'),
    eventDead: tell('eventDead'),
    destinationChanged: tell('destinationChanged'),
    backlogMeasured: tell('backlogMeasured'),
    certificateSeen: tell('certificateSeen'),
    redisChanged: tell('redisChanged'),
    redisMeasured: tell('redisMeasured'),
    pauseChanged: tell('pauseChanged'),
    failed: tell('failed'),
  }
}

// A metric refuses what is no number by throwing; a fact must never throw.
function count(value: number): number {
  return Number.isFinite(value) ? Math.max(0, value) : 0
}

function seconds(ms: number): number {
  return count(ms) / 1_000
}
