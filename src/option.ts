// How options are declared: one builder for each kind of value. The kinds are checked by config-formats.ts.

import type convict from 'convict'
import { parseDuration, parseSize } from './quantity.ts'

/** One option as it is declared. `min` and `max` are in milliseconds, bytes, or the number itself. */
export interface Option<T = unknown> extends convict.SchemaObj<T> {
  readonly default: T
  readonly doc: string
}

// setTimeout cannot wait for longer: it would not wait at all.
const longestWait = '24d'

export function text(doc: string, more: { format?: string; default?: string; sensitive?: true } = {}): Option<string> {
  return { doc, format: String, default: '', ...more }
}

export function flag(doc: string): Option<boolean> {
  return { doc, format: Boolean, default: false }
}

export function duration(value: string, doc: string, min = '1ms', max = longestWait): Option<number> {
  const bounds = { min: parseDuration(min) ?? 0, max: parseDuration(max) ?? 0 }
  return { doc, format: 'duration', default: parseDuration(value) ?? 0, ...bounds }
}

export function size(value: string, doc: string, min: string, max = '1024gb'): Option<number> {
  return { doc, format: 'size', default: parseSize(value) ?? 0, min: parseSize(min) ?? 0, max: parseSize(max) ?? 0 }
}

export function count(value: number, doc: string, min = 0, max = 1_000_000): Option<number> {
  return { doc, format: 'count', default: value, min, max }
}

/** From 0 to 1. */
export function ratio(value: number, doc: string): Option<number> {
  return { doc, format: 'ratio', default: value }
}

export function port(value: number, doc: string): Option<number> {
  return { doc, format: 'port', default: value }
}

export function oneOf<T extends string>(values: readonly T[], value: T, doc: string): Option<T> {
  return { doc, format: [...values], default: value }
}
