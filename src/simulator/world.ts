// Everything the service knows: the records of its clients, and the account of what was ever visible.

import type { ServiceRecord } from '../event.ts'
import { matchesAccount, recordIdentity, recordVersion, type AccountFilter, type AccountRow } from './account.ts'
import {
  createEntry,
  createHistoryEntry,
  recordKinds,
  recordOf,
  rowsOf,
  type Entry,
  type IncidentsMeaning,
  type RecordKind,
} from './entry.ts'
import { mixSeed } from './random.ts'
import { numberOf } from './records.ts'
import { createShelf, type Shelf } from './shelf.ts'

export interface WorldSetup {
  readonly seed: number
  readonly clients: readonly number[]
  readonly incidentsMeans: IncidentsMeaning
  readonly clockSkewSeconds: number
}

export interface History {
  readonly attacks: number
  readonly spanSeconds: number
}

/** The state of the service. Changes are visible, and accounted for, at once. */
export interface World {
  readonly clients: readonly number[]
  /** Grows with every change: what was computed at the same revision still holds. */
  readonly revision: number
  addClient(client: number): void
  /** The record's `clientid` says whose it is. Throws if there is no such client, or the identity is taken. */
  add(kind: RecordKind, record: ServiceRecord): void
  /** Replaces the named keys; undefined removes one. Throws if there is no such record. */
  update(kind: RecordKind, client: number, identity: string, changes: Readonly<Record<string, unknown>>): void
  /** False: there was none. */
  remove(kind: RecordKind, client: number, identity: string): boolean
  get(kind: RecordKind, client: number, identity: string): ServiceRecord | undefined
  records(kind: RecordKind, client: number): ServiceRecord[]
  count(kind: RecordKind, client: number): number
  /** Attacks that are visible from now on, spread evenly over the past. Only where there are none yet. */
  addHistory(client: number, history: History): void
  /** Every version that was ever shown, oldest ends first, then what is visible: as it is at the call. */
  account(filter?: AccountFilter): Iterable<AccountRow>
  /** For ids of the kinds that have a number. */
  nextId(): number
  /** The service's own clock, Unix milliseconds, and in whole seconds. */
  nowMs(): number
  nowSeconds(): number
  /** For the lists. */
  shelf(client: number): Shelf
}

export function createWorld(setup: WorldSetup): World {
  const shelves = new Map<number, Shelf>(setup.clients.map((client) => [client, createShelf()]))
  const state: State = { shelves, past: [], meaning: setup.incidentsMeans, revision: 0, serial: 0 }
  let id = 1000
  const shelf = (client: number): Shelf => shelfOf(state, client)
  const nowMs = (): number => Date.now() + setup.clockSkewSeconds * 1000
  const nowSeconds = (): number => Math.floor(nowMs() / 1000)
  return {
    ...createChanges(state),
    get clients() {
      return [...shelves.keys()]
    },
    get revision() {
      return state.revision
    },
    addClient(client) {
      if (!shelves.has(client)) shelves.set(client, createShelf())
    },
    get(kind, client, identity) {
      const entry = shelves.get(client)?.find(kind, identity)
      return entry && recordOf(entry)
    },
    records: (kind, client) => [...shelf(client).entries(kind)].map(recordOf),
    count: (kind, client) => shelf(client).count(kind),
    addHistory(client, { attacks, spanSeconds }) {
      if (shelf(client).count('attacks') > 0) throw new Error('History comes before anything else.')
      const now = nowSeconds()
      for (let i = 0; i < attacks; i++) {
        const last = now - Math.floor((spanSeconds * (attacks - i)) / attacks)
        const place = { client, serial: state.serial++, seed: mixSeed(setup.seed, i), last }
        shelf(client).put(createHistoryEntry(place, setup.incidentsMeans))
      }
      state.revision++
    },
    account(filter = {}) {
      // Rows and entries never change: a list of them now is the account of now, however slowly it is read.
      const visible: Entry[] = []
      for (const [client, shelved] of shelves) {
        if (filter.client !== undefined && filter.client !== client) continue
        for (const kind of recordKinds) for (const entry of shelved.entries(kind)) visible.push(entry)
      }
      return selectRows(state.past.slice(), visible, filter)
    },
    nextId: () => ++id,
    nowMs,
    nowSeconds,
    shelf,
  }
}

interface State {
  readonly shelves: Map<number, Shelf>
  /** What is visible no more. */
  readonly past: AccountRow[]
  readonly meaning: IncidentsMeaning
  revision: number
  serial: number
}

function shelfOf(state: State, client: number): Shelf {
  const shelf = state.shelves.get(client)
  if (shelf === undefined) throw new Error(`The simulated service has no client ${client}.`)
  return shelf
}

/** What may happen to a record. Only here does anything become visible, or cease to be. */
function createChanges(state: State): Pick<World, 'add' | 'update' | 'remove'> {
  const show = (kind: RecordKind, record: ServiceRecord, serial: number): void => {
    const entry = createEntry(kind, record, serial, state.meaning)
    shelfOf(state, entry.client).put(entry)
    state.revision++
  }
  const hide = (entry: Entry): void => {
    const shownUntil = Date.now()
    for (const row of rowsOf(entry)) state.past.push({ ...row, shownUntil })
    shelfOf(state, entry.client).take(entry)
    state.revision++
  }
  return {
    add(kind, record) {
      const identity = recordIdentity(kind, record)
      if (identity === '') throw new Error('The record cannot be added: it has no identity.')
      const taken = shelfOf(state, numberOf(record['clientid'])).find(kind, identity) !== undefined
      if (taken) throw new Error(`The record cannot be added: "${identity}" exists already.`)
      show(kind, record, state.serial++)
    },
    update(kind, client, identity, changes) {
      const entry = shelfOf(state, client).find(kind, identity)
      if (entry === undefined) throw new Error(`There is no record "${identity}" to update.`)
      const before = recordOf(entry)
      const after = { ...before, ...changes }
      if (recordIdentity(kind, after) !== identity || after['clientid'] !== before['clientid']) {
        throw new Error('An update cannot change whose record it is.')
      }
      if (recordVersion(before) === recordVersion(after)) return
      hide(entry)
      show(kind, after, entry.serial)
    },
    remove(kind, client, identity) {
      const entry = shelfOf(state, client).find(kind, identity)
      if (entry !== undefined) hide(entry)
      return entry !== undefined
    },
  }
}

function* selectRows(
  past: readonly AccountRow[],
  visible: readonly Entry[],
  filter: AccountFilter,
): Generator<AccountRow> {
  for (const row of past) if (matchesAccount(row, filter)) yield row
  for (const entry of visible) {
    for (const row of rowsOf(entry)) if (matchesAccount(row, filter)) yield row
  }
}
