// One event as one line of JSON, assembled by hand: the constant parts are constants, the record is copied as it came.

import type {
  AttackBody,
  ConditionBody,
  GapBody,
  HeartbeatBody,
  RuleBody,
  SecurityEvent,
  VulnerabilityBody,
} from '../../event.ts'
import { defineFormat } from '../format.ts'
import { isoTime } from '../iso-time.ts'

export const json = defineFormat<object>({
  name: 'json',
  summary: 'The event with its normalized body and the record as it came: one line of JSON.',
  contentType: 'application/x-ndjson',
  options: {},
  mapping: [],
  compile: () => encode,
})

function encode(event: SecurityEvent): string {
  return inOneLine(
    `{"id":${quote(event.id)},"revision":${number(event.revision)},"sequence":${number(event.sequence)}` +
      `,"action":"${event.action}","kind":"${event.kind}"` +
      `,"time":${time(event.time)},"observedTime":${time(event.observedTime)}` +
      `,"tenant":${quote(event.tenant)},"client":${number(event.client)},"stream":"${event.stream}"` +
      `,"identity":${quote(event.identity)},"severity":${number(event.severity)}` +
      `,"replayed":${event.replayed},"labels":${JSON.stringify(event.labels)}` +
      `,"body":${JSON.stringify(event.body)},"record":${event.recordJson}}`,
  )
}

// What RFC 8259 section 7 wants escaped, and surrogates, which are looked at by JSON.stringify (it escapes lone ones).
// oxlint-disable-next-line no-control-regex
const special = /["\\\u0000-\u001f\ud800-\udfff]/

function quote(text: string): string {
  return special.test(text) ? JSON.stringify(text) : `"${text}"`
}

/** JSON has no NaN and no infinity. */
function number(value: number | null): number | null {
  return Number.isFinite(value) ? value : null
}

function time(unixMs: number): string {
  const text = isoTime(unixMs)
  return text === undefined ? 'null' : `"${text}"`
}

/**
 * JSON may contain line breaks that some readers of lines break at: CR and LF between tokens, and NEL, U+2028 and
 * U+2029 inside strings. Lone surrogates have no UTF-8 form. Looking is cheap (single-character searches), and
 * nearly always finds nothing.
 */
function inOneLine(text: string): string {
  let line = text
  if (line.includes('\n') || line.includes('\r')) line = line.replaceAll(/[\n\r]/g, ' ')
  if (line.includes('\u0085') || line.includes('\u2028') || line.includes('\u2029')) {
    line = line.replaceAll(/[\u0085\u2028\u2029]/g, escaped)
  }
  return line.isWellFormed() ? line : line.replaceAll(/\p{Surrogate}/gu, escaped)
}

function escaped(character: string): string {
  return String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** What a field has, for the reference: the type in words, and the meaning. */
type FieldDoc = readonly [type: string, doc: string]
type FieldDocs<T> = Readonly<Record<keyof T, FieldDoc>>

/** The fields of an event, in their order. */
export const jsonFields = {
  id: ['text', '22 characters; the same each time that this event is sent. What drops duplicates goes by it.'],
  revision: ['number', 'The how-manieth version of its record this is, from 1.'],
  sequence: [
    'number',
    'Counts the events of a tenant and stream, from 1, without gaps. Events may arrive in another order. A replayed event that was known has that of the latest event of its stream.',
  ],
  action: [
    'text',
    '`created`, `updated`; `closed` (vulnerabilities) or `deleted` (rules, conditions): it is no longer listed; `gap`: records could not be read; `heartbeat`: the stream is alive. What returns after its end is `created`, with a higher revision.',
  ],
  kind: [
    'text',
    '`attack`, `incident`, `vulnerability`, `rule`, `condition`, `gap`, `heartbeat`: says what `body` has.',
  ],
  time: [
    'time or null',
    'When it happened: the last hit of an attack, the last change of a rule or condition, the validation of a vulnerability. Of `closed`, `deleted` and `gap`: when it was found.',
  ],
  observedTime: ['time', 'When Tailrace read it, by the clock of its Redis.'],
  tenant: ['text', 'The name of the tenant in the configuration.'],
  client: ['number or null', 'The client id that the record has.'],
  stream: ['text', 'Where it was read: `attacks`, `incidents`, `vulnerabilities`, `rules`, `conditions`.'],
  identity: [
    'text',
    "The service's own id of the record: it stays while the record changes. Of a record without one, a digest of its content.",
  ],
  severity: [
    'number',
    "0 to 10, from the threat by the tenant's borders: 0 informational, 1 to 3 low, 4 to 6 medium, 7 and 8 high, 9 and 10 critical. Without a threat 5; of rules, conditions and heartbeats 0, of a gap 7.",
  ],
  replayed: ['true or false', 'Whether a back-fill has read it again: old, and maybe delivered before.'],
  labels: ['object of text', 'The labels of the destination.'],
  body: ['object', 'The record in words of our own; see below.'],
  record: [
    'object',
    'The record as the service returned it, with every key of it. Of `closed` and `deleted` the last one known; where that was longer than 16 KB, without its long values. Of a gap empty.',
  ],
} as const satisfies FieldDocs<Omit<SecurityEvent, 'recordJson'>>

const attackFields = {
  type: ['text', 'Type of the attack, such as `sqli`. An open set.'],
  domain: ['text', 'Host that was attacked.'],
  path: ['text', 'Path of the requests; `[multiple]` where there were several.'],
  method: ['text', 'HTTP method.'],
  parameter: ['text', 'Name of the part of the request that had the payload.'],
  point: ['list of text', 'The same, step by step.'],
  target: ['text', '`server`, `client`, `database` …'],
  threat: ['number', '1 to 100; larger is worse.'],
  blockStatus: ['text', '`blocked`, `monitored` … An open set.'],
  state: ['text', '`falsepositive` …'],
  hits: ['number', 'Malicious requests so far.'],
  sourceCount: ['number', 'Addresses that they came from.'],
  sources: [
    'list',
    'The most frequent of them: `ip` (text), `country` (text or null), `count` (hits, number or null).',
  ],
  statusCodes: ['list of numbers', 'HTTP statuses that the application answered with.'],
  firstTime: ['Unix ms', 'First hit.'],
  lastTime: ['Unix ms', 'Last hit so far.'],
  application: ['number', 'Id of the application.'],
  vulnerability: ['number or text', 'Id of the vulnerability behind it.'],
} as const satisfies FieldDocs<AttackBody>

const vulnerabilityFields = {
  humanId: ['text', 'The id that people use.'],
  status: ['text', '`open`, `closed`, `falsepositive` … as the service last said.'],
  type: ['text', 'Type, such as `xss`. An open set.'],
  title: ['text', 'One line about it.'],
  description: ['text', 'More about it.'],
  domain: ['text', 'Host that has it.'],
  path: ['text', 'Where on that host.'],
  method: ['text', 'HTTP method.'],
  parameter: ['text', 'Part of the request.'],
  target: ['text', '`server`, `client`, `database` …'],
  threat: ['number', '1 to 100; larger is worse.'],
  validateTime: ['Unix ms', 'When it was confirmed.'],
  invalidateTime: ['Unix ms', 'When it was found not to be there any more.'],
  lastCheck: ['Unix ms', 'When it was last looked at.'],
} as const satisfies FieldDocs<VulnerabilityBody>

const ruleFields = {
  type: ['text', 'Type, such as `vpatch` or `regex`. An open set.'],
  attackType: ['text', 'Type of attack that it is about, or `any`.'],
  condition: ['number', 'Id of the condition that scopes it.'],
  point: ['list', 'Parts of the request that it applies to.'],
  action: ['list', 'The conditions that scope it, as the service has them.'],
  regex: ['text', 'Regular expression.'],
  comment: ['text', 'Comment of whoever made it.'],
  validated: ['true or false', 'Whether it is validated.'],
  enabled: ['true or false', 'Whether it is in force.'],
  updatedAt: ['Unix ms', 'Last change.'],
} as const satisfies FieldDocs<RuleBody>

const conditionFields = {
  name: ['text', 'Name.'],
  conditions: ['list', 'What requests must have, as the service has it.'],
  rules: ['number', 'Rules that it scopes.'],
  updatedAt: ['Unix ms', 'Last change.'],
} as const satisfies FieldDocs<ConditionBody>

const gapFields = {
  from: ['Unix ms', 'Records from here …'],
  to: ['Unix ms', '… to here could not be read.'],
  reason: ['text', "Why, in the service's words."],
} as const satisfies FieldDocs<GapBody>

const heartbeatFields = {
  watermark: ['Unix ms', 'How far the stream is known to be complete.'],
  lastSequence: ['number', 'Sequence of the last event before this one.'],
  events: ['number', 'Events since the heartbeat before.'],
} as const satisfies FieldDocs<HeartbeatBody>

/** The fields of `body`, by the kinds of events that have them. */
export const jsonBodies = [
  { kinds: ['attack', 'incident'], fields: attackFields },
  { kinds: ['vulnerability'], fields: vulnerabilityFields },
  { kinds: ['rule'], fields: ruleFields },
  { kinds: ['condition'], fields: conditionFields },
  { kinds: ['gap'], fields: gapFields },
  { kinds: ['heartbeat'], fields: heartbeatFields },
] as const
