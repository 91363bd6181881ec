// A record as the lists hold it. It is replaced when the record changes, never changed itself.

import type { ServiceRecord, StreamName } from '../event.ts'
import { recordIdentity, recordVersion, type AccountRow } from './account.ts'
import { traceFacts, traceIdentity, traceRecord } from './history.ts'
import { numberOf } from './records.ts'

/** The lists of the service. Incidents are attacks, seen through a filter. */
export type RecordKind = Exclude<StreamName, 'incidents'>

export const recordKinds: readonly RecordKind[] = ['attacks', 'vulnerabilities', 'rules', 'conditions']

/** Whether the documented incident filter selects attacks without, or with, a vulnerability. */
export type IncidentsMeaning = 'withoutVulnerability' | 'withVulnerability'

export interface Entry {
  readonly kind: RecordKind
  readonly client: number
  /** Stays when the record changes. */
  readonly serial: number
  /** undefined: one of the history, made anew from `seed` each time. */
  readonly record: ServiceRecord | undefined
  readonly seed: number
  /** What attacks are sorted and selected by. */
  readonly first: number
  readonly last: number
  readonly hits: number
  readonly incident: boolean
  /** Unix milliseconds. */
  readonly shownFrom: number
  /** The content as JSON, cached. */
  text: string | undefined
}

/** An entry for a record that is shown from now on. */
export function createEntry(kind: RecordKind, record: ServiceRecord, serial: number, meaning: IncidentsMeaning): Entry {
  const unknown = (record['vulnid'] ?? null) === null
  return {
    kind,
    client: numberOf(record['clientid']),
    serial,
    record,
    seed: 0,
    first: numberOf(record['first_time']),
    last: numberOf(record['last_time']),
    hits: numberOf(record['hits']),
    incident: unknown === (meaning === 'withoutVulnerability'),
    shownFrom: Date.now(),
    text: undefined,
  }
}

/** An attack of the past, of which only the seed is kept: there may be a million. */
export function createHistoryEntry(
  place: Pick<Entry, 'client' | 'serial' | 'seed' | 'last'>,
  meaning: IncidentsMeaning,
): Entry {
  const { client, serial, seed, last } = place
  const { hits, vulnerable } = traceFacts(client, seed)
  return {
    kind: 'attacks',
    client,
    serial,
    record: undefined,
    seed,
    first: last - (seed % 1800),
    last,
    hits,
    incident: vulnerable === (meaning === 'withVulnerability'),
    shownFrom: Date.now(),
    text: undefined,
  }
}

export function recordOf(entry: Entry): ServiceRecord {
  return entry.record ?? traceRecord(entry)
}

export function identityOf(entry: Entry): string {
  return entry.record === undefined ? traceIdentity(entry) : recordIdentity(entry.kind, entry.record)
}

/** One row for each stream whose documented query shows the entry. */
export function rowsOf(entry: Entry): AccountRow[] {
  const record = recordOf(entry)
  const streams = streamsShowing(entry, record)
  if (streams.length === 0) return []
  const identity = recordIdentity(entry.kind, record)
  const shared = { client: entry.client, identity, version: recordVersion(record), shownFrom: entry.shownFrom }
  return streams.map((stream) => ({ stream, ...shared, shownUntil: null }))
}

function streamsShowing(entry: Entry, record: ServiceRecord): StreamName[] {
  if (entry.kind === 'attacks') return entry.incident ? ['attacks', 'incidents'] : ['attacks']
  if (entry.kind !== 'vulnerabilities') return [entry.kind]
  // "Active" is what the documented query asks for: validated, and not tied to a test run.
  const active = record['validated'] === true && (record['testrun_id'] ?? null) === null
  return active ? ['vulnerabilities'] : []
}
