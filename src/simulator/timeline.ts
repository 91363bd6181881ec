// Attacks of one client in the order of their last hit, as one sorted array: a million of them can be
// paged through without sorting, and what changes is nearly always at the end.

export interface Timed {
  readonly serial: number
  readonly last: number
}

export interface Timeline<T extends Timed> {
  /** Ascending by last hit, then by serial. Do not change. */
  readonly items: readonly T[]
  insert(item: T): void
  /** By its place: call before `last` is changed. */
  remove(item: T): void
  /** The half-open span of positions with from <= last <= to. */
  span(from: number, to: number): { readonly start: number; readonly end: number }
}

export function createTimeline<T extends Timed>(): Timeline<T> {
  const items: T[] = []
  // The first position whose item is not before (last, serial).
  const position = (last: number, serial: number): number => {
    let low = 0
    let high = items.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const item = items[middle]
      const before = item !== undefined && (item.last < last || (item.last === last && item.serial < serial))
      if (before) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    items,
    insert(item) {
      const at = position(item.last, item.serial)
      if (at === items.length) items.push(item)
      else items.splice(at, 0, item)
    },
    remove(item) {
      const at = position(item.last, item.serial)
      if (items[at] === item) items.splice(at, 1)
    },
    span: (from, to) => ({ start: position(from, -1), end: position(to, Number.POSITIVE_INFINITY) }),
  }
}
