// The part of a line that is keys and values (CEF, LEEF), compiled from one table: attribute to key.

import type { Kind, SecurityEvent } from '../../event.ts'
import { attributeGroups } from './attributes.ts'
import type { Attribute, AttributeName, Context } from './attributes.ts'
import type { MappingTable } from '../format.ts'
import { trimmed } from './one-line-text.ts'

/** Where an attribute goes. */
export interface Key {
  readonly key: string
  /** Sent as `<key>Label`. */
  readonly label?: string
  /** Highest number of UTF-16 units of a text; highest absolute value of an integer. */
  readonly max?: number
}

export type Keys = Readonly<Record<AttributeName, Key>>

export interface PairRules extends Context {
  readonly keys: Keys
  /** Between two pairs, and before the first. */
  readonly separator: string
  readonly textMax: number
  /** Makes a text fit between separators. */
  readonly clean: (text: string) => string
  /** The key of a label of the destination. */
  readonly labelKey: (name: string) => string
  /** Its value names the keys whose value was cut, or left out because the format has no form for it. */
  readonly incompleteKey: string
}

interface Pair extends Attribute {
  readonly key: string
  readonly lead: string
  readonly tail: string
  readonly max: number
}

/** A function that writes all pairs of an event, each with a separator before it. */
export function compilePairs(rules: PairRules): (event: SecurityEvent) => string {
  const pairs = pairsByKind(rules)
  const { separator, clean, textMax } = rules

  return (event) => {
    const incomplete: string[] = []
    let line = ''
    for (const pair of pairs[event.kind]) {
      // The kind says which body it is: here the attributes of a kind meet the body of that kind.
      const value = pair.read(event.body as never, event, rules)
      if (value === null) continue
      const text = typeof value === 'string' ? trimmed(value, pair.max) : numberText(value, pair)
      if (text !== '') line += pair.lead + (typeof value === 'string' ? clean(text) : text) + pair.tail
      if (typeof value === 'string' ? isCut(value, text, pair.max) : text === '') incomplete.push(pair.key)
    }
    for (const name in event.labels) {
      const key = rules.labelKey(name)
      const value = event.labels[name] ?? ''
      const text = trimmed(value, textMax)
      if (text !== '') line += `${separator}${key}=${clean(text)}`
      if (isCut(value, text, textMax)) incomplete.push(key)
    }
    if (incomplete.length > 0) line += `${separator}${rules.incompleteKey}=${trimmed(incomplete.join(','), textMax)}`
    return line
  }
}

function pairsByKind({ keys, separator, textMax }: PairRules): Readonly<Record<Kind, readonly Pair[]>> {
  const pairs: Record<Kind, Pair[]> = {
    attack: [],
    incident: [],
    vulnerability: [],
    rule: [],
    condition: [],
    gap: [],
    heartbeat: [],
  }
  for (const { kinds, attributes } of attributeGroups) {
    for (const [name, attribute] of attributes) {
      const { key, label, max = attribute.type === 'text' ? textMax : Number.MAX_SAFE_INTEGER } = keys[name]
      const tail = label === undefined ? '' : `${separator}${key}Label=${label}`
      for (const kind of kinds) pairs[kind].push({ ...attribute, key, lead: `${separator}${key}=`, tail, max })
    }
  }
  return pairs
}

function isCut(value: string, text: string, max: number): boolean {
  return value.length > max && text.length < value.trim().length
}

/** Empty: no such number can be sent. Times have 13 digits, from September 2001 to November 2286. */
function numberText(value: number, { type, max }: Pair): string {
  if (type === 'time') return value >= 1e12 && value < 1e13 ? String(Math.trunc(value)) : ''
  const whole = Math.round(value)
  return Math.abs(whole) <= max ? String(whole) : ''
}

/** For `mapping`: what of an event is under which key. */
export function pairTables(keys: Keys, textMax: number): MappingTable[] {
  return attributeGroups.map(({ title, attributes }) => ({
    title: `Keys of ${title}`,
    columns: ['key', 'label', 'from', 'longest'],
    rows: attributes.map(([name, { type, from }]) => {
      const { key, label = '', max = textMax } = keys[name]
      return [`\`${key}\``, label, from, type === 'text' ? String(max) : type]
    }),
  }))
}
