// Writes JSON by a table of fields: what the published mapping says is what the code goes by.

import { Buffer } from 'node:buffer'
import { cutText } from '../cut-text.ts'

/** What a field may have. Null, undefined, empty text, empty lists and numbers that are none: the field is left out. */
export type Value =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly (string | number)[]
  | Readonly<Record<string, string>>

/** The value at a path as JSON text; empty: there is none. What had to be cut is named in `cut`. */
type Write<Subject> = (subject: Subject, cut: string[]) => string

/** A line of the published mapping. Paths have dots between objects, and `[]` after a list of objects. */
export interface FieldDoc {
  readonly path: string
  readonly from: string
}

/** A field of an object that is written for a subject. */
export interface Row<Subject> extends FieldDoc {
  /** Fields of its elements, where it is a list of objects. */
  readonly elements?: readonly FieldDoc[]
  readonly compile: (path: string) => Write<Subject>
}

/**
 * Bytes of UTF-8 that text in a field, or all text in a list, has at most: for a longer term Lucene refuses the whole
 * document (`IndexWriter.MAX_TERM_LENGTH`).
 */
export const textLimit = 32_766

/** More elements of a list are cut. */
const listLimit = 100

/** `from` says in a word where the value comes from, for people who write searches. */
export function field<Subject>(
  path: string,
  from: string,
  value: (subject: Subject) => Value,
  limit = textLimit,
): Row<Subject> {
  return { path, from, compile: (full) => (subject, cut) => valueText(value(subject), cut, full, limit) }
}

/** The same in each event. */
export function constant(path: string, value: string | number, from = String(value)): Row<unknown> {
  const written = JSON.stringify(value)
  return { path, from, compile: () => () => written }
}

/** A list of objects: one for each item, with these fields; items without any are left out. */
export function list<Subject, Item>(
  path: string,
  from: string,
  items: (subject: Subject) => readonly Item[],
  fields: readonly Row<Item>[],
): Row<Subject> {
  return {
    path,
    from,
    elements: documented(fields),
    compile(full) {
      const write = objectWriter(fields, `${full}[].`)
      return (subject, cut) => {
        const all = items(subject)
        if (all.length > listLimit) cut.push(full)
        const texts = all.slice(0, listLimit).map((item) => write(item, cut))
        const written = texts.filter((text) => text !== '')
        return written.length === 0 ? '' : `[${written.join(',')}]`
      }
    },
  }
}

/** The paths of what was cut. Must be written after everything else: the last field of the last object. */
export function cutFields(path: string, show: (paths: readonly string[]) => Value = (paths) => paths): Row<unknown> {
  return {
    path,
    from: 'fields that were cut for their length',
    compile: () => (_, cut) => (cut.length === 0 ? '' : JSON.stringify(show([...new Set(cut)]))),
  }
}

/** `true` where something was cut before it is written. */
export function cutFlag(path: string): Row<unknown> {
  return {
    path,
    from: '`true` where a field was cut for its length',
    compile: () => (_, cut) => (cut.length === 0 ? '' : 'true'),
  }
}

/** Writes an object a line, with its fields in the order of the rows, those of one object together. Pure. */
export function lineWriter<Subject>(rows: readonly Row<Subject>[]): (subject: Subject) => string {
  const write = objectWriter(rows, '')
  return (subject) => inOneLine(write(subject, []))
}

/** Rows as the mapping has them, those of lists after the list. */
export function documented(rows: readonly Row<never>[]): readonly FieldDoc[] {
  return rows.flatMap(({ path, from, elements = [] }) =>
    elements.length === 0
      ? [{ path, from }]
      : [{ path: `${path}[]`, from }, ...elements.map((one) => ({ path: `${path}[].${one.path}`, from: one.from }))],
  )
}

function objectWriter<Subject>(rows: readonly Row<Subject>[], prefix: string): Write<Subject> {
  const members = membersOf(rows, prefix)
  return (subject, cut) => {
    let text = ''
    for (const { key, write } of members) {
      const value = write(subject, cut)
      if (value !== '') text += (text === '' ? '{' : ',') + key + value
    }
    return text === '' ? '' : `${text}}`
  }
}

interface Member<Subject> {
  /** With its quotes and colon. */
  readonly key: string
  readonly write: Write<Subject>
}

function membersOf<Subject>(rows: readonly Row<Subject>[], prefix: string): readonly Member<Subject>[] {
  const byName = Map.groupBy(rows, ({ path }) => path.split('.', 1)[0] ?? path)
  return [...byName].map(([name, own]) => {
    const key = `${JSON.stringify(name)}:`
    const [first] = own
    if (own.length === 1 && first?.path === name) return { key, write: first.compile(prefix + name) }
    const inner = own.map((row) => ({ ...row, path: row.path.slice(name.length + 1) }))
    return { key, write: objectWriter(inner, `${prefix}${name}.`) }
  })
}

function valueText(value: Value, cut: string[], path: string, limit: number): string {
  if (typeof value === 'string') return value === '' ? '' : quote(bounded(value, cut, path, limit))
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : ''
  if (typeof value === 'boolean') return String(value)
  if (value === null || value === undefined) return ''
  return isList(value) ? listText(value, cut, path, limit) : tableText(value, cut, path, limit)
}

function isList(value: object): value is readonly (string | number)[] {
  return Array.isArray(value)
}

function listText(values: readonly (string | number)[], cut: string[], path: string, limit: number): string {
  if (values.length > listLimit) cut.push(path)
  let left = limit
  const texts: string[] = []
  for (const value of values.slice(0, listLimit)) {
    const text = valueText(value, cut, path, Math.max(left, 0))
    left -= Buffer.byteLength(text)
    if (text !== '' && text !== '""') texts.push(text)
  }
  return texts.length === 0 ? '' : `[${texts.join(',')}]`
}

/** Empty text is a value here: it is what somebody has configured. */
function tableText(table: Readonly<Record<string, string>>, cut: string[], path: string, limit: number): string {
  const texts = Object.entries(table).map(([key, text]) => `${quote(key)}:${quote(bounded(text, cut, path, limit))}`)
  return texts.length === 0 ? '' : `{${texts.join(',')}}`
}

// What RFC 8259 section 7 wants escaped, and surrogates: most text has none of it, and looking is cheaper.
// oxlint-disable-next-line no-control-regex
const special = /["\\\u0000-\u001f\ud800-\udfff]/

/** Lone surrogates have no UTF-8 form: they become U+FFFD. */
function quote(text: string): string {
  return special.test(text) ? JSON.stringify(text.toWellFormed()) : `"${text}"`
}

/** Cuts between characters. */
function bounded(text: string, cut: string[], path: string, limit: number): string {
  const fitting = cutText(text, limit)
  if (fitting.length < text.length) cut.push(path)
  return fitting
}

/** NEL, U+2028 and U+2029 are legal inside JSON, but some readers of lines break at them. */
function inOneLine(text: string): string {
  if (!text.includes('\u0085') && !text.includes('\u2028') && !text.includes('\u2029')) return text
  return text.replaceAll(/[\u0085\u2028\u2029]/g, (character) =>
    character === '\u0085' ? String.raw`\u0085` : String.raw`\u${character.charCodeAt(0).toString(16)}`,
  )
}
