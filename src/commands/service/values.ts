// How values are written on the command line of `tailrace service`.

import { InvalidArgumentError } from 'commander'
import { isTree } from '../../config-file.ts'
import { parseDuration } from '../../quantity.ts'

/** A positive whole number. */
export function id(text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It must be a positive whole number.')
  return number
}

/** Ids, separated by commas; the option may be given several times. */
export function ids(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, ...text.split(',').map((part) => id(part.trim()))]
}

/** Texts, separated by commas; the option may be given several times. */
export function texts(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(',').map((part) => part.trim())]
}

export function repeated(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

export function count(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

export function json(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (isTree(value)) return value
  } catch {
    // Said below.
  }
  throw new InvalidArgumentError('It must be a JSON object, such as \'{"name": "value"}\'.')
}

/** A moment in Unix seconds: `24h` (ago), an ISO date, or Unix seconds. */
export function moment(text: string): number {
  const agoMs = parseDuration(text)
  const ms = agoMs === undefined ? (/^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text)) : Date.now() - agoMs
  const seconds = Math.floor(ms / 1000)
  // What is later than the year 5000 was meant as milliseconds.
  if (Number.isFinite(seconds) && seconds >= 0 && seconds < 100_000_000_000) return seconds
  throw new InvalidArgumentError('It must be a time: 24h (ago), 2026-11-21T09:00Z, or Unix seconds.')
}
