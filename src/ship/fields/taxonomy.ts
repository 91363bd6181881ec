// What types of attacks mean to a receiver, and what events are called. Tables that all formats share.

import type { SecurityEvent } from '../../event.ts'
import { version } from '../../version.ts'
import type { MappingTable } from '../format.ts'

/** Who the events come from. Receivers route by vendor and product, so both are constant unless configured. */
export const product = { vendor: 'Tailrace', product: 'WAF', version } as const

/** A technique of MITRE ATT&CK (enterprise), with the tactic that it serves here. */
export interface Technique {
  readonly id: string
  readonly name: string
  readonly tactic: { readonly id: string; readonly name: string }
}

export interface AttackType {
  /** For people: no address, no identifier. */
  readonly title: string
  /** For example `CWE-89`. */
  readonly cwe: string
  /** Left out where the type does not say what the attacker is after. */
  readonly technique?: Technique
}

const initialAccess = { id: 'TA0001', name: 'Initial Access' }
const exploit = { id: 'T1190', name: 'Exploit Public-Facing Application', tactic: initialAccess }
const driveBy = { id: 'T1189', name: 'Drive-by Compromise', tactic: initialAccess }
const credentialAccess = { id: 'TA0006', name: 'Credential Access' }
const bruteForce = { id: 'T1110', name: 'Brute Force', tactic: credentialAccess }
const stuffing = { id: 'T1110.004', name: 'Credential Stuffing', tactic: credentialAccess }
const reconnaissance = { id: 'TA0043', name: 'Reconnaissance' }
const vulnerabilityScan = { id: 'T1595.002', name: 'Vulnerability Scanning', tactic: reconnaissance }
const wordlistScan = { id: 'T1595.003', name: 'Wordlist Scanning', tactic: reconnaissance }
const denial = { id: 'T1499', name: 'Endpoint Denial of Service', tactic: { id: 'TA0040', name: 'Impact' } }

/** Improper input validation: what all of them have in common, and what a type without a better one gets. */
const fallbackCwe = 'CWE-20'

/** The types that are known; the service may have others any day. */
export const attackTypes: Readonly<Record<string, AttackType>> = {
  sqli: { title: 'SQL injection', cwe: 'CWE-89', technique: exploit },
  xss: { title: 'Cross-site scripting', cwe: 'CWE-79', technique: driveBy },
  rce: { title: 'Remote code execution', cwe: 'CWE-78', technique: exploit },
  ptrav: { title: 'Path traversal', cwe: 'CWE-22', technique: exploit },
  xxe: { title: 'XML external entity', cwe: 'CWE-611', technique: exploit },
  crlf: { title: 'CRLF injection', cwe: 'CWE-93', technique: exploit },
  redir: { title: 'Open redirect', cwe: 'CWE-601' },
  nosqli: { title: 'NoSQL injection', cwe: 'CWE-943', technique: exploit },
  ldapi: { title: 'LDAP injection', cwe: 'CWE-90', technique: exploit },
  ssrf: { title: 'Server-side request forgery', cwe: 'CWE-918', technique: exploit },
  ssti: { title: 'Server-side template injection', cwe: 'CWE-94', technique: exploit },
  ssi: { title: 'Server-side include injection', cwe: 'CWE-97', technique: exploit },
  mail_injection: { title: 'Mail injection', cwe: 'CWE-88', technique: exploit },
  bola: { title: 'Broken object level authorization', cwe: 'CWE-639' },
  idor: { title: 'Insecure direct object reference', cwe: 'CWE-639' },
  csrf: { title: 'Cross-site request forgery', cwe: 'CWE-352' },
  brute: { title: 'Brute force', cwe: 'CWE-307', technique: bruteForce },
  credential_stuffing: { title: 'Credential stuffing', cwe: 'CWE-307', technique: stuffing },
  dirbust: { title: 'Forced browsing', cwe: 'CWE-425', technique: wordlistScan },
  scanner: { title: 'Scanner', cwe: fallbackCwe, technique: vulnerabilityScan },
  infoleak: { title: 'Information exposure', cwe: 'CWE-200' },
  info: { title: 'Information exposure', cwe: 'CWE-200' },
  data_bomb: { title: 'Data bomb', cwe: 'CWE-409', technique: denial },
  overlimit_res: { title: 'Overlimiting of resources', cwe: 'CWE-400', technique: denial },
  resource_consumption: { title: 'Resource consumption', cwe: 'CWE-400', technique: denial },
  gql_depth: { title: 'GraphQL query depth', cwe: 'CWE-400', technique: denial },
  mass_assignment: { title: 'Mass assignment', cwe: 'CWE-915' },
  api_abuse: { title: 'API abuse', cwe: fallbackCwe },
  bot: { title: 'Bot', cwe: fallbackCwe },
  vpatch: { title: 'Virtual patch', cwe: fallbackCwe },
  blocked_source: { title: 'Blocked source', cwe: fallbackCwe },
  invalid_xml: { title: 'Invalid XML', cwe: fallbackCwe },
  undefined_endpoint: { title: 'Undefined endpoint', cwe: fallbackCwe },
  multiple: { title: 'Several attack types', cwe: fallbackCwe },
  other: { title: 'Web attack', cwe: fallbackCwe },
}

/** A type that is not in the table has a title made of itself. */
export function attackTypeOf(type: string | null): AttackType {
  return attackTypeOfToken(classToken(type))
}

function attackTypeOfToken(token: string): AttackType {
  const known = Object.hasOwn(attackTypes, token) ? attackTypes[token] : undefined
  return known ?? { title: titleOf(token), cwe: fallbackCwe }
}

function titleOf(token: string): string {
  return token.charAt(0).toUpperCase() + token.slice(1).replaceAll(/[_-]+/g, ' ').trimEnd()
}

/**
 * A type as part of a class id: small letters, digits, `_` and `-`, a letter first, at most 32 of them. `[multiple]`,
 * as the service has it for several types, is `multiple`. What is no such word, or missing, is `other`: class ids
 * must not vary with what an attacker can choose.
 */
export function classToken(text: string | null): string {
  if (text === '[multiple]') return 'multiple'
  return text !== null && /^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(text) ? text.toLowerCase() : 'other'
}

/** What a correlation rule goes by: the same for all events of a sort. The scheme is `classIds` below. */
export function classIdOf(event: SecurityEvent): string {
  const type = classToken(typeOf(event))
  switch (event.kind) {
    case 'attack':
    case 'incident':
      return `${event.kind}.${type}`
    case 'vulnerability':
      return `vuln.${type}`
    case 'rule':
      return `rule.${type}.${event.action}`
    case 'condition':
      return `condition.${event.action}`
    case 'gap':
    case 'heartbeat':
      return event.kind
  }
}

/** What people call it: as constant as the class id, without a value of any field. */
export function nameOf(event: SecurityEvent): string {
  switch (event.kind) {
    case 'attack':
      return attackTypeOf(typeOf(event)).title
    case 'incident':
    case 'vulnerability':
      return `${attackTypeOf(typeOf(event)).title} ${event.kind}`
    case 'rule':
      return `Rule ${event.action}`
    case 'condition':
      return `Condition ${event.action}`
    case 'gap':
      return 'Records could not be read'
    case 'heartbeat':
      return 'Stream is alive'
  }
}

/** The type of an attack, a vulnerability or a rule; null for what has none. */
export function typeOf({ body }: SecurityEvent): string | null {
  return 'type' in body ? body.type : null
}

/** What became of the requests of an attack. */
export type Outcome = 'blocked' | 'monitored' | 'partial' | 'unknown'

/** The service's words for it are an open set: whatever has `partial` in it is partial. */
export function outcomeOf(blockStatus: string | null): Outcome {
  if (blockStatus === null) return 'unknown'
  const status = blockStatus.toLowerCase()
  if (status === 'blocked' || status === 'monitored') return status
  return status.includes('partial') ? 'partial' : 'unknown'
}

const classIds: MappingTable = {
  title: 'Class ids and names',
  notes: [
    'The same in every format. `<type>` is the type in small letters: letters, digits, `_` and `-`, a letter first, ' +
      'at most 32. `[multiple]` is `multiple`; what is no such word, or missing, is `other`.',
    'A type that is not in the table below has a name made of itself: `jwt_abuse` is "Jwt abuse".',
  ],
  columns: ['kind', 'class id', 'name'],
  rows: [
    ['attack', '`attack.<type>`', 'the name of the type'],
    ['incident', '`incident.<type>`', 'the name of the type, and "incident"'],
    ['vulnerability', '`vuln.<type>`', 'the name of the type, and "vulnerability"'],
    ['rule', '`rule.<type>.<action>`', 'Rule created, Rule updated, Rule deleted'],
    ['condition', '`condition.<action>`', 'Condition created, Condition updated, Condition deleted'],
    ['gap', '`gap`', 'Records could not be read'],
    ['heartbeat', '`heartbeat`', 'Stream is alive'],
  ],
}

const types: MappingTable = {
  title: 'Types of attacks',
  notes: ['ATT&CK is given where the type says what the attacker is after, and left out elsewhere.'],
  columns: ['type', 'name', 'CWE', 'ATT&CK technique', 'tactic'],
  rows: Object.entries(attackTypes).map(([type, { title, cwe, technique }]) => [
    `\`${type}\``,
    title,
    cwe,
    technique ? `${technique.id} ${technique.name}` : '',
    technique ? `${technique.tactic.id} ${technique.tactic.name}` : '',
  ]),
}

const outcomes: MappingTable = {
  title: 'Outcome of an attack',
  columns: ['block status', 'outcome'],
  rows: [
    ['`blocked`', '`blocked`'],
    ['`monitored`', '`monitored`'],
    ['has `partial` in it', '`partial`'],
    ['anything else, or missing', '`unknown`'],
  ],
}

/** The part of `config/mappings.md` that all formats share. */
export const taxonomyTables: readonly MappingTable[] = [classIds, types, outcomes]
