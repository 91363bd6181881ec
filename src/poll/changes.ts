// From the records of a page to events: what is new is decided by identity and version, not by time.

import type { Action, EventBody, SecurityEvent, ServiceRecord, SeverityBorders, StreamName } from '../event.ts'
import { eventId, identityKey, recordTexts } from './digest.ts'
import type { Entry } from './pager.ts'
import { within } from './replay.ts'
import type { ReplayTerms } from './replay.ts'
import type { Stream } from './stream.ts'

/** What is known of an identity. `version` and `identity` are digests; see digest.ts. */
export interface Known {
  readonly version: string
  readonly revision: number
  readonly closed: boolean
  readonly mark: number
}

export interface KnownChange extends Known {
  readonly identity: string
}

/** A record with all that is asked of it more than once. */
export interface ReadRecord {
  readonly record: ServiceRecord
  readonly identity: string
  readonly key: string
  readonly version: string
  readonly json: string
  /** Ordering time, Unix seconds. */
  readonly time: number
}

export interface Reader {
  readonly stream: Stream
  read(records: readonly ServiceRecord[], date: number): ReadRecord[]
}

export interface Changes {
  readonly events: readonly SecurityEvent[]
  /** Delivered before, and now again; oldest first. They have no sequence of their own: that of the latest event. */
  readonly replayed: readonly SecurityEvent[]
  readonly seen: readonly KnownChange[]
  /** Inventories: what is kept of each changed record, for the day on which it has gone. */
  readonly last: readonly (readonly [identity: string, record: Buffer | null])[]
  readonly counts: {
    readonly created: number
    readonly updated: number
    readonly closed: number
    readonly known: number
  }
  /** Ordering times of the records that were met for the first time. */
  readonly createdTimes: readonly number[]
}

export interface ChangeContext {
  readonly tenant: string
  readonly reader: Reader
  readonly borders: SeverityBorders
  /** Of the last event so far. */
  readonly sequence: number
  readonly observedTime: number
  /** Null: a timeline, marked by time. */
  readonly inventory: number | null
  /** Absent or null: nothing is delivered again. */
  readonly replay?: ReplayTerms | null
}

/** What is kept of a record for its last event. */
interface LastRecord {
  readonly identity: string
  readonly record: ServiceRecord
}

const lastBytesMax = 16_384

export function createReader(stream: Stream): Reader {
  const textOf = recordTexts(stream.keys)
  return {
    stream,
    read(records, date) {
      let before = date
      return records.map((record) => {
        const { version, json } = textOf(record)
        // A record without an id of its own is still delivered: its content is its identity then.
        const identity = stream.identity(record) ?? `content:${Buffer.from(version, 'latin1').toString('hex')}`
        const time = stream.time(record) ?? before
        before = time
        return { record, identity, key: identityKey(identity), version, json, time }
      })
    },
  }
}

export function entriesOf(records: readonly ReadRecord[], timeless: boolean): Entry[] {
  return records.map(({ identity, time }) => ({ identity, time: timeless ? 0 : time }))
}

/** Compares a page, newest first, with what is known of it; events come oldest first. */
export function changesOf(
  records: readonly ReadRecord[],
  known: readonly (Known | undefined)[],
  context: ChangeContext,
): Changes {
  const { stream } = context.reader
  const now = new Map<string, Known>()
  const events: SecurityEvent[] = []
  const last: [string, Buffer | null][] = []
  const createdTimes: number[] = []
  const replayed: SecurityEvent[] = []
  const counts = { created: 0, updated: 0, closed: 0, known: 0 }
  for (let i = records.length - 1; i >= 0; i--) {
    const read = records[i]
    if (!read) continue
    const before = now.get(read.key) ?? known[i]
    const mark = context.inventory ?? Math.min(read.time, context.observedTime / 1000 + 86_400)
    const action = actionOf(before, read.version)
    if (action === null && before) {
      counts.known += 1
      if (before.mark !== mark) now.set(read.key, { ...before, mark })
      replay(read, before.revision, replayed, context)
      continue
    }
    if (!before && isForgotten(read, context)) {
      counts.known += 1
      replay(read, 1, replayed, context)
      continue
    }
    const revision = (before?.revision ?? 0) + 1
    now.set(read.key, { version: read.version, revision, closed: false, mark })
    const created = action === 'created'
    counts[created ? 'created' : 'updated'] += 1
    if (created) createdTimes.push(read.time)
    events.push(eventOf(read, { action: action ?? 'updated', revision, nth: events.length + 1 }, context))
    if (stream.reading !== 'timeline') last.push([read.key, lastOf(read)])
  }
  return {
    events,
    replayed,
    seen: [...now].map(([identity, seen]) => ({ identity, ...seen })),
    last,
    counts,
    createdTimes,
  }
}

/** Events for identities that have gone from an inventory. */
export function goneOf(
  missing: readonly (KnownChange & { readonly last: Buffer })[],
  context: ChangeContext,
): Pick<Changes, 'events' | 'seen' | 'last'> {
  const { stream } = context.reader
  const events: SecurityEvent[] = []
  const seen: KnownChange[] = []
  for (const gone of missing) {
    const revision = gone.revision + 1
    const { identity, record } = parseLast(gone)
    const read = { record, identity, key: gone.identity, version: gone.version, json: JSON.stringify(record) }
    const time = context.observedTime / 1000
    events.push(eventOf({ ...read, time }, { action: stream.gone, revision, nth: events.length + 1 }, context))
    // A tombstone: should it come back as it was, that is a new revision, not one that was seen.
    seen.push({ ...gone, revision, closed: true, mark: context.inventory ?? gone.mark })
  }
  return { events, seen, last: missing.map(({ identity }) => [identity, null] as const) }
}

/** An event about the stream itself. */
export function streamEvent(
  what: { readonly action: 'gap' | 'heartbeat'; readonly body: EventBody; readonly severity: number },
  context: ChangeContext,
): SecurityEvent {
  const { name } = context.reader.stream
  const sequence = context.sequence + 1
  const stream = `${context.tenant}/${name}`
  return {
    id: eventId(stream, what.action, sequence, JSON.stringify(what.body)),
    revision: 1,
    sequence,
    action: what.action,
    kind: what.action,
    time: context.observedTime,
    observedTime: context.observedTime,
    tenant: context.tenant,
    client: null,
    stream: name,
    identity: `${what.action}:${sequence}`,
    severity: what.severity,
    replayed: false,
    labels: noLabels,
    body: what.body,
    record: {},
    recordJson: '{}',
  }
}

/** With the revision and version that it had, and so with its id. */
function replay(read: ReadRecord, revision: number, replayed: SecurityEvent[], context: ChangeContext): void {
  const terms = context.replay
  if (!terms || !within(read.time, terms.range)) return
  const event = eventOf(read, { action: revision === 1 ? 'created' : 'updated', revision, nth: 0 }, context)
  if (terms.sent.has(event.id)) return
  terms.sent.add(event.id)
  replayed.push({ ...event, replayed: true })
}

function isForgotten(read: ReadRecord, { replay: terms, inventory }: ChangeContext): boolean {
  return terms != null && inventory === null && read.time < terms.forgottenBelow && within(read.time, terms.range)
}

function actionOf(before: Known | undefined, version: string): 'created' | 'updated' | null {
  if (!before || before.closed) return 'created'
  return before.version === version ? null : 'updated'
}

function eventOf(
  read: ReadRecord,
  what: { readonly action: Action; readonly revision: number; readonly nth: number },
  context: ChangeContext,
): SecurityEvent {
  const { stream } = context.reader
  return {
    id: eventId(`${context.tenant}/${stream.name}`, read.identity, what.revision, read.version),
    revision: what.revision,
    sequence: context.sequence + what.nth,
    action: what.action,
    kind: stream.kind,
    time: Math.round(read.time * 1000),
    observedTime: context.observedTime,
    tenant: context.tenant,
    client: stream.client(read.record),
    stream: stream.name satisfies StreamName,
    identity: read.identity,
    severity: severityOf(stream, read.record, context.borders),
    replayed: false,
    labels: noLabels,
    body: stream.body(read.record),
    record: read.record,
    recordJson: read.json,
  }
}

/** Labels are the destination's: an event is made without any. */
const noLabels: SecurityEvent['labels'] = {}

/** What the service gives no threat counts as medium where it is about an attack, else as informational. */
function severityOf(stream: Stream, record: ServiceRecord, borders: SeverityBorders): number {
  const threat = stream.threat(record)
  if (threat === null) return stream.kind === 'rule' || stream.kind === 'condition' ? 0 : 5
  return severityOfThreat(threat, borders)
}

/** From 1 to 100 to 0 to 10, so that the borders of the levels (event.ts) are where the tenant wants them. */
export function severityOfThreat(threat: number, { medium, high, critical }: SeverityBorders): number {
  if (threat <= 0) return 0
  if (threat < medium) return 1 + share(threat, 0, medium, 3)
  if (threat < high) return 4 + share(threat, medium, high, 3)
  if (threat < critical) return 7 + share(threat, high, critical, 2)
  return 9 + share(Math.min(threat, 100), critical, 101, 2)
}

/** Which of so many equal parts of [from, to) it is in, from 0. */
function share(value: number, from: number, to: number, parts: number): number {
  return Math.min(parts - 1, Math.floor(((value - from) / (to - from)) * parts))
}

function lastOf(read: ReadRecord): Buffer {
  const whole: LastRecord = { identity: read.identity, record: read.record }
  const text = JSON.stringify(whole)
  if (text.length <= lastBytesMax) return Buffer.from(text)
  const short = Object.entries(read.record).filter(([, value]) => (JSON.stringify(value) ?? '').length <= 256)
  return Buffer.from(JSON.stringify({ identity: read.identity, record: Object.fromEntries(short) }))
}

function parseLast(gone: KnownChange & { readonly last: Buffer }): LastRecord {
  if (gone.last.length === 0)
    return { identity: `digest:${Buffer.from(gone.identity, 'latin1').toString('hex')}`, record: {} }
  return JSON.parse(gone.last.toString()) as LastRecord
}
