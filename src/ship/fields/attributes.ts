// An event as flat named values, for formats that are lists of keys and values. Which key each gets is theirs to say.

import { isIPv4, isIPv6 } from 'node:net'
import type {
  AttackBody,
  AttackSource,
  ConditionBody,
  EventBody,
  GapBody,
  HeartbeatBody,
  Kind,
  RuleBody,
  SecurityEvent,
  VulnerabilityBody,
} from '../../event.ts'
import { attackTypeOf, outcomeOf } from './taxonomy.ts'

/** Null: the event has none. NaN: it has one that makes no sense. */
export type Value = string | number | null

/** What a format's options add. */
export interface Context {
  /** Of the URLs that were requested; empty: not known, so that there are only paths. */
  readonly scheme: string
}

export interface Attribute<Body = never> {
  /** `integer`: fractions are rounded. `time`: Unix milliseconds. */
  readonly type: 'text' | 'integer' | 'time'
  /** Where it comes from, for people. */
  readonly from: string
  readonly read: (body: Body, event: SecurityEvent, context: Context) => Value
}

type Definition<Body> = readonly [type: Attribute['type'], from: string, read: Attribute<Body>['read']]
type Definitions<Body> = Readonly<Record<string, Definition<Body>>>

const common = {
  time: ['time', '`time`', (_, event) => event.time],
  observedTime: ['time', '`observedTime`', (_, event) => event.observedTime],
  eventId: ['text', '`id`', (_, event) => event.id],
  revision: ['integer', '`revision`', (_, event) => event.revision],
  sequence: ['integer', '`sequence`', (_, event) => event.sequence],
  action: ['text', '`action`', (_, event) => event.action],
  tenant: ['text', '`tenant`', (_, event) => event.tenant],
  stream: ['text', '`stream`', (_, event) => event.stream],
  client: ['integer', '`client`', (_, event) => event.client],
  identity: ['text', '`identity`', (_, event) => event.identity],
  replayed: ['text', '`replayed`; only where it is true', (_, event) => (event.replayed ? 'true' : null)],
} as const satisfies Definitions<EventBody>

const attack = {
  type: ['text', '`body.type`', (body) => body.type],
  cwe: ['text', 'CWE of the type', (body) => attackTypeOf(body.type).cwe],
  attackTechnique: ['text', 'ATT&CK technique of the type', (body) => attackTypeOf(body.type).technique?.id ?? null],
  outcome: ['text', 'outcome by `body.blockStatus`', (body) => outcomeOf(body.blockStatus)],
  blockStatus: [
    'text',
    '`body.blockStatus`, unless it is the outcome',
    ({ blockStatus }) => unlessOutcome(blockStatus),
  ],
  hits: ['integer', '`body.hits`', (body) => body.hits],
  firstTime: ['time', '`body.firstTime`', (body) => beginning(body.firstTime, body.lastTime)],
  lastTime: ['time', '`body.lastTime`', (body) => body.lastTime],
  sourceV4: ['text', '`body.sources[0].ip`, IPv4', ({ sources }) => only(sources[0]?.ip, isIPv4)],
  sourceV6: ['text', '`body.sources[0].ip`, IPv6', ({ sources }) => only(sources[0]?.ip, isIPv6)],
  sourceCountry: ['text', '`body.sources[0].country`', (body) => body.sources[0]?.country ?? null],
  sourceCount: ['integer', '`body.sourceCount`', (body) => body.sourceCount],
  statusCodes: ['text', '`body.statusCodes`', (body) => textOfNumbers(body.statusCodes)],
  threat: ['integer', '`body.threat`', (body) => body.threat],
  target: ['text', '`body.target`', (body) => body.target],
  application: ['integer', '`body.application`', (body) => body.application],
  state: ['text', '`body.state`', (body) => body.state],
  vulnerability: ['text', '`body.vulnerability`', ({ vulnerability: id }) => (id === null ? null : String(id))],
  domain: ['text', '`body.domain`', (body) => body.domain],
  method: ['text', '`body.method`', (body) => body.method],
  url: ['text', '`body.path`; with `scheme`, the URL', (body, _, { scheme }) => urlOf(body, scheme)],
  parameter: ['text', '`body.parameter`', (body) => body.parameter],
  sources: [
    'text',
    '`body.sources` as "ip country count", if there are several, or the first is no IP address',
    ({ sources }) => (isPlain(sources) ? null : sources.map(sourceText).join(', ')),
  ],
} as const satisfies Definitions<AttackBody>

const vulnerability = {
  type: ['text', '`body.type`', (body) => body.type],
  cwe: ['text', 'CWE of the type', (body) => attackTypeOf(body.type).cwe],
  status: ['text', '`body.status`', (body) => body.status],
  humanId: ['text', '`body.humanId`', (body) => body.humanId],
  validateTime: ['time', '`body.validateTime`', (body) => body.validateTime],
  invalidateTime: ['time', '`body.invalidateTime`', (body) => body.invalidateTime],
  lastCheck: ['time', '`body.lastCheck`', (body) => body.lastCheck],
  threat: ['integer', '`body.threat`', (body) => body.threat],
  target: ['text', '`body.target`', (body) => body.target],
  domain: ['text', '`body.domain`', (body) => body.domain],
  method: ['text', '`body.method`', (body) => body.method],
  url: ['text', '`body.path`; with `scheme`, the URL', (body, _, { scheme }) => urlOf(body, scheme)],
  parameter: ['text', '`body.parameter`', (body) => body.parameter],
  title: ['text', '`body.title`', (body) => body.title],
  description: ['text', '`body.description`', (body) => body.description],
} as const satisfies Definitions<VulnerabilityBody>

const rule = {
  type: ['text', '`body.type`', (body) => body.type],
  attackType: ['text', '`body.attackType`', (body) => body.attackType],
  condition: ['integer', '`body.condition`', (body) => body.condition],
  validated: ['text', '`body.validated`', (body) => textOfFlag(body.validated)],
  enabled: ['text', '`body.enabled`', (body) => textOfFlag(body.enabled)],
  updatedAt: ['time', '`body.updatedAt`', (body) => body.updatedAt],
  comment: ['text', '`body.comment`', (body) => body.comment],
  point: ['text', '`body.point` as JSON', (body) => textOfList(body.point)],
  conditions: ['text', '`body.action` as JSON', (body) => textOfList(body.action)],
  regex: ['text', '`body.regex`', (body) => body.regex],
} as const satisfies Definitions<RuleBody>

const condition = {
  rules: ['integer', '`body.rules`', (body) => body.rules],
  updatedAt: ['time', '`body.updatedAt`', (body) => body.updatedAt],
  name: ['text', '`body.name`', (body) => body.name],
  conditions: ['text', '`body.conditions` as JSON', (body) => textOfList(body.conditions)],
} as const satisfies Definitions<ConditionBody>

const gap = {
  from: ['time', '`body.from`', (body) => beginning(body.from, body.to)],
  to: ['time', '`body.to`', (body) => body.to],
  reason: ['text', '`body.reason`', (body) => body.reason],
} as const satisfies Definitions<GapBody>

const heartbeat = {
  watermark: ['time', '`body.watermark`', (body) => body.watermark],
  events: ['integer', '`body.events`', (body) => body.events],
  lastSequence: ['integer', '`body.lastSequence`', (body) => body.lastSequence],
} as const satisfies Definitions<HeartbeatBody>

type NameIn<Group> = Extract<keyof Group, string>
export type AttributeName =
  | NameIn<typeof common>
  | NameIn<typeof attack>
  | NameIn<typeof vulnerability>
  | NameIn<typeof rule>
  | NameIn<typeof condition>
  | NameIn<typeof gap>
  | NameIn<typeof heartbeat>

export interface AttributeGroup {
  readonly title: string
  readonly kinds: readonly Kind[]
  readonly attributes: readonly (readonly [AttributeName, Attribute])[]
}

const allKinds: readonly Kind[] = ['attack', 'incident', 'vulnerability', 'rule', 'condition', 'gap', 'heartbeat']

/**
 * In the order in which they are written: what all events have, then what is peculiar to the kind, and what can be long
 * last, for receivers that cut.
 */
export const attributeGroups: readonly AttributeGroup[] = [
  groupOf('every event', allKinds, common),
  groupOf('attacks and incidents', ['attack', 'incident'], attack),
  groupOf('vulnerabilities', ['vulnerability'], vulnerability),
  groupOf('rules', ['rule'], rule),
  groupOf('conditions', ['condition'], condition),
  groupOf('gaps', ['gap'], gap),
  groupOf('heartbeats', ['heartbeat'], heartbeat),
]

function groupOf(title: string, kinds: readonly Kind[], definitions: Definitions<never>): AttributeGroup {
  const attributes = Object.entries(definitions).map(
    ([name, [type, from, read]]) => [name as AttributeName, { type, from, read }] as const,
  )
  return { title, kinds, attributes }
}

function unlessOutcome(blockStatus: string | null): string | null {
  return blockStatus === outcomeOf(blockStatus) ? null : blockStatus
}

/** Where a range begins; no receiver takes one that ends before it begins. */
function beginning(from: number | null, to: number | null): number | null {
  return from !== null && to !== null && from > to ? Number.NaN : from
}

/** IPv6 zones mean nothing elsewhere, and could be any text. */
function only(ip: string | undefined, is: (ip: string) => boolean): string | null {
  return ip !== undefined && is(ip) && !ip.includes('%') ? ip : null
}

/** Whether the attributes of the first source say it all. */
function isPlain(sources: readonly AttackSource[]): boolean {
  const first = sources[0]?.ip
  return sources.length === 0 || (sources.length === 1 && (only(first, isIPv4) ?? only(first, isIPv6)) !== null)
}

function sourceText({ ip, country, count }: AttackSource): string {
  return `${ip} ${country ?? '-'} ${count ?? '-'}`
}

const host = /^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

function urlOf({ domain, path }: AttackBody | VulnerabilityBody, scheme: string): string | null {
  if (scheme === '' || domain === null || path === null) return path
  return path.startsWith('/') && host.test(domain) ? `${scheme}://${domain}${path}` : path
}

function textOfNumbers(numbers: readonly number[]): string | null {
  return numbers.length === 0 ? null : numbers.filter(Number.isFinite).join(',')
}

function textOfList(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list)
}

function textOfFlag(value: boolean | null): string | null {
  return value === null ? null : String(value)
}
