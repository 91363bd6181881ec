// One event as a row of a Log Analytics table: the columns, and how a row fits the limits of the Logs Ingestion API.
// Limits and reserved names: Azure Monitor, "Logs Ingestion API" and "Service limits" (August 2026).

import { Buffer } from 'node:buffer'
import {
  levelOf,
  type AttackBody,
  type ConditionBody,
  type GapBody,
  type HeartbeatBody,
  type RuleBody,
  type SecurityEvent,
  type VulnerabilityBody,
} from '../../event.ts'
import { cutText } from '../cut-text.ts'
import { isoTime } from '../iso-time.ts'

export type ColumnType = 'datetime' | 'string' | 'long' | 'boolean' | 'dynamic'

export interface SentinelColumn {
  readonly name: string
  readonly type: ColumnType
  readonly doc: string
}

/** No row is longer, whatever is in an event: all of its columns at their longest, and every character escaped. */
export const sentinelRowBytesMax = 950_000

/**
 * A row as JSON. What an event has nothing for is left out. `encoded` goes into the column `Event`: as a value where it
 * is JSON, as text otherwise. What is too long for its column is cut, and the column is named in `CutColumns`.
 */
export function sentinelRow(event: SecurityEvent, encoded: string, encodedIsJson: boolean): string {
  const cut: string[] = []
  const fields: string[] = []
  for (const { name, type, of } of filled) {
    const fitted = columnJson(type, of(event, event.body))
    if (fitted === undefined) continue
    fields.push(`"${name}":${fitted.json}`)
    if (fitted.cut) cut.push(name)
  }
  const whole = Buffer.byteLength(encoded) <= eventBytesMax
  fields.push(`"Event":${whole && encodedIsJson ? encoded : JSON.stringify(cutText(encoded, eventBytesMax))}`)
  if (!whole) cut.push('Event')
  if (cut.length > 0) fields.push(`"CutColumns":"${cut.join(' ')}"`)
  return `{${fields.join(',')}}`
}

/** All that any body has: each is there for the kinds that have it. Attacks and rules differ in `point`. */
type Body = Partial<Omit<AttackBody, 'point'> & VulnerabilityBody & RuleBody & ConditionBody & GapBody & HeartbeatBody>

interface FilledColumn extends SentinelColumn {
  readonly of: (event: SecurityEvent, body: Body) => unknown
}

/** Azure cuts a field at 64 KB, without a word, and what is cut there is no JSON any more. */
const eventBytesMax = 64_000
const textBytesMax = 4096
const listBytesMax = 16_000

const filled: readonly FilledColumn[] = [
  time('TimeGenerated', 'When Tailrace read it. Azure replaces what is older than two days.', (e) => e.observedTime),
  time('EventTime', "When it happened: an attack's last hit, a rule's last change.", (e) => e.time),
  time('ObservedTime', 'When Tailrace read it; Azure leaves this one alone.', (e) => e.observedTime),
  text('EventUid', 'The same each time that this event is sent: drop duplicates by it.', (e) => e.id),
  long('Revision', 'The how-manieth version of its record, from 1.', (e) => e.revision),
  long('Sequence', 'Counts the events of a tenant and stream, from 1, without gaps.', (e) => e.sequence),
  text('Action', 'created, updated, closed, deleted, gap, heartbeat.', (e) => e.action),
  text('Kind', 'attack, incident, vulnerability, rule, condition, gap, heartbeat.', (e) => e.kind),
  long('Severity', '0 to 10.', (e) => e.severity),
  text('SeverityLevel', 'informational, low, medium, high, critical.', (e) => levelOf(e.severity)),
  text('Tenant', 'Name of the tenant in the configuration of Tailrace.', (e) => e.tenant),
  long('Client', 'Client id of the record.', (e) => e.client),
  text('Stream', 'attacks, incidents, vulnerabilities, rules, conditions.', (e) => e.stream),
  text('Identity', "The service's own id of the record: it stays while the record changes.", (e) => e.identity),
  flag('Replayed', 'Read again by a back-fill: old, and maybe delivered before.', (e) => e.replayed),
  dynamic('Labels', 'Labels of the destination.', (e) => e.labels),
  text('EventType', 'Type of the attack, vulnerability or rule, such as sqli.', (_, b) => b.type),
  text('EventTitle', 'Title of a vulnerability, name of a condition.', (_, b) => b.title ?? b.name),
  text('Domain', 'Host that was attacked, or has the vulnerability.', (_, b) => b.domain),
  text('Path', 'Path of the requests.', (_, b) => b.path),
  text('Method', 'HTTP method.', (_, b) => b.method),
  text('Parameter', 'Part of the request that had the payload.', (_, b) => b.parameter),
  text('Target', 'server, client, database and so on.', (_, b) => b.target),
  long('Threat', '1 to 100; larger is worse.', (_, b) => b.threat),
  text('BlockStatus', 'blocked, monitored and so on: an open set.', (_, b) => b.blockStatus),
  text('State', 'State of an attack, status of a vulnerability.', (_, b) => b.state ?? b.status),
  long('Hits', 'Malicious requests so far.', (_, b) => b.hits),
  text('SourceIp', 'The most frequent source address.', (_, b) => b.sources?.[0]?.ip),
  text('SourceCountry', 'Country of that address.', (_, b) => b.sources?.[0]?.country),
  long('SourceCount', 'How many source addresses there are.', (_, b) => b.sourceCount),
  dynamic('Sources', 'The most frequent source addresses: ip, country, count.', (_, b) => b.sources),
  dynamic('StatusCodes', 'HTTP statuses that the application answered with.', (_, b) => b.statusCodes),
  time('FirstTime', 'First hit.', (_, b) => b.firstTime),
  time('LastTime', 'Last hit so far.', (_, b) => b.lastTime),
  long('Application', 'Id of the application.', (_, b) => b.application),
  text('VulnerabilityId', 'Id of the vulnerability behind an incident, or that people use of it.', vulnerabilityId),
  flag('RuleEnabled', 'Whether a rule is in force.', (_, b) => b.enabled),
  time('GapFrom', 'Of a gap: records from here …', (_, b) => b.from),
  time('GapTo', '… to here could not be read.', (_, b) => b.to),
  text('GapReason', "Why, in the service's words.", (_, b) => b.reason),
  time('Watermark', 'Of a heartbeat: how far the stream is known to be complete.', (_, b) => b.watermark),
  long('LastSequence', 'Of a heartbeat: sequence of the event before it.', (_, b) => b.lastSequence),
  long('EventsSince', 'Of a heartbeat: events since the one before.', (_, b) => b.events),
]

/** The table, in its order. What `deploy/siem/sentinel` sets up is checked against it. */
export const sentinelColumns: readonly SentinelColumn[] = [
  ...filled.map(({ name, type, doc }) => ({ name, type, doc })),
  { name: 'Event', type: 'dynamic', doc: 'The whole event in the format of the destination; text where it was cut.' },
  { name: 'CutColumns', type: 'string', doc: 'Names of the columns that were too long and are cut. Empty: none.' },
]

type Read = FilledColumn['of']

function time(name: string, doc: string, of: Read): FilledColumn {
  return { name, type: 'datetime', doc, of }
}

function text(name: string, doc: string, of: Read): FilledColumn {
  return { name, type: 'string', doc, of }
}

function long(name: string, doc: string, of: Read): FilledColumn {
  return { name, type: 'long', doc, of }
}

function flag(name: string, doc: string, of: Read): FilledColumn {
  return { name, type: 'boolean', doc, of }
}

function dynamic(name: string, doc: string, of: Read): FilledColumn {
  return { name, type: 'dynamic', doc, of }
}

function vulnerabilityId(_: SecurityEvent, { vulnerability, humanId }: Body): unknown {
  return humanId ?? (typeof vulnerability === 'number' ? String(vulnerability) : vulnerability)
}

interface Fitted {
  readonly json: string
  readonly cut: boolean
}

/** Undefined: there is nothing to say, or it is not of the column's type. */
function columnJson(type: ColumnType, value: unknown): Fitted | undefined {
  switch (type) {
    case 'datetime': {
      const iso = typeof value === 'number' ? isoTime(value) : undefined
      return iso === undefined ? undefined : { json: `"${iso}"`, cut: false }
    }
    case 'long': {
      const whole = typeof value === 'number' ? Math.trunc(value) : Number.NaN
      return Number.isSafeInteger(whole) ? { json: String(whole), cut: false } : undefined
    }
    case 'boolean':
      return typeof value === 'boolean' ? { json: String(value), cut: false } : undefined
    case 'string': {
      if (typeof value !== 'string' || value === '') return undefined
      const fitting = cutText(value, textBytesMax)
      return { json: JSON.stringify(fitting), cut: fitting.length < value.length }
    }
    case 'dynamic': {
      if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return undefined
      const json = JSON.stringify(value)
      const fitting = cutText(json, listBytesMax)
      return fitting.length === json.length ? { json, cut: false } : { json: JSON.stringify(fitting), cut: true }
    }
  }
}
