// Checks what a file of the configuration has against the declared options. Values are shown only where
// they cannot be a secret.

import convict from 'convict'
// Makes convict know our kinds of values.
import './config-formats.ts'
import { isTree, unresolved, type ConfigFile, type Path, type Tree } from './config-file.ts'
import { isOption, optionsOf, type Section } from './config-options.ts'
import type { Option } from './option.ts'

/**
 * The values of a section's options, defaults included: what the file has at `path`, checked. Problems go
 * to the file; where there are any, the values are of no use. Options named in `elsewhere` are left alone.
 */
export function checkOptions(file: ConfigFile, section: Section, path: Path, elsewhere: readonly string[] = []): Tree {
  const given = checkShape(file, section, path, elsewhere)
  const schema = withoutValues(section)
  // Arguments of the process and variables are none of its business: what counts is `given`.
  const config = convict<object>(schema, { args: [], env: {} })
  try {
    config.load(given).validate({ allowed: 'strict' })
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    tellProblems(file, section, path, words)
  }
  const values: object = config.getProperties()
  return { ...values }
}

/** What has the right shape; the rest is reported. */
function checkShape(file: ConfigFile, section: Section, path: Path, elsewhere: readonly string[]): Tree {
  const content = file.at(path)
  if (content === undefined || content === null || content === unresolved) return {}
  if (!isTree(content)) {
    file.problem(path, `must have options: ${Object.keys(section).join(', ')}`)
    return {}
  }
  const given: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(content)) {
    const here = [...path, name]
    const node = Object.hasOwn(section, name) ? section[name] : undefined
    if (elsewhere.includes(name)) continue
    if (node === undefined) file.problem(here, unknownOption(name, [...Object.keys(section), ...elsewhere]))
    else if (!isOption(node)) given[name] = checkShape(file, node, here, [])
    else if (value === null) file.problem(here, 'is empty: give it a value, or remove it')
    else if (value !== unresolved && !hasUnresolved(value)) {
      const wrong = wrongKind(node, value)
      if (wrong === undefined) given[name] = value
      else file.problem(here, wrong)
    }
  }
  return given
}

/** Where convict would convert or cut silently, and where its words would not help. */
function wrongKind(option: Option, value: unknown): string | undefined {
  const { default: usual, format } = option
  const isText = typeof value === 'string'
  if (Array.isArray(usual)) return Array.isArray(value) ? undefined : 'must be a list, such as [a, b]'
  if (typeof usual === 'object' && usual !== null) {
    return isTree(value) || isText ? undefined : 'must be a table, such as { name: value }'
  }
  if (typeof value === 'object') return 'must be a single value'
  if (typeof usual === 'boolean' && value !== true && value !== false) {
    return isText && /^(true|false)$/i.test(value) ? undefined : 'must be true or false'
  }
  if (typeof usual === 'string' && !isText) return 'must be text: write it in quotes'
  if (format === 'duration') return isText || value === 0 ? undefined : 'needs a unit, such as 500ms, 15s, 10m, 24h'
  if (typeof usual === 'number' && isText && format !== 'size' && !/^-?\d+(\.\d+)?$/.test(value)) {
    return value.startsWith('tcp://')
      ? 'must be a number; Kubernetes sets such variables: use enableServiceLinks: false'
      : 'must be a number'
  }
  return undefined
}

/** The declarations for convict. It prints values in its messages unless they are sensitive: here all are. */
function withoutValues(section: Section): convict.Schema<object> {
  return Object.fromEntries(
    Object.entries(section).map(([name, node]) => [
      name,
      isOption(node) ? { ...node, sensitive: true } : withoutValues(node),
    ]),
  )
}

/** convict tells its problems in one text, a line each: `path: what is wrong`. */
function tellProblems(file: ConfigFile, section: Section, path: Path, words: string): void {
  const known = new Map(optionsOf(section).map(({ path: names, option }) => [names.join('.'), option]))
  for (const line of words.split('\n')) {
    const [, name = '', text = ''] = /^([\w.-]+): ?(.*)$/s.exec(line) ?? []
    const option = known.get(name)
    if (option === undefined) {
      file.problem(path, 'cannot be understood: a name in it may have a dot')
      continue
    }
    const names = [...path, ...name.split('.')]
    if (file.isBroken(names)) continue
    file.problem(names, explain(text.trim(), option, file.at(names), file.isReferred(names)))
  }
}

function explain(text: string, option: Option, value: unknown, referred: boolean): string {
  const choices = choicesOf(option)
  const words = choices.length > 0 ? `must be one of ${choices.join(', ')}` : text
  if (value === undefined) return `is missing (${option.doc}): it ${words}`
  if (typeof value === 'object') return words
  // A base URL that is refused may be so for the credentials in it.
  const secret = option.sensitive === true || referred || option.format === 'base-url'
  if (secret) return typeof value === 'string' && value !== '' ? words.replaceAll(value, '***') : words
  const hint = typeof value === 'string' ? didYouMean(value, choices) : ''
  return `${words}, not ${JSON.stringify(value)}${hint}`
}

function choicesOf({ format }: Option): string[] {
  return Array.isArray(format) ? format.map(String).filter((name) => name !== '') : []
}

export function unknownOption(name: string, known: readonly string[]): string {
  const hint = didYouMean(name, known)
  return `is not an option${hint === '' ? `; there are: ${known.join(', ')}` : hint}`
}

/** `; did you mean x?`, or nothing. */
export function didYouMean(name: string, known: readonly string[]): string {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  const near = known
    .map((candidate) => ({ candidate, steps: distance(plain(name), plain(candidate)) }))
    .filter(({ candidate, steps }) => steps <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.steps - b.steps)
  return near[0] === undefined ? '' : `; did you mean ${near[0].candidate}?`
}

/** How many letters to add, drop, replace or swap with their neighbour. Of short texts. */
function distance(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 8) return 99
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1] ? (before[j - 2] ?? 99) + 1 : 99
      next.push(Math.min((row[j - 1] ?? 0) + same, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, swapped))
    }
    before = row
    row = next
  }
  return row.at(-1) ?? 0
}

function hasUnresolved(value: unknown): boolean {
  if (value === unresolved) return true
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnresolved)
}

/** Reports the names that are not among the known ones. */
export function refuseUnknown(file: ConfigFile, path: Path, names: readonly string[], known: readonly string[]): void {
  for (const name of names) {
    if (!known.includes(name)) {
      file.problem(path, `${JSON.stringify(name)} is not one of: ${known.join(', ')}${didYouMean(name, known)}`)
    }
  }
}
