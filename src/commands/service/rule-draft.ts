// Rules as operators give them, by options or in a file, as the service wants them.

import { didYouMean } from '../../config-check.ts'
import { isTree } from '../../config-file.ts'
import type {
  HeaderPoint,
  NewRule,
  PathPoint,
  RegexRule,
  RuleCondition,
  WeightedCondition,
} from '../../service/operations.ts'
import { misuse } from './access.ts'

export interface VpatchDraft {
  readonly clientid: number
  readonly path: string | undefined
  /** `NAME=VALUE` each. */
  readonly headers: readonly string[]
  readonly application: number | undefined
  /** Header names. */
  readonly points: readonly string[]
  readonly attackType: 'any' | 'scanner'
  readonly validated: boolean
}

/** One condition for each segment of the path and each header. */
export function vpatchOf(draft: VpatchDraft): NewRule {
  const { clientid, application, attackType, validated } = draft
  const conditions = [
    ...(draft.path === undefined ? [] : pathConditions(draft.path)),
    ...draft.headers.map(headerCondition),
  ]
  if (conditions.length === 0) throw misuse('--path or --header is missing: the rule would block every request')
  const point = draft.points.map(headerPoint)
  const common = { clientid, type: 'vpatch', validated, point, attack_type: attackType } as const
  if (application === undefined) return { ...common, action: conditions }
  // The interface shows that each condition of this form has a weight, not which: they follow the order.
  const first = { type: 'equal', point: ['instance'], value: String(application), weight: 1 } as const
  const rest = conditions.map((condition, index): WeightedCondition => ({ ...condition, weight: index + 2 }))
  return { ...common, action: [first, ...rest] }
}

export interface RegexDraft {
  readonly clientid: number
  readonly header: string
  readonly point: string
  readonly regex: string
  readonly comment: string
  readonly attackType: 'any' | 'scanner'
  readonly validated: boolean
}

export function regexRuleOf({ clientid, header, point, regex, comment, attackType, validated }: RegexDraft): RegexRule {
  if (regex === '') throw misuse('--regex is empty')
  const common = { clientid, type: 'regex', validated, attack_type: attackType, regex, comment } as const
  return { ...common, action: [headerCondition(header)], point: [headerPoint(point)] }
}

/**
 * A rule in the service's own names, from a file. What is left out: `clientid` as given, `validated` false,
 * `attack_type` and `comment` as with the options. `where` is named in errors.
 */
export function readRule(content: unknown, clientid: () => number, where: string): NewRule {
  if (!isTree(content)) throw misuse(`${where} must be a table of options`)
  const { type } = content
  if (type !== 'vpatch' && type !== 'regex') throw misuse(`${where}: type must be vpatch or regex`)
  const usual = { attack_type: type === 'regex' ? 'scanner' : 'any', ...(type === 'regex' ? { comment: '' } : {}) }
  const rule = {
    validated: false,
    point: [['header', 'HOST']],
    ...usual,
    ...content,
    clientid: content['clientid'] ?? clientid(),
  }
  const known = [...ruleKeys, ...(type === 'regex' ? ['regex', 'comment'] : [])]
  for (const key of Object.keys(rule))
    if (!known.includes(key)) throw misuse(`${where}: ${key} is not a field of a ${type} rule${didYouMean(key, known)}`)
  const problem = problemOf(rule)
  if (problem !== undefined) throw misuse(`${where}: ${problem}`)
  // Looked at field by field above.
  return rule as unknown as NewRule
}

const ruleKeys = ['clientid', 'type', 'action', 'validated', 'point', 'attack_type'] as const

function problemOf(rule: Readonly<Record<string, unknown>>): string | undefined {
  const { clientid, action, validated, point, attack_type: attackType, type, regex, comment } = rule
  if (!Number.isSafeInteger(clientid)) return 'clientid must be a client id'
  if (typeof validated !== 'boolean') return 'validated must be true or false'
  if (attackType !== 'any' && attackType !== 'scanner') return 'attack_type must be any or scanner'
  if (!Array.isArray(point) || point.length === 0 || !point.every(isHeaderPoint))
    return 'point must be a list of points, such as [[header, HOST]]'
  if (!Array.isArray(action) || action.length === 0) return 'action must be a list of conditions, and not empty'
  const bad = action.findIndex((condition) => !isCondition(condition))
  if (bad !== -1)
    return `action[${bad}] must be { type: equal, point: [path, 0] or [header, HOST] or [instance], value: text, weight: optional }`
  if (type !== 'regex') return undefined
  if (action.length !== 1) return 'action of a regex rule must have one condition'
  if (typeof regex !== 'string' || regex === '') return 'regex must be a regular expression'
  return typeof comment === 'string' ? undefined : 'comment must be text'
}

const conditionKeys = new Set(['type', 'point', 'value', 'weight'])

function isCondition(condition: unknown): boolean {
  if (!isTree(condition) || !Object.keys(condition).every((key) => conditionKeys.has(key))) return false
  const { type, point, value, weight = 1 } = condition
  return type === 'equal' && typeof value === 'string' && isPoint(point) && Number.isSafeInteger(weight)
}

function isPoint(point: unknown): boolean {
  if (!Array.isArray(point)) return false
  const [kind, index] = point as readonly unknown[]
  if (kind === 'instance') return point.length === 1
  return isHeaderPoint(point) || (kind === 'path' && point.length === 2 && Number.isSafeInteger(index))
}

function isHeaderPoint(point: unknown): boolean {
  return Array.isArray(point) && point.length === 2 && point[0] === 'header' && typeof point[1] === 'string'
}

/** `/api/v1` blocks everything below it: one condition for each segment. */
function pathConditions(path: string): RuleCondition<PathPoint>[] {
  if (!path.startsWith('/') || /[?#]/.test(path))
    throw misuse('--path must begin with / and have neither ? nor #, such as /api/v1')
  const segments = path.split('/').filter((segment) => segment !== '')
  if (segments.length === 0) throw misuse('--path has no segment: / would match every request')
  return segments.map((value, index) => ({ type: 'equal', point: ['path', index], value }))
}

function headerCondition(text: string): RuleCondition<HeaderPoint> {
  const at = text.indexOf('=')
  if (at < 1) throw misuse('--header must be NAME=VALUE, such as HOST=example.com')
  return { type: 'equal', point: headerPoint(text.slice(0, at)), value: text.slice(at + 1) }
}

/** In capitals, as the service writes names of headers. */
function headerPoint(name: string): HeaderPoint {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw misuse(`${JSON.stringify(name)} is not the name of a header`)
  return ['header', name.toUpperCase()]
}
