// Names of an event's fields in filters and redactions: `severity`, `body.sources.ip`, `block_status`.

import type { SecurityEvent } from '../../event.ts'
import { jsonBodies, jsonFields } from '../formats/json.ts'
import { isoTime } from '../iso-time.ts'

/** A name, cut at its dots. The first part is a field of the event, or the path is looked for in body and record. */
export type FieldPath = readonly string[]

const eventFields: ReadonlySet<string> = new Set(Object.keys(jsonFields))
const bodyFields: ReadonlySet<string> = new Set(jsonBodies.flatMap(({ fields }) => Object.keys(fields)))

export function pathOf(name: string): FieldPath {
  return name.split('.')
}

/** Whether a path begins with a field of the event. Others are short: what follows `body.` or `record.`. */
export function isWhole([first = '']: FieldPath): boolean {
  return eventFields.has(first)
}

/** What is wrong with a name, as the end of a sentence; undefined: nothing. Keys of records are an open set. */
export function pathMistake(name: string): string | undefined {
  const path = pathOf(name)
  if (path.includes('')) return 'is no name of a field: it is empty, or has a dot too many'
  const [first, second] = path
  if (first === 'labels') return 'cannot be named: labels are put on afterwards'
  if (first === 'body' && second !== undefined && !bodyFields.has(second)) return `names a field that no body has`
  if (first !== 'body' && first !== 'record' && isWhole(path) && path.length > 1) {
    return `has a dot after ${first}, which has no fields of its own`
  }
  return undefined
}

/**
 * What an event has at a path, as the format `json` shows it. Lists are gone through, element by element; what is
 * missing is null; a list without elements has no values.
 */
export function valuesAt(event: SecurityEvent, path: FieldPath): unknown[] {
  const [first = '', ...rest] = path
  if (!isWhole(path)) return descend(Object.hasOwn(event.body, first) ? event.body : event.record, path)
  if (first === 'time' || first === 'observedTime') return [isoTime(event[first]) ?? null]
  return descend(fieldOf(event, first), rest)
}

function descend(from: unknown, path: FieldPath): unknown[] {
  return path.reduce<unknown[]>(
    (values, name) => elementsOf(values.map((value) => fieldOf(value, name))),
    [...elementsOf([from])],
  )
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null
  return Reflect.get(value, name)
}

/** Lists of lists are opened too, in any depth: not by recursion, as a record may be nested deeper than the stack. */
function elementsOf(values: readonly unknown[]): unknown[] {
  if (!values.some(Array.isArray)) return [...values]
  const found: unknown[] = []
  const left = values.toReversed()
  while (left.length > 0) {
    const value: unknown = left.pop()
    if (!Array.isArray(value)) found.push(value)
    else for (let index = value.length - 1; index >= 0; index--) left.push(value[index])
  }
  return found
}
