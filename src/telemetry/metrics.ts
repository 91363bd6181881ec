// Every metric of a daemon, declared once: name, help, labels, buckets. `create-report.ts` moves them.

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { errorTable } from '../errors.ts'

export type Metrics = ReturnType<typeof declareMetrics>

export interface MetricsOptions {
  readonly version: string
  /** Unix ms; for tests. */
  readonly now?: () => number
}

const prefix = 'tailrace_'
const stream = ['tenant', 'stream'] as const
// Not `instance`: Prometheus gives that name to what it scrapes, and would rename ours.
const service = ['service_instance'] as const

// From a local answer to the longest time limit; a histogram per destination, so no more than needed.
const requestSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const passSeconds = [0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 43_200]
const shipSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
// From seconds, in normal operation, to days, in an outage.
const delaySeconds = [1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400, 604_800]
const lateSeconds = [1, 5, 15, 60, 300, 600, 1_800, 3_600, 21_600, 86_400]

export function createMetrics(options: MetricsOptions): Metrics {
  return declareMetrics(options)
}

function declareMetrics(options: MetricsOptions) {
  const registry = new Registry()
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter<L>({ name: prefix + name, help, labelNames: [...labelNames], registers: [registry] })
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge<L>({ name: prefix + name, help, labelNames: [...labelNames], registers: [registry] })
  const histogram = <L extends string>(name: string, help: string, more: { buckets: number[]; labels: readonly L[] }) =>
    new Histogram<L>({
      name: prefix + name,
      help,
      buckets: more.buckets,
      labelNames: [...more.labels],
      registers: [registry],
    })
  addProcessMetrics(registry)
  gauge('build_info', 'Always 1; what runs is in the labels.', ['version', 'node']).set(
    { version: options.version, node: process.version },
    1,
  )
  const watermark = watermarkAges(registry, options.now ?? Date.now)
  return {
    registry,
    ...readMetrics({ counter, gauge, histogram }),
    ...shipMetrics({ counter, gauge, histogram }),
    watermark,
    /** Removes every series with these labels: what is no longer configured must not be shown as if it stood still. */
    forget(labels: Readonly<Record<string, string>>) {
      watermark.forget(labels)
      void forgetSeries(registry, labels)
    },
    configValid: gauge(
      'config_valid',
      'Whether the files of the configuration are the ones in force (1), or are wrong (0).',
    ),
    tenantsBroken: gauge('tenants_broken', 'Tenants whose files are wrong.'),
    redisUp: gauge('redis_up', 'Whether Redis answers (1) or not (0).'),
    paused: gauge('paused', 'Whether a person has paused a tenant, stream or destination (1).', ['name']),
    redisMemory: gauge(
      'redis_memory_used_ratio',
      'Share of its maxmemory that Redis uses; 0 where it has none. Reading pauses above 0.8.',
    ),
    errors: errorCounts(counter('errors_total', 'Failures of any kind, by error code.', ['code'])),
  }
}

/** All codes begin with 0: a rise from nothing would not be seen as one. */
function errorCounts(errors: Counter<'code'>): Counter<'code'> {
  for (const code of Object.keys(errorTable)) errors.inc({ code }, 0)
  return errors
}

interface Declare {
  counter<L extends string>(name: string, help: string, labels?: readonly L[]): Counter<L>
  gauge<L extends string>(name: string, help: string, labels?: readonly L[]): Gauge<L>
  histogram<L extends string>(
    name: string,
    help: string,
    more: { buckets: number[]; labels: readonly L[] },
  ): Histogram<L>
}

function readMetrics({ counter, gauge, histogram }: Declare) {
  return {
    eventsRead: counter('events_read_total', 'Events made of new or changed records.', [...stream, 'action']),
    recordsKnown: counter('records_known_total', 'Records read whose version was known already.', stream),
    lateArrival: histogram('late_arrival_seconds', 'By how much records came later than newer ones.', {
      buckets: lateSeconds,
      labels: ['stream'],
    }),
    passDuration: histogram('pass_duration_seconds', 'From the first page of a pass to its completion.', {
      buckets: passSeconds,
      labels: ['stream', 'purpose'],
    }),
    passesGivenUp: counter('passes_given_up_total', 'Passes that were begun again from the start.', stream),
    turnsFailed: counter('turns_failed_total', 'Turns that failed and are tried again, by error code.', [
      ...stream,
      'code',
    ]),
    gaps: counter('gaps_total', 'Gaps declared: records that could not be read.', stream),
    streamPaused: gauge('stream_paused', 'Whether reading pauses (1) because a backlog is full.', [
      ...stream,
      'destination',
    ]),
    serviceRequests: counter('service_requests_total', 'Requests to the service; status 0: no answer.', [
      ...service,
      'operation',
      'status',
    ]),
    serviceRequestsMax: gauge(
      'service_requests_per_second_max',
      'Requests that may be sent to an instance of the service in any second, by all replicas together.',
      service,
    ),
    serviceRequestDuration: histogram('service_request_duration_seconds', 'Time to the answer of the service.', {
      buckets: requestSeconds,
      labels: [...service, 'operation'],
    }),
    serviceThrottled: counter('service_throttled_total', 'Times the service asked us to slow down.', service),
  }
}

function shipMetrics({ counter, gauge, histogram }: Declare) {
  const destination = ['destination'] as const
  return {
    eventsShipped: counter('events_shipped_total', 'Events confirmed by the receiver.', [...stream, 'destination']),
    bytesShipped: counter('shipped_bytes_total', 'Bytes of confirmed events, before framing.', destination),
    batchesRetried: counter('batches_retried_total', 'Sends that failed, by error code.', ['destination', 'code']),
    eventsDead: counter('events_dead_total', 'Events set aside as dead letters.', ['destination', 'code']),
    deadLetters: gauge('dead_letters', 'Dead letters kept now.', destination),
    backlogBatches: gauge('backlog_batches', 'Batches that wait for confirmation.', destination),
    backlogBytes: gauge('backlog_bytes', 'Bytes that wait for confirmation.', destination),
    backlogBound: gauge('backlog_bound_bytes', 'Bytes that may wait; then the streams pause.', destination),
    destinationUp: gauge('destination_up', 'Whether the destination takes events (1) or not (0).', destination),
    destinationHalted: gauge(
      'destination_halted',
      'Whether the destination has stopped until a person acts (1) or not (0).',
      destination,
    ),
    certificateExpiry: gauge(
      'destination_certificate_expiry_timestamp_seconds',
      'Until when the certificate is valid that the receiver showed last, Unix time.',
      destination,
    ),
    destinationConfirms: gauge(
      'destination_confirms',
      'Whether the receiver confirms what it got (1), or events count as delivered once they are sent (0).',
      ['destination', 'sink', 'format'],
    ),
    shipDuration: histogram('ship_duration_seconds', 'From sending a batch to its confirmation.', {
      buckets: shipSeconds,
      labels: destination,
    }),
    deliveryDelay: histogram('delivery_delay_seconds', 'From the time of an event to its confirmation.', {
      buckets: delaySeconds,
      labels: destination,
    }),
  }
}

/** The age grows between the facts, so it is computed when it is asked for. */
function watermarkAges(registry: Registry, now: () => number) {
  const marks = new Map<string, { labels: { tenant: string; stream: string }; at: number }>()
  const gauge = new Gauge({
    name: `${prefix}watermark_age_seconds`,
    help: 'How far behind the clock of the service a stream is known to be complete.',
    labelNames: stream,
    registers: [registry],
    collect() {
      for (const { labels, at } of marks.values()) this.set(labels, Math.max(0, (now() - at) / 1_000))
    },
  })
  return {
    /** `completeAt` by the clock of the service, which is `skewMs` ahead of ours. Both in ms. */
    moved(labels: { tenant: string; stream: string }, completeAt: number, skewMs: number) {
      marks.set(`${labels.tenant}/${labels.stream}`, { labels, at: completeAt - skewMs })
    },
    forget({ tenant, stream: name }: Readonly<Record<string, string>>) {
      marks.delete(`${tenant}/${name}`)
    },
    gauge,
  }
}

async function forgetSeries(registry: Registry, labels: Readonly<Record<string, string>>): Promise<void> {
  for (const metric of registry.getMetricsAsArray() as unknown as (Gauge | Histogram)[]) {
    const { values } = await metric.get()
    for (const { labels: own } of values) {
      // A bucket's bound belongs to the series, not to its name.
      const { le: _bound, ...series } = own as Record<string, string>
      if (Object.entries(labels).every(([name, value]) => series[name] === value)) metric.remove(series)
    }
  }
}

function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, prefix })
  // Gauges whose names end like a counter's: promtool objects, and a sum over the labels tells the same.
  for (const name of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`${prefix}nodejs_active_${name}_total`)
  }
}

const valuesMax = 5_000

/**
 * Bounds a label whose values do not come from configuration or a fixed list: what is seen after the first
 * `most` different values becomes `other`.
 */
export function boundedLabel(most: number = valuesMax): (value: string) => string {
  const seen = new Set<string>()
  return (value) => {
    if (seen.has(value)) return value
    if (seen.size >= most) return 'other'
    seen.add(value)
    return value
  }
}
