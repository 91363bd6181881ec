// What the daemon looks like now, as far as the facts tell: a picture of bounded size, for `/api/status`.

import type { TailraceError } from '../errors.ts'
import type { StreamName } from '../event.ts'
import type { DaemonFacts, Report, StreamRef, ReadFacts, ShipFacts } from './report.ts'
import { isoTime } from './iso-time.ts'
import { createRate } from './rate.ts'
import type { Rate } from './rate.ts'
import { remember } from './remember.ts'
import type { Remembered } from './remember.ts'
import { scrub } from './scrub.ts'
import type {
  ConfigStatus,
  DestinationStatus,
  ErrorStatus,
  FailureStatus,
  InstanceStatus,
  PauseStatus,
  StatusPicture,
  StreamStatus,
} from './status-picture.ts'

export type { DestinationStatus, InstanceStatus, StatusPicture, StreamStatus } from './status-picture.ts'

export interface Status {
  /** Takes the facts; give it to `createReport` as `also`. */
  readonly report: Report
  picture(): StatusPicture
}

export interface StatusOptions {
  readonly version: string
  /** Unix ms; for tests. */
  readonly now?: () => number
}

type Changeable<T> = { -readonly [K in keyof T]: T[K] }
type StreamState = Changeable<Omit<StreamStatus, 'watermarkAgeSeconds' | 'eventsPerMinute' | 'pausedBy'>> & {
  /** The watermark by our own clock, Unix ms. */
  markAt: number | null
  readonly rate: Rate
  readonly pausedBy: Set<string>
}
type DestinationPicture = Changeable<Omit<DestinationStatus, 'eventsPerMinute'>> & { readonly rate: Rate }

interface InstanceState {
  readonly instance: string
  readonly requests: Rate
  readonly failed: Rate
  limitPerSecond: number | null
  throttledAt: number | null
}

const instancesMax = 1_000
const streamsMax = 20_000
const destinationsMax = 1_000
const failuresMax = 20

export function createStatus(options: StatusOptions): Status {
  const { version, now = Date.now } = options
  const startedAt = now()
  const keep: Keep = {
    now,
    instance: remember(instancesMax, ({ instance }: { instance: string }) => newInstance(instance, now)),
    stream: remember(streamsMax, ({ tenant, stream }: StreamRef) => newStream(tenant, stream, now)),
    destination: remember(destinationsMax, ({ destination }: { destination: string }) =>
      newDestination(destination, now),
    ),
    redis: null,
    redisMemoryShare: null,
    paused: new Map(),
    config: { appliedAt: isoTime(startedAt), brokenTenants: 0, restart: [], refused: null },
    failures: [],
  }
  return {
    report: { ...readFacts(keep), ...shipFacts(keep), ...daemonFacts(keep) },
    picture: () => ({
      version,
      at: isoTime(now()),
      startedAt: isoTime(startedAt),
      uptimeSeconds: Math.round((now() - startedAt) / 1_000),
      redis: keep.redis,
      redisMemoryShare: keep.redisMemoryShare,
      config: keep.config,
      paused: [...keep.paused.values()],
      instances: keep.instance.all().map((state) => instanceStatus(state, now() - startedAt)),
      streams: keep.stream.all().map((state) => streamStatus(state, now())),
      destinations: keep.destination
        .all()
        .map(({ rate, ...state }) => ({ ...state, eventsPerMinute: rate.perMinute() })),
      failures: [...keep.failures],
    }),
  }
}

interface Keep {
  readonly now: () => number
  readonly instance: Remembered<{ instance: string }, InstanceState>
  readonly stream: Remembered<StreamRef, StreamState>
  readonly destination: Remembered<{ destination: string }, DestinationPicture>
  redis: StatusPicture['redis']
  redisMemoryShare: number | null
  readonly paused: Map<string, PauseStatus>
  config: ConfigStatus
  failures: FailureStatus[]
}

function newInstance(instance: string, now: () => number): InstanceState {
  return { instance, requests: createRate(now), failed: createRate(now), limitPerSecond: null, throttledAt: null }
}

function newStream(tenant: string, stream: StreamName, now: () => number): StreamState {
  const nothing = { everySeconds: null, completeAt: null, lastPass: null, lastError: null, lastGap: null, markAt: null }
  return { tenant, stream, ...nothing, eventsRead: 0, failures: 0, gaps: 0, pausedBy: new Set(), rate: createRate(now) }
}

function newDestination(destination: string, now: () => number): DestinationPicture {
  const nothing = { reason: null, delaySeconds: null, lastShippedAt: null, certificateExpiresAt: null, lastError: null }
  const zero = { backlogBatches: 0, backlogBytes: 0, backlogBoundBytes: null, deadLetters: 0, eventsShipped: 0 }
  const unknown = { sink: '', format: '', confirms: '', confirmed: true, state: 'unknown' } as const
  return { destination, ...unknown, ...nothing, ...zero, rate: createRate(now) }
}

/** Of a run that is younger than a minute, the rate is over its age. */
function instanceStatus(state: InstanceState, ageMs: number): InstanceStatus {
  const { instance, requests, failed, limitPerSecond, throttledAt } = state
  const seconds = Math.min(60, Math.max(5, ageMs / 1_000))
  return {
    instance,
    requestsPerSecond: Math.round((10 * requests.perMinute()) / seconds) / 10,
    failedPerMinute: failed.perMinute(),
    limitPerSecond,
    throttledAt: throttledAt === null ? null : isoTime(throttledAt),
  }
}

function streamStatus({ markAt, rate, pausedBy, ...state }: StreamState, now: number): StreamStatus {
  return {
    ...state,
    watermarkAgeSeconds: markAt === null ? null : Math.max(0, Math.round((now - markAt) / 1_000)),
    eventsPerMinute: rate.perMinute(),
    pausedBy: [...pausedBy],
  }
}

function readFacts(keep: Keep): ReadFacts {
  return {
    requestAnswered({ instance, status }) {
      const state = keep.instance.of({ instance })
      state.requests.add(1)
      if (status < 200 || status > 299) state.failed.add(1)
    },
    instanceThrottled({ instance }) {
      keep.instance.of({ instance }).throttledAt = keep.now()
    },
    instanceConfigured({ instance, requestsPerSecond }) {
      keep.instance.of({ instance }).limitPerSecond = requestsPerSecond
    },
    passGivenUp: () => undefined,
    pageCommitted(fact) {
      const state = keep.stream.of(fact)
      const events = fact.created + fact.updated + fact.closed
      state.eventsRead += events
      state.rate.add(events)
    },
    passCompleted(fact) {
      const { purpose, pages, records, ms } = fact
      keep.stream.of(fact).lastPass = { purpose, pages, records, seconds: ms / 1_000, at: isoTime(keep.now()) }
    },
    watermarkMoved(fact) {
      const state = keep.stream.of(fact)
      state.completeAt = isoTime(fact.completeAt)
      state.markAt = fact.completeAt - fact.clockSkewMs
    },
    turnFailed(fact) {
      const state = keep.stream.of(fact)
      state.failures = fact.failures
      state.lastError = errorStatus(fact.error, keep.now())
    },
    turnRecovered(fact) {
      keep.stream.of(fact).failures = 0
    },
    backlogFull(fact) {
      const { pausedBy } = keep.stream.of(fact)
      if (fact.full) pausedBy.add(fact.destination)
      else pausedBy.delete(fact.destination)
    },
    gapDeclared(fact) {
      const state = keep.stream.of(fact)
      state.gaps++
      state.lastGap = { from: isoTime(fact.from), to: isoTime(fact.to), reason: scrub(fact.reason) }
    },
  }
}

function shipFacts(keep: Keep): ShipFacts {
  return {
    destinationConfigured({ destination, ...fact }) {
      Object.assign(keep.destination.of({ destination }), fact)
    },
    eventsShipped(fact) {
      const state = keep.destination.of({ destination: fact.destination })
      state.eventsShipped += fact.events
      state.rate.add(fact.events)
      state.delaySeconds = fact.delayMs / 1_000
      state.lastShippedAt = isoTime(keep.now())
    },
    sendFailed(fact) {
      keep.destination.of({ destination: fact.destination }).lastError = errorStatus(fact.error, keep.now())
    },
    eventDead(fact) {
      keep.destination.of({ destination: fact.destination }).lastError = errorStatus(fact.error, keep.now())
    },
    destinationChanged(fact) {
      const state = keep.destination.of({ destination: fact.destination })
      state.state = fact.state
      state.reason = fact.reason === null ? null : scrub(fact.reason)
    },
    backlogMeasured(fact) {
      const state = keep.destination.of({ destination: fact.destination })
      state.backlogBatches = fact.batches
      state.backlogBytes = fact.bytes
      state.backlogBoundBytes = fact.boundBytes
      state.deadLetters = fact.deadLetters
    },
    certificateSeen({ destination, expiresAt }) {
      keep.destination.of({ destination }).certificateExpiresAt = isoTime(expiresAt)
    },
  }
}

function daemonFacts(keep: Keep): DaemonFacts {
  return {
    configApplied({ broken, restart }) {
      keep.config = { appliedAt: isoTime(keep.now()), brokenTenants: broken, restart, refused: null }
    },
    configRefused({ error }) {
      keep.config = { ...keep.config, refused: errorStatus(error, keep.now()) }
    },
    destinationRemoved: ({ destination }) => keep.destination.forget({ destination }),
    streamConfigured(fact) {
      keep.stream.of(fact).everySeconds = fact.everyMs / 1_000
    },
    streamRemoved: ({ tenant, stream }) => keep.stream.forget({ tenant, stream }),
    redisChanged({ state, reason }) {
      keep.redis = { state, reason: scrub(reason), since: isoTime(keep.now()) }
    },
    pauseChanged({ name, pause }) {
      if (pause === null) keep.paused.delete(name)
      else keep.paused.set(name, { name, since: isoTime(pause.since), reason: scrub(pause.reason) })
    },
    redisMeasured({ memoryShare }) {
      keep.redisMemoryShare = memoryShare
    },
    failed({ error, during }) {
      keep.failures = [{ ...errorStatus(error, keep.now()), during: scrub(during) }, ...keep.failures].slice(
        0,
        failuresMax,
      )
    },
  }
}

function errorStatus(error: TailraceError, at: number): ErrorStatus {
  return { code: error.code, message: scrub(error.message), at: isoTime(at) }
}
