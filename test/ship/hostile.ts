// Events as an attacker, or a service in a bad state, would have them: for whatever must hold of every event.

import fc from 'fast-check'
import { streamNames } from '../../src/event.ts'
import type {
  Action,
  AttackBody,
  ConditionBody,
  EventBody,
  Kind,
  RuleBody,
  SecurityEvent,
  StreamName,
  VulnerabilityBody,
} from '../../src/event.ts'

export const actions: readonly Action[] = ['created', 'updated', 'closed', 'deleted', 'gap', 'heartbeat']

/** What ends lines, fields, frames and headers somewhere, and what passes itself off as a field or an event. */
const fragments = [
  ['\n', '\r', '\r\n', '\0', '\t', '\v', '\f', '\b', '\u001b[31m', '\u007f'],
  ['\u0080', '\u0085', '\u009b', '\u2028', '\u2029', '\ufeff', '\ufffe', '\uffff', '\ufffd'],
  ['\u202a', '\u202e', '\u2066', '\u2069', '\u200f', '\u061c', '\u200b', '\u200d', '\u00ad'],
  [
    '\ud800',
    '\udfff',
    '\udc00\ud800',
    '😀',
    '👩\u200d👧',
    'é',
    'e\u0301',
    '日本',
    '\u05e9\u05dc\u05d5\u05dd',
    '\u{10ffff}',
    '\u00a0',
    '\u3000',
  ],
  ['|', '\\', '=', '^', ']', '[', '"', "'", '<', '>', '%', '#', ';', ',', ':', '/', '?', '&', '{', '}', '$'],
  ['\\=', '\\\\', '\\n', '\\|', '\\\\=', '||', '^^', ' ', '  ', 'a', 'Z', '0', 'x=', '#011', '%0a'],
  [' act=blocked', 'src=10.0.0.1 ', '^src=10.0.0.1', '\tsrc=10.0.0.1', ' cs1Label=x', ' TailraceWAFEventId=x'],
  ['CEF:0|a|b|c|d|e|5|', 'LEEF:2.0|a|b|c|d|^|', '\n<13>1 - - - - - - CEF:0|a|b|c|d|e|5|msg=forged', '42 <13>1 '],
  ['"}\n{"id":"forged"', '","severity":0,"x":"', '__proto__', 'constructor', 'toString', 'null', 'NaN', '[multiple]'],
  ['https://shop.example.com/log?x=1', '/log/view', 'shop.example.com', '203.0.113.9', '2001:db8::1', 'sqli', 'GET'],
].flat()

const longFragments = ['a', '=', '\\', '^|', '\n', '日', '😀', ' ', '\ud800'].map((text) => text.repeat(4500))

/** Any text: UTF-16 of all kinds, lone surrogates among it; now and then empty, now and then long. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: fc.string({ unit: fc.constantFrom(...fragments), maxLength: 8 }) },
  { weight: 4, arbitrary: fc.string({ unit: fc.integer({ max: 0xffff }).map((unit) => String.fromCharCode(unit)) }) },
  { weight: 1, arbitrary: fc.constantFrom(...longFragments) },
)

const oddNumbers = [0, -0, 1, -1, 1.5, 17, 403, 61_818, 2 ** 31, 2 ** 53, 1e21, -1e300, Number.NaN, Infinity, -Infinity]
const start = Date.UTC(2026, 2, 30, 17, 40)
const oddTimes = [0, 1, -1, 1.5, 1e10, 1e13, 253_402_300_800_000, 8.64e15 + 1, 1e300, Number.NaN, Infinity, -Infinity]
const addresses = [
  '192.0.2.1',
  '203.0.113.9',
  '255.255.255.255',
  '2001:db8::9',
  '::1',
  '::ffff:192.0.2.1',
  'fe80::1%eth0',
]
const oddAddresses = [
  '',
  '1.2.3',
  '192.0.2.01',
  '192.0.2.1:80',
  '[::1]',
  '10.0.0.0/8',
  '192.0.2.1 act=blocked',
  '::1\n',
]
const types = [
  'sqli',
  'xss',
  'ptrav',
  'vpatch',
  'SQLi',
  'jwt_abuse',
  '[multiple]',
  'constructor',
  '__proto__',
  'é',
  'a b',
]
const statuses = ['blocked', 'monitored', 'partially_blocked', 'BLOCKED', 'open', 'closed', 'active', 'falsepositive']

/** Where the values come from: fast-check, which finds the smallest event that fails, or a quick generator. */
interface Source {
  text(): string
  /** A whole number from 0 to below `end`. */
  below(end: number): number
}

/** Every event that can be; for `fc.property`. */
export const hostileEvent: fc.Arbitrary<SecurityEvent> = fc.gen().map((gen) => {
  const source: Source = { text: () => gen(() => hostileText), below: (end) => gen(fc.nat, end - 1) }
  return eventFrom(source, pick(source, streamNames), pick(source, actions))
})

/** So many events of a stream and action, the same for the same seed; quicker than fast-check. */
export function* hostileEvents(
  count: number,
  { stream, action, seed }: { readonly stream: StreamName; readonly action: Action; readonly seed: number },
): Generator<SecurityEvent> {
  const texts = fc.sample(hostileText, { seed, numRuns: 3000 })
  const source = quickSource(texts, seed)
  for (let n = 0; n < count; n++) yield eventFrom(source, stream, action)
}

/** Xorshift (Marsaglia 2003), 32 bits. */
function quickSource(texts: readonly string[], seed: number): Source {
  let state = seed | 1
  const below = (end: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % end
  }
  return { below, text: () => texts[below(texts.length)] ?? '' }
}

function pick<T>(source: Source, values: readonly T[]): T {
  return values[source.below(values.length)] as T
}

/** Null one time in four. */
function orNull<T>(source: Source, value: (source: Source) => T): T | null {
  return source.below(4) === 0 ? null : value(source)
}

function textOr(source: Source, usual: readonly string[]): string {
  return source.below(2) === 0 ? pick(source, usual) : source.text()
}

function numberFrom(source: Source): number {
  return source.below(2) === 0 ? source.below(1000) : pick(source, oddNumbers)
}

function timeFrom(source: Source): number {
  return source.below(4) === 0 ? pick(source, oddTimes) : start + source.below(10_000_000)
}

function listFrom<T>(source: Source, value: (source: Source) => T): T[] {
  return Array.from({ length: source.below(4) }, () => value(source))
}

/** What JSON can hold, two levels deep. */
function jsonFrom(source: Source, depth = 2): unknown {
  switch (source.below(depth === 0 ? 4 : 6)) {
    case 0:
      return null
    case 1:
      return source.below(2) === 0
    case 2:
      return source.below(5000)
    case 3:
      return source.text()
    case 4:
      return listFrom(source, () => jsonFrom(source, depth - 1))
    default:
      return Object.fromEntries(listFrom(source, () => [source.text(), jsonFrom(source, depth - 1)]))
  }
}

const kinds: Readonly<Record<StreamName, Kind>> = {
  attacks: 'attack',
  incidents: 'incident',
  vulnerabilities: 'vulnerability',
  rules: 'rule',
  conditions: 'condition',
}

function eventFrom(source: Source, stream: StreamName, action: Action): SecurityEvent {
  const kind = action === 'gap' || action === 'heartbeat' ? action : kinds[stream]
  const record = Object.fromEntries(listFrom(source, () => [source.text(), jsonFrom(source)]))
  return {
    id: Array.from({ length: 22 }, () => pick(source, ['A', 'b', '7', '-', '_'])).join(''),
    revision: 1 + source.below(100),
    sequence: 1 + source.below(1_000_000),
    action,
    kind,
    time: timeFrom(source),
    observedTime: start + source.below(10_000_000),
    tenant: textOr(source, ['acme', 'acme-eu']),
    client: orNull(source, numberFrom),
    stream,
    identity: textOr(source, ['attacks_eu_4711_202611_v_1:AM5CP50BU-M_02QxawVC', 'AM5CP50BU', '17']),
    severity: source.below(11),
    replayed: source.below(2) === 0,
    labels: Object.fromEntries(listFrom(source, () => [pick(source, labelNames), source.text()])),
    body: bodyFrom(source, kind),
    record,
    recordJson: JSON.stringify(record),
  }
}

const labelNames = ['site', 'siteName', 'x', 'sev', 'eventId', 'tenant', 'a0', 'labelSite', 'toString', 'constructor']

function bodyFrom(source: Source, kind: Kind): EventBody {
  switch (kind) {
    case 'attack':
    case 'incident':
      return attackFrom(source)
    case 'vulnerability':
      return vulnerabilityFrom(source)
    case 'rule':
      return ruleFrom(source)
    case 'condition':
      return conditionFrom(source)
    case 'gap':
      return { from: timeFrom(source), to: timeFrom(source), reason: source.text() }
    case 'heartbeat':
      return {
        watermark: orNull(source, timeFrom),
        lastSequence: source.below(1_000_000),
        events: source.below(1_000_000),
      }
  }
}

function attackFrom(source: Source): AttackBody {
  const text = (usual: readonly string[]): string | null => orNull(source, () => textOr(source, usual))
  const address = [...addresses, ...oddAddresses]
  return {
    type: text(types),
    domain: text(['shop.example.com', '203.0.113.9', '[multiple]']),
    path: text(['/log/view', '/', '[multiple]']),
    method: text(['GET', 'POST', 'PROPFIND']),
    parameter: text(['GET_filename_value']),
    point: listFrom(source, () => textOr(source, ['get', 'filename'])),
    target: text(['server', 'client', 'database']),
    threat: orNull(source, numberFrom),
    blockStatus: text(statuses),
    state: text(['falsepositive']),
    hits: orNull(source, numberFrom),
    sourceCount: orNull(source, numberFrom),
    sources: listFrom(source, () => ({
      ip: textOr(source, address),
      country: text(['FR', 'DE', 'fr']),
      count: orNull(source, numberFrom),
    })),
    statusCodes: listFrom(source, numberFrom),
    firstTime: orNull(source, timeFrom),
    lastTime: orNull(source, timeFrom),
    application: orNull(source, numberFrom),
    vulnerability: orNull(source, () => (source.below(2) === 0 ? numberFrom(source) : source.text())),
  }
}

function vulnerabilityFrom(source: Source): VulnerabilityBody {
  const text = (usual: readonly string[]): string | null => orNull(source, () => textOr(source, usual))
  return {
    humanId: text(['ACME-17']),
    status: text(statuses),
    type: text(types),
    title: text(['XSS in shop.example.com']),
    description: text(['More about it.']),
    domain: text(['shop.example.com']),
    path: text(['/log/view']),
    method: text(['GET']),
    parameter: text(['GET_filename_value']),
    target: text(['client']),
    threat: orNull(source, numberFrom),
    validateTime: orNull(source, timeFrom),
    invalidateTime: orNull(source, timeFrom),
    lastCheck: orNull(source, timeFrom),
  }
}

function ruleFrom(source: Source): RuleBody {
  const text = (usual: readonly string[]): string | null => orNull(source, () => textOr(source, usual))
  const flag = (): boolean | null => orNull(source, () => source.below(2) === 0)
  return {
    type: text(types),
    attackType: text(['any', ...types]),
    condition: orNull(source, numberFrom),
    point: listFrom(source, jsonFrom),
    action: listFrom(source, jsonFrom),
    regex: text([String.raw`^a=\d+|b$`]),
    comment: text(['Blocks a path.']),
    validated: flag(),
    enabled: flag(),
    updatedAt: orNull(source, timeFrom),
  }
}

function conditionFrom(source: Source): ConditionBody {
  return {
    name: orNull(source, source.text),
    conditions: listFrom(source, jsonFrom),
    rules: orNull(source, numberFrom),
    updatedAt: orNull(source, timeFrom),
  }
}
