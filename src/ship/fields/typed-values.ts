// Values that fit the typed fields of a receiver: what does not fit becomes undefined, so that the field is left out.

import { isIP } from 'node:net'

/** Without a zone (`fe80::1%eth0`), which no receiver's type for addresses takes. */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%')
}

/** A whole number that JSON readers do not round; fractions are rounded. */
export function whole(
  value: number | null,
  lowest = Number.MIN_SAFE_INTEGER,
  highest = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (value === null) return undefined
  const rounded = Math.round(value)
  return rounded >= lowest && rounded <= highest ? rounded : undefined
}

/** The whole numbers among them. */
export function wholes(values: readonly number[]): readonly number[] {
  return values.map((value) => whole(value)).filter((value) => value !== undefined)
}

/** RFC 9110 section 15: 100 to 599. */
export function statusCode(value: number): number | undefined {
  return Number.isInteger(value) ? whole(value, 100, 599) : undefined
}

/** Of the years 1970 to 9999, in milliseconds: what RFC 3339 can say. */
export function instant(unixMs: number | null): number | undefined {
  return whole(unixMs, 0, 253_402_300_799_999)
}

/** 1973 to 2286 in milliseconds: outside, readers take a number for seconds or microseconds. */
export function epochMs(unixMs: number | null): number | undefined {
  return whole(unixMs, 1e11, 1e13 - 1)
}

export interface Period {
  readonly start: number | undefined
  readonly end: number | undefined
}

/** Two times of which the first must not be after the last; where it is, neither can be trusted. */
export function period(start: number | undefined, end: number | undefined): Period {
  return start !== undefined && end !== undefined && start > end ? { start: undefined, end: undefined } : { start, end }
}

/** Lists of any shape as JSON text: their own keys would be fields of the receiver's, chosen by who made the record. */
export function jsonText(values: readonly unknown[]): string | undefined {
  if (values.length === 0) return undefined
  try {
    return JSON.stringify(values)
  } catch {
    return undefined // too deep
  }
}
