// Reads a file of the configuration: its YAML, the variables over it, the secrets it refers to. Every
// problem is collected, with file, line and path.

import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isMap, LineCounter, parseDocument, type Document } from 'yaml'
import { TailraceError } from './errors.ts'
import { optionsOf, variableOf, type Section } from './config-options.ts'
import { resolveReferences, unreadable, type Environment } from './secrets.ts'

export type Path = readonly (string | number)[]

interface Problem {
  readonly path: Path
  readonly text: string
  readonly missingSecret: boolean
}

/** What stands for a value whose reference led nowhere: that is reported already. */
export const unresolved = Symbol('unresolved')

export type Tree = Readonly<Record<string, unknown>>

/** One file: its content with references resolved, and the problems found in it so far. */
export interface ConfigFile {
  readonly file: string
  readonly folder: string
  readonly tree: Tree
  /** Every file that counts: this one, and those that it refers to. Absolute. */
  readonly sources: Set<string>
  /** What the file has at the path. */
  at(path: Path): unknown
  problem(path: Path, text: string): void
  /** Whether a value came, in whole or in part, out of a reference: it must not be shown. */
  isReferred(path: Path): boolean
  /** Where a value came from, if not from the file. */
  variable(path: Path): string | undefined
  /** Whether something is wrong at the path or below it. */
  isBroken(path: Path): boolean
  /** Throws when there is any problem: `secret_missing` when it is nothing else, or `config_invalid`. */
  settle(): void
}

/** Never throws: a file that cannot be read has no content and a problem. */
export function readConfigFile(file: string, env: Environment, overridable: Section = {}): ConfigFile {
  const folder = dirname(file)
  const problems: Problem[] = []
  const referred = new Set<string>()
  const sources = new Set([file])
  const lines = new LineCounter()
  let readable = true
  const add = (path: Path, text: string, missingSecret = false): void => {
    // Where nothing could be read, everything is missing: that helps nobody.
    if (readable) problems.push({ path, text, missingSecret })
  }
  const document = parse(file, lines, add)
  const raw = contentOf(document, add)
  readable = problems.length === 0
  const variables = override(raw, overridable, env)
  const resolveAll = (value: unknown, path: Path): unknown => {
    if (Array.isArray(value)) return value.map((inner, index) => resolveAll(inner, [...path, index]))
    if (isTree(value)) return mapTree(value, (inner, name) => resolveAll(inner, [...path, name]))
    if (typeof value !== 'string') return value
    const found = resolveReferences(value, env, folder, (path) => sources.add(path))
    if ('value' in found) {
      if (found.referred) referred.add(show(path))
      return found.value
    }
    add(path, 'missing' in found ? found.missing : found.invalid, 'missing' in found)
    return unresolved
  }
  const tree = resolveAll(raw, [])
  const begins = (path: Path, start: Path): boolean => start.every((name, index) => path[index] === name)
  return {
    file,
    folder,
    sources,
    tree: isTree(tree) ? tree : {},
    at: (path) => path.reduce<unknown>((at, name) => (isObject(at) ? Reflect.get(at, name) : undefined), tree),
    problem: (path, text) => add(path, text),
    isReferred: (path) => referred.has(show(path)),
    variable: (path) => variables.get(show(path)),
    isBroken: (path) => problems.some((problem) => begins(problem.path, path)),
    settle() {
      if (problems.length === 0) return
      const told = problems.map(({ path, text }) => {
        const variable = variables.get(show(path))
        const where = variable === undefined ? lineOf(document, lines, path) : ` (${variable})`
        return `  ${[path.length === 0 ? '' : show(path), where].join('').trim() || 'the file'}: ${text}`
      })
      const code = problems.every((problem) => problem.missingSecret) ? 'secret_missing' : 'config_invalid'
      const each = [...new Set(told)]
      const many = each.length === 1 ? 'a mistake' : `${each.length} mistakes`
      throw new TailraceError(code, `${file} has ${many}:\n${each.join('\n')}`)
    },
  }
}

function parse(file: string, lines: LineCounter, add: (path: Path, text: string) => void): Document.Parsed | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    add([], `cannot be read: it is a file ${unreadable(error)}`)
    return undefined
  }
  // Without the pretty errors, which quote the file: there may be a secret in that line.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  for (const error of document.errors) {
    const { line, col } = lines.linePos(error.pos[0])
    add([], `is not YAML at line ${line}, column ${col}: ${error.message.split(/[:"'`]/, 1)[0]} (${error.code})`)
  }
  return document
}

function contentOf(document: Document.Parsed | undefined, add: (path: Path, text: string) => void): Tree {
  if (document === undefined || document.errors.length > 0 || document.contents === null) return {}
  try {
    const content: unknown = isMap(document.contents) ? document.toJS({ maxAliasCount: 100 }) : undefined
    if (isTree(content)) return content
  } catch {
    // Too many aliases: as good as unreadable.
  }
  add([], 'must consist of options, such as "log: { level: info }"')
  return {}
}

/** Puts the variables that are set over the values of the file. Which ones, by path. */
function override(tree: Tree, section: Section, env: Environment): Map<string, string> {
  const found = new Map<string, string>()
  for (const { path } of optionsOf(section)) {
    const variable = variableOf(path)
    const value = env[variable]
    if (value === undefined || value === '') continue
    let at: Record<string, unknown> | undefined = tree
    for (const name of path.slice(0, -1)) {
      const inner: unknown = (at[name] ??= {})
      // A section that is none is reported as such.
      at = isTree(inner) ? inner : undefined
      if (at === undefined) break
    }
    const last = path.at(-1)
    if (at === undefined || last === undefined) continue
    at[last] = value
    found.set(show(path), variable)
  }
  return found
}

function lineOf(document: Document.Parsed | undefined, lines: LineCounter, path: Path): string {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document?.getIn(path.slice(0, length), true)
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)) {
      const offset: unknown = node.range[0]
      if (typeof offset === 'number') return ` (line ${lines.linePos(offset).line})`
    }
  }
  return ''
}

/** `destinations[1].token` */
export function show(path: Path): string {
  return path.reduce<string>((text, name) => {
    if (typeof name === 'number') return `${text}[${name}]`
    return text === '' ? name : `${text}.${name}`
  }, '')
}

export function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mapTree(tree: Tree, map: (value: unknown, name: string) => unknown): Tree {
  return Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, map(value, name)]))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
