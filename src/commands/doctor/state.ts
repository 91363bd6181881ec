// What is kept in Redis as the doctor sees it: Redis itself, what waits and for whom, and how far streams are.

import type { Config } from '../../config.ts'
import type { StreamSettings } from '../../config.ts'
import { errorTable } from '../../errors.ts'
import { refOf } from '../../event.ts'
import type { StreamKey } from '../../event.ts'
import { parseState, parseTroubles } from '../../poll/state.ts'
import type { PollState, Trouble } from '../../poll/state.ts'
import { createPauses } from '../../queue/pauses.ts'
import { showDuration } from '../../quantity.ts'
import { assertSafe, inspectRedis } from '../../redis.ts'
import { behindAfter } from '../../telemetry/page/stream-state.ts'
import { count, counted, duration, size } from '../../telemetry/page/words.ts'
import type { RedisAccess } from '../redis-access.ts'
import { advice, fine, fold, wrong } from './finding.ts'
import type { Finding } from './finding.ts'

const clockWorthMs = 2_000
const clockWrongMs = 60_000
/** Reading pauses at four fifths. */
const memoryTight = 0.7

/** Rejects with `redis_unsafe` or `redis_unreachable`. */
export async function redisFindings({ redis, config }: RedisAccess): Promise<Finding[]> {
  const report = await inspectRedis(redis)
  const remedy = 'Change it in the configuration of Redis; see Redis in the README.'
  // The private one is set up by us; and to lose a second of which all is read again is a choice, no mistake.
  const isPrivate = config.redis.url === ''
  const found = assertSafe(report).map((warning) =>
    isPrivate || warning.includes('appendfsync is everysec')
      ? fine('redis', warning)
      : advice('redis', warning, remedy),
  )
  const used = Math.max(
    ...report.nodes.map(({ usedMemoryBytes, maxMemoryBytes }) =>
      maxMemoryBytes > 0 ? usedMemoryBytes / maxMemoryBytes : 0,
    ),
  )
  if (used > memoryTight) {
    const text = `uses ${Math.round(100 * used)} % of its maxmemory; reading pauses above 80 %`
    found.push(wrong('redis', text, errorTable.redis_full.doc))
  }
  if (!isPrivate && report.nodes.every(({ maxMemoryBytes }) => maxMemoryBytes === 0))
    found.push(advice('redis', 'has no maxmemory', 'Set one below the memory that it has, or the system may end it.'))
  const askedAt = Date.now()
  const [seconds, microseconds] = await redis.time()
  const own = (askedAt + Date.now()) / 2
  const skewMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000 - own
  if (Math.abs(skewMs) > clockWorthMs) {
    const text = `its clock is ${duration(Math.abs(skewMs) / 1_000)} ${skewMs > 0 ? 'ahead of' : 'behind'} ours`
    const clock = 'Let the clocks of both machines be set by NTP: leases and retries go by them.'
    found.push(Math.abs(skewMs) > clockWrongMs ? wrong('redis', text, clock) : advice('redis', text, clock))
  }
  const versions = [...new Set(report.nodes.map(({ version }) => version))].join(', ')
  return [
    ...found,
    fine(
      'redis',
      `${counted(report.nodes.length, 'server')} of version ${versions}, clock right to ${Math.round(Math.abs(skewMs))} ms`,
    ),
  ]
}

interface Owed {
  batches: number
  bytes: number
  dead: number
}

const atOnce = 200

async function inChunks<T, R>(things: readonly T[], work: (thing: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < things.length; at += atOnce)
    results.push(...(await Promise.all(things.slice(at, at + atOnce).map(work))))
  return results
}

export async function backlogFindings(config: Config, access: RedisAccess): Promise<Finding[]> {
  const sums = new Map<string, Owed>()
  const keys = await access.store.registered()
  for (const { destination, batches, bytes, dead } of (
    await inChunks(keys, async (key) => access.batches.debts(key))
  ).flat()) {
    const sum = sums.get(destination) ?? { batches: 0, bytes: 0, dead: 0 }
    sums.set(destination, { batches: sum.batches + batches, bytes: sum.bytes + bytes, dead: sum.dead + dead })
  }
  const configured = new Map(config.destinations.map(({ name, backlogBytes }) => [name, backlogBytes]))
  const findings = [...sums].flatMap(([name, { batches, bytes, dead }]): Finding[] => {
    const subject = `destination ${name}`
    const bound = configured.get(name)
    const found: Finding[] = []
    if (dead > 0) {
      const remedy = `Look at them with \`tailrace dead-letters\`; put right what they were refused for, then requeue or discard them.`
      found.push(wrong(subject, `${counted(dead, 'event')} set aside as dead letters`, remedy))
    }
    if (bound === undefined && batches > 0) {
      const remedy = `Configure a destination of this name again and they are sent; or \`tailrace backlog discard --destination ${name}\`.`
      found.push(
        wrong(
          subject,
          `no longer configured, but ${counted(batches, 'batch', 'batches')} (${size(bytes)}) wait for it`,
          remedy,
        ),
      )
    }
    if (bound !== undefined && bytes >= bound * 0.5) {
      const text = `${size(bytes)} of ${size(bound)} wait for it; when it is full, reading pauses`
      found.push(wrong(subject, text, 'See what it says above or below; bring it back, or raise its backlogBytes.'))
    }
    return found
  })
  const total = [...sums.values()].reduce((sum, { batches }) => sum + batches, 0)
  return [
    ...findings,
    fine('backlog', `${counted(total, 'batch waits', 'batches wait')} for all destinations together`),
  ]
}

interface Look {
  readonly key: StreamKey
  readonly settings: StreamSettings
  readonly state: PollState
  readonly trouble: Trouble | undefined
  readonly ageSeconds: number | null
}

export async function streamFindings(config: Config, access: RedisAccess): Promise<Finding[]> {
  const paused = new Set((await createPauses(access.redis, access.prefix).list()).map(({ name }) => String(name)))
  const wanted = config.tenants.flatMap(({ name, streams }) =>
    streams.map((settings) => ({ key: `${name}/${settings.stream}` as StreamKey, settings })),
  )
  const looks = await inChunks(wanted, async ({ key, settings }): Promise<Look> => {
    const { state: text, trouble: troubles } = await access.store.peek(key)
    const state = parseState(text)
    const { live, deep } = parseTroubles(troubles)
    const ageSeconds = state.completeAt === null ? null : Date.now() / 1_000 - state.completeAt
    return { key, settings, state, trouble: live ?? deep, ageSeconds }
  })
  const isPaused = ({ key }: Look): boolean => paused.has(`stream:${key}`) || paused.has(`tenant:${refOf(key).tenant}`)
  const running = looks.filter((look) => !isPaused(look))
  return [
    ...[...paused].map((name) =>
      advice(
        name.replace(':', ' '),
        'is paused by a person',
        'If that is over: `tailrace resume`; all that is paused: `tailrace pause list`.',
      ),
    ),
    ...failing(running),
    ...behind(running),
    ...unread(running),
    ...late(looks),
    fine('streams', `${count(looks.length)} configured, ${looks.length - running.length} of them paused`),
  ]
}

function failing(looks: readonly Look[]): Finding[] {
  const known = (code: string): code is keyof typeof errorTable => Object.hasOwn(errorTable, code)
  return fold(
    looks.flatMap(({ key, trouble }) => (trouble === undefined ? [] : [{ key, trouble }])),
    {
      kind: ({ trouble }) => trouble.code,
      name: ({ key }) => key,
      tell: ({ key, trouble: { code, message, failures } }) =>
        wrong(
          `stream ${key}`,
          `${counted(failures, 'failure')} in a row: ${message}`,
          errorTable[known(code) ? code : 'internal'].doc,
        ),
    },
  )
}

function behind(looks: readonly Look[]): Finding[] {
  const old = looks.filter(({ ageSeconds, settings }) => (ageSeconds ?? 0) > behindAfter(settings.everyMs / 1_000))
  return fold(
    old.toSorted((a, b) => (b.ageSeconds ?? 0) - (a.ageSeconds ?? 0)),
    {
      kind: () => 'behind',
      name: ({ key }) => key,
      tell: ({ key, ageSeconds, settings }) =>
        wrong(
          `stream ${key}`,
          `complete up to ${duration(ageSeconds ?? 0)} ago only, and read every ${showDuration(settings.everyMs)}`,
          'If no daemon runs, start it. If one runs: `tailrace status` says whether it fails, pauses or lacks requests.',
        ),
    },
  )
}

function unread(looks: readonly Look[]): Finding[] {
  return fold(
    looks.filter(({ ageSeconds, trouble }) => ageSeconds === null && trouble === undefined),
    {
      kind: () => 'unread',
      name: ({ key }) => key,
      tell: ({ key }) =>
        advice(`stream ${key}`, 'was never read to its end', 'It will be, once the daemon has run for a while.'),
    },
  )
}

/** Of the overlap, three quarters catch what comes late: the whole of it is walked when a quarter has passed. */
const caught = 0.75
const margin = 1.25

function late(looks: readonly Look[]): Finding[] {
  const tooLate = looks
    .filter(({ state, settings }) => settings.overlapMs > 0 && state.latest * 1_000 > caught * settings.overlapMs)
    .toSorted((a, b) => b.state.latest - a.state.latest)
  return fold(tooLate, {
    kind: ({ key }) => refOf(key).stream,
    name: ({ key }) => key,
    tell({ key, state, settings }) {
      const minutes = Math.ceil((state.latest * margin) / caught / 60)
      const text = `records came up to ${duration(state.latest)} late; an overlap of ${showDuration(settings.overlapMs)} catches ${duration((caught * settings.overlapMs) / 1_000)}, later ones wait for the reconciliation`
      const covers = state.latest * 1_000 <= settings.reconcileWindowMs
      const wide = covers ? '' : ' Widen reconcileWindow, too: what came later than that was not read.'
      return advice(`stream ${key}`, text, `Set overlap: ${showDuration(minutes * 60_000)} or more.${wide}`)
    },
  })
}
