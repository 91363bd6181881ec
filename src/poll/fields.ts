// Reading single fields of a record: tolerant of null, absence and odd types, never inventing a value.

import type { ServiceRecord } from '../event.ts'

export function textOf(record: ServiceRecord, key: string): string | null {
  const value = record[key]
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

/** Numbers also where the service sends them as text; counters may come as floats (`61818.0`). */
export function numberOf(record: ServiceRecord, key: string): number | null {
  const value = record[key]
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'string' || value.trim() === '') return null
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

export function booleanOf(record: ServiceRecord, key: string): boolean | null {
  const value = record[key]
  return typeof value === 'boolean' ? value : null
}

export function listOf(record: ServiceRecord, key: string): readonly unknown[] {
  const value = record[key]
  return Array.isArray(value) ? value : []
}

export function textsOf(record: ServiceRecord, key: string): readonly string[] {
  return listOf(record, key).map(String)
}

export function numbersOf(record: ServiceRecord, key: string): readonly number[] {
  return listOf(record, key).filter((value) => typeof value === 'number')
}

export function recordsOf(record: ServiceRecord, key: string): readonly ServiceRecord[] {
  return listOf(record, key).filter((value) => typeof value === 'object' && value !== null) as ServiceRecord[]
}

/** Unix seconds in the record, Unix milliseconds in the event. */
export function millisecondsOf(record: ServiceRecord, key: string): number | null {
  const seconds = secondsOf(record, key)
  return seconds === undefined ? null : Math.round(seconds * 1000)
}

/** Unix seconds; ISO 8601 text is understood too. */
export function secondsOf(record: ServiceRecord, key: string): number | undefined {
  const number = numberOf(record, key)
  if (number !== null) return number
  const value = record[key]
  if (typeof value !== 'string') return undefined
  const parsed = Date.parse(value)
  return Number.isNaN(parsed) ? undefined : parsed / 1000
}
