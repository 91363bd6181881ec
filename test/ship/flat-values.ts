// What a receiver of keys and values must find, worked out from the event without any code of the formats.

import type { AttackSource, SecurityEvent } from '../../src/event.ts'

export interface Expected {
  readonly key: string
  readonly value: string | number | boolean | null | undefined
  readonly as: 'text' | 'integer' | 'time'
  readonly max?: number | undefined
  readonly label?: string | undefined
}

/** How a format shows a character that it cannot have as it is. */
export type Shown = (character: string) => string | undefined

/** Keys and values, labels of keys among them, and under `incompleteKey` what was cut or left out. */
export function valuesOf(
  expected: readonly Expected[],
  {
    textMax,
    incompleteKey,
    shown,
  }: { readonly textMax: number; readonly incompleteKey: string; readonly shown: Shown },
): Record<string, string> {
  const values: Record<string, string> = {}
  const incomplete: string[] = []
  for (const { key, value, as, max, label } of expected) {
    if (value === null || value === undefined) continue
    const { text, whole } = as === 'text' ? plain(String(value), max ?? textMax, shown) : number(Number(value), as, max)
    if (!whole) incomplete.push(key)
    if (text === '') continue
    values[key] = text
    if (label !== undefined) values[`${key}Label`] = label
  }
  if (incomplete.length > 0) values[incompleteKey] = incomplete.join(',')
  return values
}

interface Sent {
  readonly text: string
  readonly whole: boolean
}

function number(value: number, as: 'integer' | 'time', max = Number.MAX_SAFE_INTEGER): Sent {
  const ok = as === 'time' ? value >= 1_000_000_000_000 && value < 10_000_000_000_000 : Math.abs(value) <= max
  if (!ok) return { text: '', whole: false }
  return { text: BigInt(as === 'time' ? Math.floor(value) : Math.round(value)).toString(), whole: true }
}

/** Character by character, where the formats use regular expressions. */
export function plain(text: string, max: number, shown: Shown): Sent {
  const trimmed = text.trim()
  let kept = ''
  for (const character of trimmed) {
    if (kept.length + character.length > max) break
    kept += character
  }
  const whole = kept.length === trimmed.length
  const characters = Array.from(kept.trimEnd(), (character) => shown(character) ?? harmless(character))
  return { text: characters.join(''), whole }
}

function harmless(character: string): string {
  return isHarmless(character.codePointAt(0) ?? 0) ? character : '\ufffd'
}

function isHarmless(point: number): boolean {
  const within = (from: number, to: number): boolean => point >= from && point <= to
  if (within(0x00, 0x1f) || within(0x7f, 0x9f) || within(0xd800, 0xdfff)) return false
  if (point === 0x61c || within(0x200e, 0x200f) || within(0x202a, 0x202e) || within(0x2066, 0x2069)) return false
  return !within(0x2028, 0x2029) && ![0xfeff, 0xfffe, 0xffff].includes(point)
}

export function isAddress(ip: string | undefined, version: 4 | 6): boolean {
  if (ip === undefined) return false
  return version === 4
    ? /^(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}$/.test(ip) && !/(^|\.)0\d/.test(ip)
    : ip.includes(':') && /^[\da-f:.]+$/i.test(ip) && URL.canParse(`http://[${ip}]`)
}

export function listOfSources(sources: readonly AttackSource[]): string | null {
  const first = sources[0]?.ip
  if (sources.length === 0 || (sources.length === 1 && (isAddress(first, 4) || isAddress(first, 6)))) return null
  return sources.map(({ ip, country, count }) => [ip, country ?? '-', count ?? '-'].join(' ')).join(', ')
}

export function json(list: readonly unknown[]): string | null {
  return list.length > 0 ? JSON.stringify(list) : null
}

/** A body by the kind of its event. */
export function bodyOf<Body>(event: SecurityEvent): Body {
  return event.body as Body
}
