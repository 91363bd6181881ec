// Which events a destination wants, by rules over their fields. Total and pure: whatever a record has, there is an
// answer, in time that grows with its length only.

import { levelOf, streamNames, type Action, type Kind, type SecurityEvent } from '../../event.ts'
import { pathMistake, pathOf, valuesAt } from './field-path.ts'

/** As the configuration has it: an event passes that fits any of `include` (none given: all) and none of `exclude`. */
export interface Filter {
  readonly include?: readonly Rule[]
  readonly exclude?: readonly Rule[]
}

/** Field to what it must have; all of it must fit. Of a list, any. */
export type Rule = Readonly<Record<string, Condition | readonly Condition[]>>

/** Null: the field is missing. Text may be a glob (`*.example.org`) or a comparison with a number (`>=7`). */
export type Condition = string | number | boolean | null

type Test = (event: SecurityEvent) => boolean
type ValueTest = (value: unknown) => boolean

/** Undefined where there is nothing to filter: that costs nothing. */
export function compileFilter({ include = [], exclude = [] }: Filter): Test | undefined {
  if (include.length === 0 && exclude.length === 0) return undefined
  const wanted = include.map(compileRule)
  const unwanted = exclude.map(compileRule)
  return (event) => {
    // Gaps and heartbeats are evidence of what is complete. A rule that chooses attacks does not mean to lose it.
    const isIncluded = wanted.length === 0 || isAboutStream(event) || wanted.some((fits) => fits(event))
    return isIncluded && !unwanted.some((fits) => fits(event))
  }
}

export function isAboutStream({ kind }: SecurityEvent): boolean {
  return kind === 'gap' || kind === 'heartbeat'
}

function compileRule(rule: Rule): Test {
  const tests = Object.entries(rule).map(([name, wanted]) => compileField(name, [wanted].flat()))
  return (event) => tests.every((fits) => fits(event))
}

function compileField(name: string, conditions: readonly Condition[]): Test {
  const path = pathOf(name)
  const wantsAbsent = conditions.includes(null)
  const tests = conditions.flatMap((condition) => (condition === null ? [] : [compileCondition(name, condition)]))
  return (event) => {
    const values = valuesAt(event, path)
    if (wantsAbsent && (values.length === 0 || values.some((value) => value === null))) return true
    return values.some((value) => tests.some((fits) => fits(value)))
  }
}

const comparison = /^(>=|<=|>|<)\s*(.*)$/s
const decimal = /^-?\d+(\.\d+)?$/

function compileCondition(name: string, condition: string | number | boolean): ValueTest {
  const text = String(condition)
  const range = rangeOf(name, text)
  if (range !== undefined) {
    return (value) => {
      const number = numberOf(value)
      return number >= range.from && number <= range.to && number !== range.except
    }
  }
  const fits = text.includes('*') ? glob(text) : (value: string) => value === text
  // 4711 and "4711" are the same: the service writes numbers both ways.
  return (value) => isScalar(value) && fits(String(value))
}

interface Range {
  readonly from: number
  readonly to: number
  readonly except?: number
}

/** The numbers that a comparison, or a level of the severity, stands for; undefined: it is neither. */
function rangeOf(name: string, text: string): Range | undefined {
  const [, operator = '', operand = text] = comparison.exec(text) ?? []
  const level = name === 'severity' ? levels.get(operand) : undefined
  if (operator === '') return level
  if (level === undefined && !decimal.test(operand)) return undefined
  const { from, to } = level ?? { from: Number(operand), to: Number(operand) }
  switch (operator) {
    case '>=':
      return { from, to: Infinity }
    case '>':
      return { from: to, to: Infinity, except: to }
    case '<=':
      return { from: -Infinity, to }
    default:
      return { from: -Infinity, to: from, except: from }
  }
}

/** The severities of each level, from `levelOf`. */
const levels: ReadonlyMap<string, Range> = new Map(
  [...Map.groupBy([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], levelOf)].map(([level, numbers]) => [
    level,
    { from: Math.min(...numbers), to: Math.max(...numbers) },
  ]),
)

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' && decimal.test(value) ? Number(value) : Number.NaN
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** `*` stands for any characters. Each part is looked for once, from left to right: nothing is tried again. */
function glob(pattern: string): (text: string) => boolean {
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.pop() ?? ''
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
    const end = text.length - last.length
    let at = first.length
    for (const part of parts) {
      const found = text.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return at <= end
  }
}

const kinds: readonly Kind[] = ['attack', 'incident', 'vulnerability', 'rule', 'condition', 'gap', 'heartbeat']
const actions: readonly Action[] = ['created', 'updated', 'closed', 'deleted', 'gap', 'heartbeat']
/** Fields with a fixed set of values: a misspelt one would lose everything in silence. */
const closed: Readonly<Record<string, readonly string[]>> = { kind: kinds, action: actions, stream: streamNames }

/** What is wrong with a filter of the configuration; undefined: nothing. Shows no values: they may be secrets. */
export function filterMistake(filter: unknown): string | undefined {
  if (!isTable(filter)) return 'must be a table with include, exclude or both'
  for (const [name, rules] of Object.entries(filter)) {
    if (name !== 'include' && name !== 'exclude') return `has ${name}, which is neither include nor exclude`
    if (!Array.isArray(rules) || rules.length === 0)
      return `${name} must be a list of rules, such as [{ kind: attack }]`
    for (const [index, rule] of rules.entries()) {
      const mistake = ruleMistake(`${name}[${index}]`, rule)
      if (mistake !== undefined) return mistake
    }
  }
  return undefined
}

function ruleMistake(where: string, rule: unknown): string | undefined {
  if (!isTable(rule)) return `${where} must be a table of fields, such as { kind: attack }`
  const fields = Object.entries(rule)
  if (fields.length === 0) return `${where} is empty: it would fit every event`
  for (const [name, wanted] of fields) {
    const conditions: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted]
    const mistakes = [
      pathMistake(name),
      conditions.length === 0 ? 'is an empty list: it would fit no event' : undefined,
      ...conditions.map((condition) => conditionMistake(name, condition)),
    ]
    const mistake = mistakes.find((found) => found !== undefined)
    if (mistake !== undefined) return `${where}.${name} ${mistake}`
  }
  return undefined
}

function conditionMistake(name: string, condition: unknown): string | undefined {
  if (condition === null || typeof condition === 'boolean' || Number.isFinite(condition)) return undefined
  if (typeof condition !== 'string') return 'must be text, a number, true, false, null, or a list of them'
  const isSeverity = name === 'severity'
  if (comparison.test(condition)) {
    if (rangeOf(name, condition) !== undefined) return undefined
    return `compares with what is no number${isSeverity ? ' and no level' : ''}, such as ">=7"`
  }
  if (isSeverity && rangeOf(name, condition) === undefined && !decimal.test(condition)) {
    return `must be a number, a comparison, or one of ${[...levels.keys()].join(', ')}`
  }
  const known = closed[name]
  if (known === undefined || known.some(condition.includes('*') ? glob(condition) : (one) => one === condition)) {
    return undefined
  }
  return `must be one of ${known.join(', ')}`
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
