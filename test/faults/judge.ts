// Holds what arrived against what the service has shown.

import { recordVersion } from '../../src/simulator/account.ts'
import type { AccountRow } from '../../src/simulator/account.ts'
import type { Arrived } from './receiver.ts'

/** A time in which confirmations could not be recorded, or were forgotten. Unix ms. */
export interface Doubt {
  readonly from: number
  readonly until: number
  readonly why: string
}

export const rolledBack = 'Redis rolled back'

export interface Verdict {
  /** Versions that had to arrive. */
  readonly due: number
  readonly lost: readonly AccountRow[]
  /** Events of versions that were never shown. */
  readonly invented: readonly Arrived[]
  readonly events: number
  /** Further deliveries of an event. */
  readonly duplicates: number
  /** Those among them whose earlier deliveries were all confirmed beyond doubt. */
  readonly unexplained: readonly Arrived[]
  /** Vulnerabilities, rules and conditions that went, and of which no event says so. */
  readonly notClosed: readonly string[]
}

export interface Case {
  readonly account: readonly AccountRow[]
  readonly arrived: readonly Arrived[]
  readonly doubts: readonly Doubt[]
  /** A version must arrive that was shown for so long, or still is; ms. */
  readonly shownMs: number
  /** For this long must an identity have been gone for its end to be due; ms. */
  readonly goneMs: number
  readonly now: number
}

export function judge({ account, arrived, doubts, shownMs, goneMs, now }: Case): Verdict {
  const read = new Set(arrived.filter(isOfRecord).map(nameOf))
  const shown = new Set(account.map(rowName))
  const due = account.filter((row) => (row.shownUntil ?? Infinity) - row.shownFrom >= shownMs)
  const repeated = arrived.filter((event) => event.deliveries.length > 1)
  const ends = new Set(
    arrived.filter(({ action }) => action === 'closed' || action === 'deleted').map((e) => `${e.stream} ${e.identity}`),
  )
  return {
    due: due.length,
    lost: due.filter((row) => !read.has(rowName(row))),
    invented: arrived.filter((event) => isOfRecord(event) && !shown.has(nameOf(event))),
    events: arrived.length,
    duplicates: repeated.reduce((sum, event) => sum + event.deliveries.length - 1, 0),
    unexplained: repeated.filter((event) => !isExplained(event, doubts)),
    notClosed: gone(account, now - goneMs).filter((name) => !ends.has(name) && wasRead(name, arrived, doubts)),
  }
}

function isOfRecord({ action }: Arrived): boolean {
  return action === 'created' || action === 'updated'
}

function nameOf(event: Arrived): string {
  return `${event.stream} ${event.identity} ${recordVersion(event.record)}`
}

function rowName(row: AccountRow): string {
  return `${row.stream} ${row.identity} ${row.version}`
}

/** A duplicate is explained where no delivery but the last was confirmed beyond doubt. */
function isExplained(event: Arrived, doubts: readonly Doubt[]): boolean {
  return event.deliveries.slice(0, -1).every(({ at, link }) => {
    const { confirmedAt } = link
    if (confirmedAt === null) return true
    return doubts.some((doubt) => at <= doubt.until && confirmedAt >= doubt.from)
  })
}

/** Identities of inventories of which no version has been shown since. */
function gone(account: readonly AccountRow[], since: number): string[] {
  const latest = new Map<string, number>()
  for (const row of account) {
    if (row.stream === 'attacks' || row.stream === 'incidents') continue
    const name = `${row.stream} ${row.identity}`
    latest.set(name, Math.max(latest.get(name) ?? 0, row.shownUntil ?? Infinity))
  }
  return [...latest].filter(([, until]) => until < since).map(([name]) => name)
}

/** What was read only in a time that Redis has forgotten is not known to have been there. */
function wasRead(name: string, arrived: readonly Arrived[], doubts: readonly Doubt[]): boolean {
  const forgotten = doubts.filter(({ why }) => why === rolledBack)
  return arrived
    .filter((event) => `${event.stream} ${event.identity}` === name)
    .some(({ deliveries }) => deliveries.some(({ at }) => !forgotten.some((d) => at >= d.from && at <= d.until)))
}
