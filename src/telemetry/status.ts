// What the daemon looks like now, as far as the facts tell: a picture of bounded size, for `/api/status`.

import type { ErrorCode, TailraceError } from '../errors.ts'
import type { StreamName } from '../event.ts'
import type { DestinationState, Report, StreamRef } from './report.ts'
import { createRate } from './rate.ts'
import type { Rate } from './rate.ts'
import { scrub } from './scrub.ts'

export interface Status {
  /** Takes the facts; give it to `createReport` as `also`. */
  readonly report: Report
  picture(): StatusPicture
}

/** Times are ISO 8601 text. What never happened is null. */
export interface StatusPicture {
  readonly version: string
  readonly startedAt: string
  readonly uptimeSeconds: number
  readonly redis: { readonly state: string; readonly reason: string; readonly since: string } | null
  readonly config: ConfigStatus
  /** The limit of requests, and what of it is used. */
  readonly instances: readonly InstanceStatus[]
  readonly streams: readonly StreamStatus[]
  readonly destinations: readonly DestinationStatus[]
  /** The latest failures outside of turns and sends, newest first. */
  readonly failures: readonly FailureStatus[]
}

/** An instance of the service, over the last minute, as this replica sees it. */
export interface InstanceStatus {
  readonly instance: string
  readonly requestsPerSecond: number
  /** Those that were answered by anything but 2xx, or not at all, a minute. */
  readonly failedPerMinute: number
  /** `service.requestsPerSecond`: shared by all replicas behind a source address. Null: not known here. */
  readonly limitPerSecond: number | null
  /** When it last asked for a pause. */
  readonly throttledAt: string | null
}

export interface ConfigStatus {
  readonly appliedAt: string
  readonly brokenTenants: number
  /** Sections that have changed and count from the next start. */
  readonly restart: readonly string[]
  /** Why the files as they are now were refused; null: they are in force. */
  readonly refused: ErrorStatus | null
}

export interface StreamStatus {
  readonly tenant: string
  readonly stream: StreamName
  /** Known to be complete up to here, and how far that is behind the clock of the service. */
  readonly completeAt: string | null
  readonly watermarkAgeSeconds: number | null
  /** From one look to the next, as configured. Null: not known here. */
  readonly everySeconds: number | null
  readonly lastPass: PassStatus | null
  readonly eventsRead: number
  readonly eventsPerMinute: number
  /** Turns in a row that failed. */
  readonly failures: number
  readonly lastError: ErrorStatus | null
  /** Destinations whose full backlog makes it pause. */
  readonly pausedBy: readonly string[]
  readonly gaps: number
  readonly lastGap: { readonly from: string; readonly to: string; readonly reason: string } | null
}

export interface PassStatus {
  readonly purpose: string
  readonly pages: number
  readonly records: number
  readonly seconds: number
  readonly at: string
}

export interface DestinationStatus {
  readonly destination: string
  readonly sink: string
  readonly format: string
  /** What a confirmation of it proves, in words; `confirmed` is false where it confirms nothing. */
  readonly confirms: string
  readonly confirmed: boolean
  readonly state: DestinationState | 'unknown'
  readonly reason: string | null
  readonly backlogBatches: number
  readonly backlogBytes: number
  readonly deadLetters: number
  readonly eventsShipped: number
  readonly eventsPerMinute: number
  /** From the time of an event to its confirmation, of the latest batch. */
  readonly delaySeconds: number | null
  readonly lastShippedAt: string | null
  readonly lastError: ErrorStatus | null
}

export interface ErrorStatus {
  readonly code: ErrorCode
  readonly message: string
  readonly at: string
}

export interface FailureStatus extends ErrorStatus {
  /** What was going on, in words. */
  readonly during: string
}

export interface StatusOptions {
  readonly version: string
  /** `service.requestsPerSecond`. */
  readonly requestsPerSecond?: number
  /** How often a stream is read, in milliseconds, as it is configured now. */
  readonly everyMs?: (stream: StreamRef) => number | undefined
  /** Unix ms; for tests. */
  readonly now?: () => number
}

type Changeable<T> = { -readonly [K in keyof T]: T[K] }
type StreamState = Changeable<Omit<StreamStatus, 'watermarkAgeSeconds' | 'everySeconds' | 'eventsPerMinute' | 'pausedBy'>> & {
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
    config: { appliedAt: isoTime(startedAt), brokenTenants: 0, restart: [], refused: null },
    failures: [],
  }
  return {
    report: { ...readFacts(keep), ...shipFacts(keep), ...daemonFacts(keep) },
    picture: () => ({
      version,
      startedAt: isoTime(startedAt),
      uptimeSeconds: Math.round((now() - startedAt) / 1_000),
      redis: keep.redis,
      config: keep.config,
      instances: keep.instance.all().map((state) => instanceStatus(state, options, now() - startedAt)),
      streams: keep.stream.all().map((state) => streamStatus(state, options, now())),
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
  config: ConfigStatus
  failures: FailureStatus[]
}

interface Remembered<Ref, State> {
  of(ref: Ref): State
  forget(ref: Ref): void
  all(): State[]
}

/** By reference, made when first seen. Beyond the bound a state is handed out that nobody will see. */
function remember<Ref extends object, State>(most: number, make: (ref: Ref) => State): Remembered<Ref, State> {
  const states = new Map<string, State>()
  const keyOf = (ref: Ref): string =>
    'tenant' in ref && 'stream' in ref ? `${String(ref.tenant)}/${String(ref.stream)}` : JSON.stringify(ref)
  return {
    of(ref) {
      const key = keyOf(ref)
      const known = states.get(key)
      if (known) return known
      const made = make(ref)
      if (states.size < most) states.set(key, made)
      return made
    },
    forget: (ref) => void states.delete(keyOf(ref)),
    all: () => [...states.values()],
  }
}

function newInstance(instance: string, now: () => number): InstanceState {
  return { instance, requests: createRate(now), failed: createRate(now), throttledAt: null }
}

function newStream(tenant: string, stream: StreamName, now: () => number): StreamState {
  const nothing = { completeAt: null, lastPass: null, lastError: null, lastGap: null, markAt: null }
  return { tenant, stream, ...nothing, eventsRead: 0, failures: 0, gaps: 0, pausedBy: new Set(), rate: createRate(now) }
}

function newDestination(destination: string, now: () => number): DestinationPicture {
  const nothing = { reason: null, delaySeconds: null, lastShippedAt: null, lastError: null }
  const zero = { backlogBatches: 0, backlogBytes: 0, deadLetters: 0, eventsShipped: 0 }
  const unknown = { sink: '', format: '', confirms: '', confirmed: true, state: 'unknown' } as const
  return { destination, ...unknown, ...nothing, ...zero, rate: createRate(now) }
}

/** Of a run that is younger than a minute, the rate is over its age. */
function instanceStatus(state: InstanceState, options: StatusOptions, ageMs: number): InstanceStatus {
  const { instance, requests, failed, throttledAt } = state
  const seconds = Math.min(60, Math.max(5, ageMs / 1_000))
  return {
    instance,
    requestsPerSecond: Math.round((10 * requests.perMinute()) / seconds) / 10,
    failedPerMinute: failed.perMinute(),
    limitPerSecond: options.requestsPerSecond ?? null,
    throttledAt: throttledAt === null ? null : isoTime(throttledAt),
  }
}

function streamStatus(
  { markAt, rate, pausedBy, ...state }: StreamState,
  { everyMs }: StatusOptions,
  now: number,
): StreamStatus {
  const every = everyMs?.(state)
  return {
    ...state,
    everySeconds: every === undefined ? null : every / 1_000,
    watermarkAgeSeconds: markAt === null ? null : Math.max(0, Math.round((now - markAt) / 1_000)),
    eventsPerMinute: rate.perMinute(),
    pausedBy: [...pausedBy],
  }
}

type ReadFact = Exclude<keyof Report, ShipFact | DaemonFact>
type ShipFact =
  | 'destinationConfigured'
  | 'eventsShipped'
  | 'sendFailed'
  | 'eventDead'
  | 'destinationChanged'
  | 'backlogMeasured'
type DaemonFact = 'configApplied' | 'configRefused' | 'destinationRemoved' | 'streamRemoved' | 'redisChanged' | 'failed'

function readFacts(keep: Keep): Pick<Report, ReadFact> {
  return {
    requestAnswered({ instance, status }) {
      const state = keep.instance.of({ instance })
      state.requests.add(1)
      if (status < 200 || status > 299) state.failed.add(1)
    },
    instanceThrottled({ instance }) {
      keep.instance.of({ instance }).throttledAt = keep.now()
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

function shipFacts(keep: Keep): Pick<Report, ShipFact> {
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
      state.deadLetters = fact.deadLetters
    },
  }
}

function daemonFacts(keep: Keep): Pick<Report, DaemonFact> {
  return {
    configApplied({ broken, restart }) {
      keep.config = { appliedAt: isoTime(keep.now()), brokenTenants: broken, restart, refused: null }
    },
    configRefused({ error }) {
      keep.config = { ...keep.config, refused: errorStatus(error, keep.now()) }
    },
    destinationRemoved: ({ destination }) => keep.destination.forget({ destination }),
    streamRemoved: ({ tenant, stream }) => keep.stream.forget({ tenant, stream }),
    redisChanged({ state, reason }) {
      keep.redis = { state, reason: scrub(reason), since: isoTime(keep.now()) }
    },
    failed({ error, during }) {
      keep.failures = [{ ...errorStatus(error, keep.now()), during: scrub(during) }, ...keep.failures].slice(0, failuresMax)
    },
  }
}

function errorStatus(error: TailraceError, at: number): ErrorStatus {
  return { code: error.code, message: scrub(error.message), at: isoTime(at) }
}

function isoTime(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString()
}
