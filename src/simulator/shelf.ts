// The records of one client, by identity and, for attacks, in the order of their last hit.

import { identityOf, type Entry, type RecordKind } from './entry.ts'
import { isHistoric } from './history.ts'
import { createTimeline, type Timeline } from './timeline.ts'

export interface Shelf {
  readonly attacks: Timeline<Entry>
  /** Those attacks that the documented incident filter selects. */
  readonly incidents: Timeline<Entry>
  entries(kind: RecordKind): Iterable<Entry>
  count(kind: RecordKind): number
  find(kind: RecordKind, identity: string): Entry | undefined
  put(entry: Entry): void
  take(entry: Entry): void
}

export function createShelf(): Shelf {
  const attacks = createTimeline<Entry>()
  const incidents = createTimeline<Entry>()
  const named: Readonly<Record<RecordKind, Map<string, Entry>>> = {
    attacks: new Map(),
    vulnerabilities: new Map(),
    rules: new Map(),
    conditions: new Map(),
  }
  return {
    attacks,
    incidents,
    entries: (kind) => (kind === 'attacks' ? attacks.items : named[kind].values()),
    count: (kind) => (kind === 'attacks' ? attacks.items.length : named[kind].size),
    find(kind, identity) {
      const known = named[kind].get(identity)
      if (known !== undefined || kind !== 'attacks' || !isHistoric(identity)) return known
      // History is not indexed by name: a million names would cost more than the rare search.
      return attacks.items.find((entry) => entry.record === undefined && identityOf(entry) === identity)
    },
    put(entry) {
      if (entry.record !== undefined) named[entry.kind].set(identityOf(entry), entry)
      if (entry.kind !== 'attacks') return
      attacks.insert(entry)
      if (entry.incident) incidents.insert(entry)
    },
    take(entry) {
      named[entry.kind].delete(identityOf(entry))
      if (entry.kind !== 'attacks') return
      attacks.remove(entry)
      incidents.remove(entry)
    },
  }
}
