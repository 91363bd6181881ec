// One walk through the pages of a stream: pure, so that a model can play it against any list.

import { randomBytes } from 'node:crypto'
import { pagers, top } from './pager.ts'
import type { Cursor, Entry, Pager } from './pager.ts'
import { beginWalk } from './replay.ts'
import type { Replay, ReplayWalk } from './replay.ts'

/**
 * - `live`: from the watermark less the overlap; moves the watermark
 * - `reconcile`: the same over a longer window, for what came later than the overlap allows
 * - `backfill`: a range in the past
 * - `inventory`: the whole set
 */
export type Purpose = 'live' | 'reconcile' | 'backfill' | 'inventory'

/** A pass between two of its pages. Times are Unix seconds by the service's clock. Plain data. */
export interface Pass {
  readonly id: string
  /** Pages committed so far. */
  readonly step: number
  readonly purpose: Purpose
  readonly from: number | null
  readonly to: number | null
  /**
   * To be walked to its end where it begins at or after this moment: then it may neither stop at known
   * records nor trust earlier page lengths. 0: in any case.
   */
  readonly fullFrom: number
  readonly pager: Pager['name']
  readonly cursor: Cursor
  readonly limit: number
  /** When the first page was answered. */
  readonly start: number | null
  readonly newest: number | null
  readonly oldest: number | null
  readonly records: number
  /** Records of its longest page. */
  readonly longest: number
  /** Bytes of its last page. */
  readonly bytes: number
  /** An inventory's second half: looking for what is missing. The scan's cursor. */
  readonly missing: string | null
  /** What it delivers again. Undefined in a pass that an earlier version has begun. */
  readonly replay?: ReplayWalk | null
  /** Unix milliseconds by Redis' clock, for the duration only. */
  readonly begunAt: number
}

export interface PassPage {
  readonly entries: readonly Entry[]
  /** Every record of the page was known in this version. */
  readonly allKnown: boolean
  /** The service's clock when it answered, Unix seconds. */
  readonly date: number
  readonly bytes: number
}

export type Outcome =
  | { readonly kind: 'next'; readonly pass: Pass }
  | { readonly kind: 'complete'; readonly pass: Pass; readonly early: boolean }
  | { readonly kind: 'broken'; readonly reason: string }

/** What earlier passes taught about the list. */
export interface Lore {
  /** Whether a closed range is honoured; null: not tried yet. */
  readonly closedRanges: boolean | null
  /** The longest page ever seen: the service's highest `limit` is not below it. */
  readonly longestPage: number
}

export function beginPass(
  purpose: Purpose,
  range: { readonly from: number | null; readonly to: number | null },
  options: {
    readonly fullFrom: number
    readonly limit: number
    readonly keyset: boolean
    readonly now: number
    readonly replay?: Replay | undefined
  },
): Pass {
  const pager = options.keyset ? 'keyset' : 'offsets'
  return {
    id: randomBytes(6).toString('base64url'),
    step: 0,
    purpose,
    from: range.from,
    to: range.to,
    fullFrom: options.fullFrom,
    pager,
    cursor: { ...top, to: pager === 'keyset' ? range.to : null },
    limit: options.limit,
    start: null,
    newest: null,
    oldest: null,
    records: 0,
    longest: 0,
    bytes: 0,
    missing: null,
    replay: beginWalk(options.replay),
    begunAt: options.now,
  }
}

/** Takes a page into the pass and says where to go on. */
export function advance(pass: Pass, page: PassPage, lore: Lore): Outcome {
  const taken = take(pass, page)
  const { entries } = page
  const full = isFull(taken) || !isSorted(entries)
  if (!full && page.allKnown && entries.length > 0) return { kind: 'complete', pass: taken, early: true }
  const last = entries.at(-1)
  if (pass.from !== null && last !== undefined && last.time < pass.from)
    return { kind: 'complete', pass: taken, early: false }
  const longest = Math.max(pass.longest, full ? 0 : lore.longestPage)
  const move = pagers[pass.pager].move(pass.cursor, entries, entries.length < longest)
  switch (move.kind) {
    case 'end':
      return { kind: 'complete', pass: taken, early: false }
    case 'next':
      return { kind: 'next', pass: { ...taken, cursor: move.cursor } }
    case 'broken':
      return { kind: 'broken', reason: move.reason }
    case 'unfit':
      return { kind: 'next', pass: withoutRanges(taken) }
  }
}

/** Whether the pass has to be, or was, walked to its end. */
export function isFull(pass: Pass): boolean {
  return (pass.start ?? 0) >= pass.fullFrom
}

/** Newest first, as was asked for; where it is not, the end of a page says nothing about what follows. */
function isSorted(entries: readonly Entry[]): boolean {
  return entries.every((entry, i) => i === 0 || entry.time <= (entries[i - 1]?.time ?? Infinity))
}

/** The same pass, begun again from the top with offsets: the service does not honour closed ranges. */
export function withoutRanges(pass: Pass): Pass {
  return { ...pass, pager: 'offsets', cursor: top, longest: 0 }
}

/** The same pass with smaller pages; their lengths say nothing about those before. */
export function withLimit(pass: Pass, limit: number): Pass {
  return { ...pass, limit, longest: 0 }
}

/**
 * How far a stream is complete after a live pass, Unix seconds: to its start, or only to the newest record
 * seen, in case the service's own index lags. Never less than before.
 */
export function watermarkAfter(pass: Pass, before: number): number {
  if (pass.start === null || pass.newest === null) return before
  return Math.max(before, Math.min(pass.start, pass.newest))
}

function take(pass: Pass, page: PassPage): Pass {
  const times = page.entries.map((entry) => entry.time)
  return {
    ...pass,
    step: pass.step + 1,
    start: pass.start ?? page.date,
    newest: extreme(Math.max, pass.newest, times),
    oldest: extreme(Math.min, pass.oldest, times),
    records: pass.records + page.entries.length,
    longest: Math.max(pass.longest, page.entries.length),
    bytes: page.bytes,
  }
}

function extreme(choose: (...of: number[]) => number, before: number | null, times: number[]): number | null {
  if (times.length === 0) return before
  const now = times.reduce((a, b) => choose(a, b))
  return before === null ? now : choose(before, now)
}
