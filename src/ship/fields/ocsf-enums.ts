// What our words are in the enumerations of OCSF 1.8.0: a number, and the words that belong to it.

import type { Kind, Level, SecurityEvent, VulnerabilityBody } from '../../event.ts'
import { levelOf } from '../../event.ts'
import type { AttackView, View } from './attack-view.ts'

/** 99 is "Other": its words are ours. */
export interface Enumerated {
  readonly id: number
  readonly name: string
}

export interface EventClass {
  readonly uid: number
  readonly name: string
  readonly category: number
  readonly categoryName: string
}

const findings = { category: 2, categoryName: 'Findings' }
const detection: EventClass = { uid: 2004, name: 'Detection Finding', ...findings }
const weakness: EventClass = { uid: 2002, name: 'Vulnerability Finding', ...findings }
const management: EventClass = {
  uid: 3004,
  name: 'Entity Management',
  category: 3,
  categoryName: 'Identity & Access Management',
}

/**
 * Attacks are aggregates, not single requests, so they are findings and no HTTP Activity (4002). Incidents are
 * Detection Findings with the incident profile: Incident Finding (2005) cannot do without an assignee. Gaps and
 * heartbeats are about the reading of a feed: Entity Management with the activity Read.
 */
export const classes: Readonly<Record<Kind, EventClass>> = {
  attack: detection,
  incident: detection,
  vulnerability: weakness,
  rule: management,
  condition: management,
  gap: management,
  heartbeat: management,
}

const create = { id: 1, name: 'Create' }
const read = { id: 2, name: 'Read' }

/** Findings are created, updated and closed; entities are created, read, updated and deleted. */
export function activityOf({ kind, action }: SecurityEvent): Enumerated {
  if (kind === 'gap' || kind === 'heartbeat') return read
  if (action === 'created') return create
  const isFinding = classes[kind].category === findings.category
  if (action === 'updated') return isFinding ? { id: 2, name: 'Update' } : { id: 3, name: 'Update' }
  return isFinding ? { id: 3, name: 'Close' } : { id: 4, name: 'Delete' }
}

const severities: Readonly<Record<Level, Enumerated>> = {
  informational: { id: 1, name: 'Informational' },
  low: { id: 2, name: 'Low' },
  medium: { id: 3, name: 'Medium' },
  high: { id: 4, name: 'High' },
  critical: { id: 5, name: 'Critical' },
}

export function severityOf({ severity }: SecurityEvent): Enumerated {
  return severities[levelOf(severity)]
}

const fresh = { id: 1, name: 'New' }
const suppressed = { id: 3, name: 'Suppressed' }
const resolved = { id: 4, name: 'Resolved' }

function isOver({ action }: SecurityEvent): boolean {
  return action === 'closed' || action === 'deleted'
}

export function attackStatus({ event, body }: AttackView): Enumerated {
  if (body.state === 'falsepositive') return suppressed
  return isOver(event) ? resolved : fresh
}

export function vulnerabilityStatus({ event, body }: View<VulnerabilityBody>): Enumerated {
  if (body.status === 'falsepositive') return suppressed
  if (isOver(event) || body.status === 'closed') return resolved
  if (body.status === null || body.status === '') return { id: 0, name: 'Unknown' }
  return body.status === 'open' || body.status === 'active' ? fresh : { id: 99, name: body.status }
}

/** Undefined: nobody has judged it. */
export function verdictOf({ body }: AttackView): Enumerated | undefined {
  return body.state === 'falsepositive' ? { id: 1, name: 'False Positive' } : undefined
}

interface Control {
  /** What was done about the requests. */
  readonly action: Enumerated
  /** What became of them. */
  readonly disposition: Enumerated
}

const unknown = { id: 0, name: 'Unknown' }

const blocked: Control = { action: { id: 2, name: 'Denied' }, disposition: { id: 2, name: 'Blocked' } }
const monitored: Control = { action: { id: 3, name: 'Observed' }, disposition: { id: 15, name: 'Detected' } }

/** A block status that is neither is given in the service's own words. */
export function controlOf({ body, outcome }: AttackView): Control {
  if (outcome === 'blocked') return blocked
  if (outcome === 'monitored') return monitored
  const other = body.blockStatus ? { id: 99, name: body.blockStatus } : unknown
  return { action: other, disposition: other }
}

/** RFC 9110 and 5789, as far as OCSF 1.8.0 lists them for `http_method`. */
export const httpMethods: ReadonlySet<string> = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
])
