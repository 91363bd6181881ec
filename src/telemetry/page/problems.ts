// What is wrong, in words, and what to do about it: the most urgent first. For the page and the terminal.

import { errorTable } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import type { DestinationStatus, StatusPicture, StreamStatus } from '../status.ts'
import { behindAfter, isPaused, pausedIn, streamState } from './stream-state.ts'
import { count, counted, duration, moment, named, size } from './words.ts'

export interface Problem {
  /** The same as long as it is the same problem. */
  readonly id: string
  /** `act`: a person must do something. `watch`: it goes on by itself, but somebody should know. */
  readonly urgency: 'act' | 'watch'
  readonly title: string
  /** What happened, as far as it is known. */
  readonly words: string | null
  readonly remedy: string
  readonly code: ErrorCode | null
  /** When it was last seen; ISO 8601. */
  readonly at: string | null
}

export function problemsOf(picture: StatusPicture, now: number): Problem[] {
  const all = [
    ...redisProblems(picture),
    ...configProblems(picture),
    ...picture.destinations.flatMap((destination) => destinationProblems(destination, now)),
    ...failingStreams(picture),
    ...slowStreams(picture),
    ...pauseProblems(picture),
    ...gapProblems(picture.streams),
    ...instanceProblems(picture, now),
  ]
  return [...all.filter(({ urgency }) => urgency === 'act'), ...all.filter(({ urgency }) => urgency === 'watch')]
}

function redisProblems({ redis }: StatusPicture): Problem[] {
  if (redis === null || !['lost', 'full'].includes(redis.state)) return []
  const lost = redis.state === 'lost'
  const code = lost ? 'redis_unreachable' : 'redis_full'
  const title = lost ? 'Redis does not answer; everything waits' : 'Redis is full; reading pauses'
  return [{ id: 'redis', urgency: 'act', title, words: redis.reason, ...remedyOf(code), at: redis.since }]
}

function configProblems({ config, failures }: StatusPicture): Problem[] {
  const problems: Problem[] = []
  const { refused, brokenTenants, restart } = config
  if (refused !== null) {
    const title = 'The changed configuration was refused; the one before goes on'
    const { message: words, code, at } = refused
    problems.push({ id: 'config', urgency: 'act', title, words, ...remedyOf(code), at })
  }
  if (brokenTenants > 0) {
    const title = `${counted(brokenTenants, 'tenant has a file', 'tenants have files')} with a mistake`
    const known = failures.filter(({ during }) => during.includes('file of tenant'))
    const words = known.length === 0 ? null : named([...new Set(known.map(({ message }) => message))], 3)
    const remedy = 'Correct the file. Until then the tenant goes on as it was, or is not read if it is new.'
    problems.push({ id: 'tenants', urgency: 'act', title, words, remedy, code: 'config_invalid', at: null })
  }
  if (restart.length > 0) {
    const title = 'A restart is needed'
    const words = `What has changed in ${named(restart)} counts from the next start.`
    const remedy = 'Restart Tailrace when it suits you: nothing is lost by it.'
    problems.push({ id: 'restart', urgency: 'watch', title, words, remedy, code: null, at: null })
  }
  return problems
}

const certificateSoonSeconds = 14 * 86_400

function destinationProblems(status: DestinationStatus, now: number): Problem[] {
  const { destination, state, lastError, reason, backlogBytes, deadLetters } = status
  const problems: Problem[] = []
  const waiting = backlogBytes > 0 ? `; ${size(backlogBytes)} wait` : ''
  const words = reason ?? lastError?.message ?? null
  const [code, at] = [lastError?.code ?? 'sink_unreachable', lastError?.at ?? null]
  if (state === 'halted') {
    const title = `${destination} has stopped${waiting}`
    const remedy = remedyOf(lastError?.code ?? 'sink_misconfigured')
    problems.push({ id: `halted-${destination}`, urgency: 'act', title, words, ...remedy, at })
  }
  if (state === 'down') {
    const title = `${destination} is down${waiting}`
    problems.push({ id: `down-${destination}`, urgency: 'watch', title, words, ...remedyOf(code), at })
  }
  if (deadLetters > 0) {
    const title = `${destination} refused ${counted(deadLetters, 'event')} for good`
    const remedy = 'They are kept as dead letters. Find out why they were refused; then requeue or discard them.'
    const why = lastError?.code === 'sink_refused_event' ? lastError.message : null
    const letter = { id: `dead-${destination}`, title, words: why, remedy, at: null }
    problems.push({ ...letter, urgency: 'act', code: 'sink_refused_event' })
  }
  if (isRemoved(status) && backlogBytes > 0) {
    const title = `${destination} is no longer configured; ${size(backlogBytes)} wait for it`
    const why = 'Nothing that waits is thrown away.'
    const remedy = 'Configure a destination of this name again, and they are sent.'
    problems.push({ id: `removed-${destination}`, urgency: 'watch', title, words: why, remedy, code: null, at: null })
  }
  const { certificateExpiresAt } = status
  const validSeconds = certificateExpiresAt === null ? Infinity : (Date.parse(certificateExpiresAt) - now) / 1_000
  if (validSeconds < certificateSoonSeconds) {
    const over = validSeconds <= 0
    const title = `The certificate of ${destination} ${over ? 'has expired' : `expires in ${duration(validSeconds)}`}`
    const remedy = 'Ask whoever runs the receiver for a new certificate: when it has expired, delivery stops.'
    const words = `It is valid until ${moment(certificateExpiresAt ?? '')}.`
    problems.push({ id: `cert-${destination}`, urgency: 'act', title, words, remedy, code: null, at: null })
  }
  return problems
}

/** Something waits for it, or is set aside, but the configuration does not have it. */
export function isRemoved({ sink }: DestinationStatus): boolean {
  return sink === ''
}

/** A hiccup is no news: only what fails repeatedly is shown, unless a person must act. */
const failuresWorthTelling = 3

/** Streams that fail for the same reason are one problem. */
function failingStreams(picture: StatusPicture): Problem[] {
  const held = pausedIn(picture)
  const byCode = Map.groupBy(
    picture.streams.filter((one) => one.failures > 0 && one.lastError !== null && !isPaused(one, held)),
    ({ lastError }) => lastError?.code ?? 'internal',
  )
  return [...byCode].flatMap(([code, failing]): Problem[] => {
    const { remedy } = errorTable[code]
    const urgency = remedy === 'halt' || remedy === 'stop' ? 'act' : 'watch'
    if (urgency === 'watch' && failing.every(({ failures }) => failures < failuresWorthTelling)) return []
    const names = failing.map(nameOf)
    const title =
      names.length === 1 ? `${names.join()} cannot be read` : `${count(names.length)} streams cannot be read`
    const latest = failing
      .map(({ lastError }) => lastError)
      .toSorted((a, b) => (b?.at ?? '').localeCompare(a?.at ?? ''))
    const message = latest[0]?.message ?? ''
    const words = names.length === 1 ? message : `${named(names)}. The latest: ${message}`
    return [{ id: `failing-${code}`, urgency, title, words, ...remedyOf(code), at: latest[0]?.at ?? null }]
  })
}

function slowStreams(picture: StatusPicture): Problem[] {
  const { streams } = picture
  const held = pausedIn(picture)
  const problems: Problem[] = []
  const behind = streams
    .filter((stream) => streamState(stream, held) === 'behind')
    .toSorted((a, b) => (b.watermarkAgeSeconds ?? 0) - (a.watermarkAgeSeconds ?? 0))
  const [oldest] = behind
  if (oldest) {
    const title = behind.length === 1 ? `${nameOf(oldest)} is behind` : `${counted(behind.length, 'stream')} are behind`
    const age = duration(oldest.watermarkAgeSeconds ?? 0)
    const which = behind.length === 1 ? 'It' : `${named(behind.map(nameOf))}. The furthest`
    const words = `${which} is complete up to ${age} ago; a stream counts as behind from ${duration(behindAfter(oldest.everySeconds))} on.`
    const remedy =
      'If the age shrinks, it is catching up. If not: look at the requests to its instance below, and at whether a Tailrace still runs for it.'
    problems.push({ id: 'behind', urgency: 'watch', title, words, remedy, code: null, at: null })
  }
  const paused = streams.filter((stream) => streamState(stream, held) === 'full')
  if (paused.length > 0) {
    const title = `Reading pauses for ${counted(paused.length, 'stream')}`
    const full = [...new Set(paused.flatMap(({ pausedBy }) => pausedBy))]
    const what = full.map((name) => (name === 'redis' ? 'the memory of Redis' : `the backlog of ${name}`))
    const words = `Full: ${named(what)}. The service keeps the events; reading goes on where it stopped.`
    const remedy = 'Bring the destination back, or give it a larger backlogBytes and Redis more memory.'
    problems.push({ id: 'paused', urgency: 'watch', title, words, remedy, code: null, at: null })
  }
  return problems
}

/** Easily forgotten. */
function pauseProblems({ paused }: StatusPicture): Problem[] {
  return paused.map(({ name, since, reason }) => ({
    id: `held-${name}`,
    urgency: 'watch',
    title: `The ${name.replace(':', ' ')} is paused by a person`,
    words: reason === '' ? null : reason,
    remedy: 'Nothing is lost by it for as long as the service keeps its records. When it is over: tailrace resume.',
    code: null,
    at: since,
  }))
}

function gapProblems(streams: readonly StreamStatus[]): Problem[] {
  const torn = streams.filter(({ gaps }) => gaps > 0)
  const [first] = torn
  if (!first) return []
  const total = torn.reduce((sum, { gaps }) => sum + gaps, 0)
  const title = `${counted(total, 'gap')} since the start: records that could not be read`
  const last = first.lastGap
  const range = last === null ? '' : `, from ${moment(last.from)} to ${moment(last.to)}: ${last.reason}`
  const others = torn.length === 1 ? '' : `; also ${named(torn.slice(1).map(nameOf))}`
  const words = `${nameOf(first)}${range}${others}.`
  return [{ id: 'gaps', urgency: 'watch', title, words, ...remedyOf('stream_gap'), at: null }]
}

const throttledRecentlyMs = 300_000
const limitShareMax = 0.9

function instanceProblems({ instances }: StatusPicture, now: number): Problem[] {
  return instances.flatMap(({ instance, throttledAt, requestsPerSecond, limitPerSecond }): Problem[] => {
    if (throttledAt !== null && now - Date.parse(throttledAt) < throttledRecentlyMs) {
      const title = `${instance} asked us to slow down`
      const told = { words: null, ...remedyOf('service_throttled'), at: throttledAt }
      return [{ id: `throttled-${instance}`, urgency: 'watch', title, ...told }]
    }
    if (limitPerSecond === null || requestsPerSecond < limitShareMax * limitPerSecond) return []
    const title = `The limit of requests to ${instance} is nearly used up`
    const words = `${count(requestsPerSecond)} of ${count(limitPerSecond)} requests a second.`
    const remedy = 'A first reading or a back-fill may do that. If it lasts, read streams less often (every).'
    return [{ id: `limit-${instance}`, urgency: 'watch', title, words, remedy, code: null, at: null }]
  })
}

function nameOf({ tenant, stream }: StreamStatus): string {
  return `${tenant}/${stream}`
}

function remedyOf(code: ErrorCode): Pick<Problem, 'remedy' | 'code'> {
  return { remedy: errorTable[code].doc, code }
}
