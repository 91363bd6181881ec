// How a list that changes while one pages through it is read without missing anything.
//
// Both pagers walk a list that is sorted newest first, in windows `[from, to]`, and step through a window
// by offset. A page overlaps the one before it by a few records: if none of those (the seam) is on it,
// something above has vanished and records slipped upwards, past us; then we step back until the seam is
// found. `keyset` lowers `to` to the oldest time seen whenever it can, which no change above can disturb;
// `offsets` cannot, and stays in its one window.

/** What paging needs to know of a record. `time` is the ordering time, Unix seconds. */
export interface Entry {
  readonly identity: string
  readonly time: number
}

/** Where a pass stands in a list. Plain data: it is kept between two turns. */
export interface Cursor {
  /** Upper bound of the window, Unix seconds, inclusive; null: open. */
  readonly to: number | null
  readonly offset: number
  /** The last records of the page before; empty at offset 0. */
  readonly seam: readonly Entry[]
  /** Steps back in search of the seam, since it was last found. */
  readonly backs: number
  /** How often the search went back to the top of the window. */
  readonly restarts: number
}

export type Move =
  | { readonly kind: 'next'; readonly cursor: Cursor }
  /** Nothing lies beyond this page. */
  | { readonly kind: 'end' }
  /** The list changes faster than it can be read. */
  | { readonly kind: 'broken'; readonly reason: string }
  /** The service does not do what this pager needs. */
  | { readonly kind: 'unfit'; readonly reason: string }

export interface Pager {
  readonly name: 'keyset' | 'offsets'
  /** `shortIsEnd`: the page is shorter than one that the service's own highest `limit` could have cut. */
  move(cursor: Cursor, entries: readonly Entry[], shortIsEnd: boolean): Move
}

/** Records by which two pages overlap. Up to this many less one may vanish between them, unnoticed and harmless. */
export const seamLength = 5
const restartsMax = 8

export const top: Cursor = { to: null, offset: 0, seam: [], backs: 0, restarts: 0 }

export const offsets: Pager = {
  name: 'offsets',
  move(cursor, entries, shortIsEnd) {
    if (!seamHolds(cursor, entries)) return stepBack(cursor)
    // A page of nothing but known records is not the end: new ones above may have pushed it down.
    if (entries.length === 0 || shortIsEnd) return { kind: 'end' }
    return { kind: 'next', cursor: stepOn(cursor, entries) }
  },
}

export const keyset: Pager = {
  name: 'keyset',
  move(cursor, entries, shortIsEnd) {
    const { to } = cursor
    if (to !== null && entries.some((entry) => entry.time > to))
      return { kind: 'unfit', reason: 'a record newer than the end of the range came back' }
    if (!seamHolds(cursor, entries)) return stepBack(cursor)
    const last = entries.at(-1)
    if (entries.some((entry, i) => entry.time > (entries[i - 1]?.time ?? Infinity)))
      return { kind: 'unfit', reason: 'the list is not sorted by time' }
    if (last === undefined || shortIsEnd) return { kind: 'end' }
    // One second more than the oldest: whether the service's bound is inclusive is not known.
    const lower = last.time + 1
    if (to === null || lower < to) return { kind: 'next', cursor: { ...top, to: lower, restarts: cursor.restarts } }
    return { kind: 'next', cursor: stepOn(cursor, entries) }
  },
}

export const pagers: Record<Pager['name'], Pager> = { keyset, offsets }

/** Whether the page joins the one before it: nothing can lie between them. */
function seamHolds(cursor: Cursor, entries: readonly Entry[]): boolean {
  if (cursor.offset === 0 || (entries.length === 0 && cursor.seam.length === 0)) return true
  return entries.some(({ identity, time }) => cursor.seam.some((old) => old.identity === identity && old.time === time))
}

function stepOn(cursor: Cursor, entries: readonly Entry[]): Cursor {
  const overlap = Math.min(seamLength, entries.length - 1)
  return {
    to: cursor.to,
    offset: cursor.offset + entries.length - overlap,
    seam: entries.slice(entries.length - overlap),
    backs: 0,
    restarts: cursor.restarts,
  }
}

function stepBack(cursor: Cursor): Move {
  const offset = Math.max(0, cursor.offset - seamLength * 4 ** cursor.backs)
  if (offset > 0) return { kind: 'next', cursor: { ...cursor, offset, backs: cursor.backs + 1 } }
  if (cursor.restarts >= restartsMax)
    return { kind: 'broken', reason: `records vanished between pages ${restartsMax} times` }
  return { kind: 'next', cursor: { ...top, to: cursor.to, restarts: cursor.restarts + 1 } }
}
