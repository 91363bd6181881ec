// What a stream remembers between turns, and what it should do next. Kept beside the seen set and committed
// with it, so that the pass, the watermark and what has been seen can never disagree.

import type { GapBody } from '../event.ts'
import { TailraceError } from '../errors.ts'
import { beginPass } from './pass.ts'
import type { Lore, Pass } from './pass.ts'
import type { EndedReplay, Hole } from './replay.ts'
import type { Stream, TimeRange } from './stream.ts'

/** How a tenant wants a stream to be read. Durations in milliseconds. */
export interface Rhythm {
  readonly everyMs: number
  readonly overlapMs: number
  /** How far back the first reading goes. */
  readonly startMs: number
  readonly pageSize: number
  readonly reconcileEveryMs: number
  readonly reconcileWindowMs: number
  /** From one heartbeat event to the next; 0 or left out: none. */
  readonly heartbeatMs?: number
}

/** Times are Unix seconds by the service's clock. */
export interface PollState extends Lore {
  readonly v: 1
  /** Of the last event. */
  readonly sequence: number
  /** Null: nothing has been read yet. */
  readonly watermark: number | null
  /** When the last complete pass began: the stream is known to be complete up to here. */
  readonly completeAt: number | null
  /** When the last pass that walked the whole overlap began. */
  readonly fullAt: number | null
  readonly reconciledAt: number | null
  /** When a closed range was last found not to be honoured. */
  readonly rangesRefusedAt: number | null
  /** Complete inventories so far. */
  readonly inventories: number
  /** Passes under way. `deep` gives way to `live`: reconciliation, back-fill, a rule stream's inventory. */
  readonly live: Pass | null
  readonly deep: Pass | null
  /** Ranges in the past that are still to be read. */
  readonly holes: readonly Hole[]
  /** The last back-fills that have ended. */
  readonly replays: readonly EndedReplay[]
  /** What is to be declared as not read: somebody has moved the watermark forward. Unix milliseconds. */
  readonly gaps: readonly GapBody[]
  /** When the last heartbeat event was made (Unix milliseconds), and its sequence. */
  readonly heartbeat: { readonly at: number; readonly sequence: number } | null
  /** The most, in seconds, by which a record came late. */
  readonly latest: number
}

/** Why the last turn of a lane failed. One lane's trouble does not keep the other from working. */
export interface Trouble {
  readonly failures: number
  /** Not to be tried again before; Unix milliseconds by Redis' clock. */
  readonly notBefore: number
  readonly code: string
  readonly message: string
}

export const unborn: PollState = {
  v: 1,
  sequence: 0,
  watermark: null,
  completeAt: null,
  fullAt: null,
  reconciledAt: null,
  rangesRefusedAt: null,
  closedRanges: null,
  longestPage: 0,
  inventories: 0,
  live: null,
  deep: null,
  holes: [],
  replays: [],
  gaps: [],
  heartbeat: null,
  latest: 0,
}

/** A closed range that was not honoured is tried again after a day: services are mended. */
const rangesRetrySeconds = 86_400

/** Rejects a state of another form: one that a newer version left behind must not be misread by an older one. */
export function parseState(text: string): PollState {
  if (text === '') return unborn
  const state = JSON.parse(text) as Omit<PollState, 'v'> & { readonly v: number }
  if (state.v === unborn.v) return { ...unborn, ...state, v: unborn.v }
  const words = `the state of the stream is of form ${state.v}, and this version knows form ${unborn.v}: run the version that wrote it`
  throw new TailraceError('state_newer', words)
}

export interface Troubles {
  readonly live?: Trouble
  readonly deep?: Trouble
}

export function parseTroubles(text: string): Troubles {
  return text === '' ? {} : (JSON.parse(text) as Troubles)
}

/** The state of a timeline that has learned the service's clock: live from here on, the rest is a hole. */
export function bornAt(
  state: PollState,
  date: number,
  { stream, rhythm }: { stream: Stream; rhythm: Rhythm },
): PollState {
  const start = date - seconds(rhythm.startMs)
  const overlap = seconds(rhythm.overlapMs)
  const past = stream.ranges && start < date - overlap ? [{ from: start, to: date - overlap }] : []
  const reconciledAt = stream.ranges ? date : null
  // Back-fills may have been asked for before.
  const holes = [...past, ...state.holes]
  return { ...state, watermark: Math.max(start, date - overlap), reconciledAt, holes }
}

/** The pass that a stream should begin now, on its live lane. */
export function beginLive(stream: Stream, rhythm: Rhythm, state: PollState, now: number): Pass {
  const options = { limit: rhythm.pageSize, now }
  if (stream.reading === 'inventory') {
    const replay = state.holes[0]?.replay
    return beginPass('inventory', open, { ...options, fullFrom: 0, keyset: false, replay })
  }
  const watermark = state.watermark ?? 0
  const overlap = seconds(rhythm.overlapMs)
  // A quarter of the overlap between two full walks: what comes late by up to three quarters is caught.
  const fullFrom = state.fullAt === null ? 0 : state.fullAt + overlap / 4
  const range = { from: watermark - overlap, to: null }
  return beginPass('live', range, { ...options, fullFrom, keyset: rangesOf(stream, state) })
}

/** The pass that its deep lane should begin, if any. */
export function beginDeep(stream: Stream, rhythm: Rhythm, state: PollState, now: number): Pass | null {
  const at = state.completeAt
  if (stream.reading === 'inventory' || at === null) return null
  const options = { limit: rhythm.pageSize, fullFrom: 0, now }
  const [hole] = state.holes
  const replay = hole?.replay
  if (hole && stream.ranges) return beginPass('backfill', hole, { ...options, keyset: rangesOf(stream, state), replay })
  const due = state.reconciledAt === null || at - state.reconciledAt >= seconds(rhythm.reconcileEveryMs)
  if (stream.reading === 'both')
    return due || replay || state.inventories === 0
      ? beginPass('inventory', open, { ...options, keyset: false, replay })
      : null
  if (!due) return null
  const range = { from: at - seconds(rhythm.reconcileWindowMs), to: null }
  return beginPass('reconcile', range, { ...options, keyset: rangesOf(stream, state) })
}

/** Marks below this one are of records too old for any pass to meet again. */
export function forgetBelow(rhythm: Rhythm, state: PollState): number {
  const window = Math.max(seconds(rhythm.overlapMs), seconds(rhythm.reconcileWindowMs))
  // An attack may grow until an hour after its last hit.
  return Math.max(0, (state.watermark ?? 0) - window - 7_200)
}

export function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

const open: TimeRange = { from: null, to: null }

function rangesOf(stream: Stream, state: PollState): boolean {
  if (!stream.ranges) return false
  if (state.closedRanges !== false) return true
  return (state.completeAt ?? 0) - (state.rangesRefusedAt ?? 0) > rangesRetrySeconds
}
