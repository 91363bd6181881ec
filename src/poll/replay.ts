// A back-fill that somebody asked for: what is known already is delivered again, to the destinations that were named.

import type { SecurityEvent } from '../event.ts'
import type { TimeRange } from './stream.ts'

/** As it was asked for. Kept with the hole until it is read. */
export interface Replay {
  readonly id: string
  /** Names: nobody else gets what was delivered before. */
  readonly destinations: readonly string[]
  /** Unix milliseconds. */
  readonly askedAt: number
}

/** A range that is still to be read; without `replay`, the past of a stream's first start. */
export interface Hole extends TimeRange {
  readonly replay?: Replay
}

/** What a pass keeps of the replay that it does. Plain data. */
export interface ReplayWalk extends Replay {
  /** Events delivered again so far. */
  readonly events: number
  /** Ids of the last of them: the next page begins with records of this one. */
  readonly tail: readonly string[]
}

/** One that has ended, for people to look at. */
export interface EndedReplay extends Replay {
  readonly endedAt: number
  readonly events: number
  readonly outcome: 'done' | 'gap'
}

/** What makes a record one to deliver again. */
export interface ReplayTerms {
  readonly range: TimeRange
  /**
   * What is older than this and not known may have been delivered and forgotten since. It counts as delivered:
   * whoever was not named must not get a month of it again.
   */
  readonly forgottenBelow: number
  /** Ids of those that were: by the page before, and by this one so far. */
  readonly sent: Set<string>
}

/** So many ids join two pages; more records than that of one second may be delivered twice. */
const tailMax = 64
const endedMax = 5

export function beginWalk(replay: Replay | undefined): ReplayWalk | null {
  return replay ? { ...replay, events: 0, tail: [] } : null
}

export function termsOf(walk: ReplayWalk | null, range: TimeRange, forgottenBelow: number): ReplayTerms | null {
  return walk && { range, forgottenBelow, sent: new Set(walk.tail) }
}

/** The walk after a page; events come oldest first, and the next page joins at the oldest. */
export function walkOn(walk: ReplayWalk | null, events: readonly SecurityEvent[]): ReplayWalk | null {
  if (!walk || events.length === 0) return walk
  const tail = events.slice(0, tailMax).map(({ id }) => id)
  return { ...walk, events: walk.events + events.length, tail }
}

export function within(time: number, { from, to }: TimeRange): boolean {
  return (from === null || time >= from) && (to === null || time <= to)
}

/** Holes and ended replays once this one has ended. */
export function endReplay(
  state: { readonly holes: readonly Hole[]; readonly replays: readonly EndedReplay[] },
  walk: ReplayWalk,
  now: number,
): { readonly holes: readonly Hole[]; readonly replays: readonly EndedReplay[] } {
  const { tail: _tail, ...replay } = walk
  return {
    holes: state.holes.filter((hole) => hole.replay?.id !== walk.id),
    replays: [...state.replays, { ...replay, endedAt: now, outcome: 'done' as const }].slice(-endedMax),
  }
}
