// `tailrace watermark`: how far streams are complete, and what moves it by hand.

import type { StreamKey } from '../event.ts'
import { refOf } from '../event.ts'
import { parseState, unborn } from '../poll/state.ts'
import type { PollState } from '../poll/state.ts'
import { streams } from '../poll/streams/all.ts'
import { parseDuration, showDuration } from '../quantity.ts'
import type { ExitCode, Terminal } from './command.ts'
import { readMoment, showMoment, showSpan } from './moment.ts'
import { assent, chooseStreams, misuse, openRedisAccess } from './redis-access.ts'
import type { RedisAccess, StreamChoice } from './redis-access.ts'
import { changeState } from './stream-state.ts'
import { table } from './table.ts'

export interface WatermarkOptions extends StreamChoice {
  readonly config: string
  readonly json?: boolean
  readonly to?: string
  readonly yes?: boolean
}

/** For programs; times are ISO 8601. */
interface WatermarkRow {
  readonly tenant: string
  readonly stream: string
  readonly watermark: string
  readonly completeAt: string
  readonly sequence: number
  readonly passes: readonly string[]
  /** Ranges of the past that are still to be read, and back-fills that were asked for. */
  readonly holes: number
  /** By how many seconds records came late, at the most. */
  readonly latestSeconds: number
  readonly overlap: string
  readonly recommendedOverlap: string
}

export async function showWatermarks(options: WatermarkOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const keys = await chooseStreams(access, options)
  const rows = await Promise.all(keys.map(async (key) => rowOf(access, key)))
  if (options.json) terminal.print(JSON.stringify(rows, null, 2))
  else terminal.print(render(rows))
  return 0
}

export async function setWatermark(options: WatermarkOptions, terminal: Terminal): Promise<ExitCode> {
  if (options.to === undefined) throw misuse('Say where to: --to 2h')
  await using access = await openRedisAccess(options.config, terminal)
  const to = readMoment(options.to, '--to', Date.now())
  const keys = await chooseStreams(access, requireTenant(options))
  const movable = keys.filter((key) => readingOf(key) !== 'inventory')
  if (movable.length === 0) throw misuse('Inventories are read as a whole each time: they have no watermark.')
  const skipping: string[] = []
  for (const key of movable) {
    const { state } = await stateOf(access, key)
    const skipped = skippedBy(state, to, overlapOf(access, key))
    if (skipped) skipping.push(`${key} from ${showMoment(skipped.from / 1000)} to ${showMoment(skipped.to / 1000)}`)
  }
  if (skipping.length > 0) {
    const text = `This moves forward: what has not been read of ${skipping.join('; ')} is skipped, but for what the reconciliation still meets. It is declared to the destinations as a gap.`
    await assent(text, options.yes ?? false, terminal)
  }
  for (const key of movable) {
    const overlap = overlapOf(access, key)
    const after = await changeState(access.store, key, (state, now) => moved(state, to, overlap, now), terminal.signal)
    terminal.print(`${key}: the next look begins ${showSpan(overlap)} before ${showMoment(after.watermark)}`)
  }
  return 0
}

export async function resetWatermark(options: WatermarkOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const keys = await chooseStreams(access, requireTenant(options))
  const text = `This reads ${keys.join(', ')} anew from \`start\` on. What is known is not sent again; what is too old to be known still is.`
  await assent(text, options.yes ?? false, terminal)
  for (const key of keys) {
    await changeState(access.store, key, begunAnew, terminal.signal)
    terminal.print(`${key}: it begins anew with the next look`)
  }
  return 0
}

function requireTenant<O extends WatermarkOptions>(options: O): O {
  if (options.tenant === undefined) throw misuse('Name the tenant: --tenant acme')
  return options
}

async function rowOf(access: RedisAccess, key: StreamKey): Promise<WatermarkRow> {
  const { state } = await stateOf(access, key)
  const passes = [state.live, state.deep].filter((pass) => pass !== null)
  const overlap = overlapOf(access, key)
  const timeline = readingOf(key) !== 'inventory'
  return {
    ...refOf(key),
    watermark: showMoment(state.watermark),
    completeAt: showMoment(state.completeAt),
    sequence: state.sequence,
    passes: passes.map(({ purpose, step, records }) => `${purpose}: ${step} pages, ${records} records`),
    holes: state.holes.length,
    latestSeconds: state.latest,
    overlap: timeline ? showDuration(overlap * 1000) : '-',
    recommendedOverlap: timeline ? showDuration(recommended(state.latest, overlap) * 1000) : '-',
  }
}

/** What comes late by up to three quarters of the overlap is met by every look. Seconds, in whole minutes. */
function recommended(latest: number, overlap: number): number {
  const needed = Math.ceil((latest * 4) / 3 / 60) * 60
  return latest > overlap * 0.75 ? Math.max(needed, overlap) : overlap
}

async function stateOf(access: RedisAccess, key: StreamKey): Promise<{ readonly state: PollState }> {
  return { state: parseState((await access.store.peek(key)).state) }
}

/** Of a stream that is no longer configured, the usual one. Seconds. */
function overlapOf({ config }: RedisAccess, key: StreamKey): number {
  const { tenant, stream } = refOf(key)
  const settings = config.tenants.find(({ name }) => name === tenant)?.streams.find((one) => one.stream === stream)
  return (settings?.overlapMs ?? parseDuration('10m') ?? 0) / 1000
}

function readingOf(key: StreamKey): string | undefined {
  return streams.find(({ name }) => name === refOf(key).stream)?.reading
}

/** Unix milliseconds, as a gap event has them. */
function skippedBy(state: PollState, to: number, overlap: number): { from: number; to: number } | null {
  const { watermark } = state
  return watermark !== null && to - overlap > watermark ? { from: watermark * 1000, to: (to - overlap) * 1000 } : null
}

function moved(state: PollState, to: number, overlap: number, nowMs: number): PollState {
  if (state.watermark === null) throw misuse('The stream has not been read yet: it begins at `start` by itself.')
  if (to > nowMs / 1000) throw misuse('A watermark cannot be moved into the future.')
  const skipped = skippedBy(state, to, overlap)
  const gaps = skipped
    ? [...state.gaps, { ...skipped, reason: 'the watermark was moved forward by a person' }]
    : state.gaps
  const completeAt = to < state.watermark ? to : state.completeAt
  // A pass under way began where the old watermark was, and may stop at what is known: the next one is walked whole.
  return { ...state, watermark: to, completeAt, fullAt: null, live: null, gaps }
}

/** Sequence, what has been seen and what was asked for remain. */
export function begunAnew(state: PollState): PollState {
  const { sequence, inventories, replays, gaps, heartbeat } = state
  const holes = state.holes.filter(({ replay }) => replay !== undefined)
  return { ...unborn, sequence, inventories, holes, replays, gaps, heartbeat }
}

function render(rows: readonly WatermarkRow[]): string {
  const head = [
    'stream',
    'watermark',
    'complete up to',
    'sequence',
    'holes',
    'latest',
    'overlap',
    'recommended',
    'passes under way',
  ]
  const lines = rows.map((row) => [
    `${row.tenant}/${row.stream}`,
    row.watermark,
    row.completeAt,
    String(row.sequence),
    String(row.holes),
    `${row.latestSeconds} s`,
    row.overlap,
    row.recommendedOverlap,
    row.passes.join('; ') || '-',
  ])
  return table(head, lines)
}
