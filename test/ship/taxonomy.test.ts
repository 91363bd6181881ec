// Class ids and names are what receivers correlate by: they must not vary with what an attacker sends.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  attackTypeOf,
  attackTypes,
  classIdOf,
  classToken,
  nameOf,
  outcomeOf,
  taxonomyTables,
} from '../../src/ship/fields/taxonomy.ts'
import { hostileEvent, hostileText } from './hostile.ts'
import { attack, condition, gap, heartbeat, rule, vulnerability } from './typical.ts'

test('class ids and names', () => {
  const events = [attack(), attack({ kind: 'incident' }), vulnerability(), rule(), condition(), gap(), heartbeat()]
  expect(events.map((event) => [classIdOf(event), nameOf(event)])).toEqual([
    ['attack.sqli', 'SQL injection'],
    ['incident.sqli', 'SQL injection incident'],
    ['vuln.xss', 'Cross-site scripting vulnerability'],
    ['rule.vpatch.deleted', 'Rule deleted'],
    ['condition.created', 'Condition created'],
    ['gap', 'Records could not be read'],
    ['heartbeat', 'Stream is alive'],
  ])
})

test('they are words of a few letters, whatever is in an event', () => {
  fc.assert(
    fc.property(hostileEvent, (event) => {
      expect(classIdOf(event)).toMatch(/^[a-z]+(\.[a-z][a-z0-9_-]{0,31})?(\.[a-z]+)?$/)
      expect(nameOf(event)).toMatch(/^[A-Z][A-Za-z0-9 -]{1,60}$/)
    }),
  )
})

test.for([
  ['sqli', 'sqli'],
  ['SQLi', 'sqli'],
  ['jwt_abuse', 'jwt_abuse'],
  ['[multiple]', 'multiple'],
  ['constructor', 'constructor'],
  ['', 'other'],
  ['1', 'other'],
  ['_', 'other'],
  ['a b', 'other'],
  ['sqli\n', 'other'],
  ['Å', 'other'],
  ['\u212A', 'other'],
  ['a'.repeat(33), 'other'],
  [null, 'other'],
] as const)('the type %j is %j in a class id', ([type, token]) => {
  expect(classToken(type)).toBe(token)
})

test('every type has a title, a CWE, and ATT&CK ids of the right form', () => {
  for (const [type, { title, cwe, technique }] of Object.entries(attackTypes)) {
    expect(classToken(type)).toBe(type)
    expect(title).toMatch(/^[A-Z]/)
    expect(cwe).toMatch(/^CWE-\d+$/)
    if (technique === undefined) continue
    expect(technique.id).toMatch(/^T\d{4}(\.\d{3})?$/)
    expect(technique.tactic.id).toMatch(/^TA\d{4}$/)
  }
})

test('a type that is not known', () => {
  expect(attackTypeOf('jwt_abuse')).toEqual({ title: 'Jwt abuse', cwe: 'CWE-20' })
  expect(attackTypeOf('toString')).toEqual({ title: 'Tostring', cwe: 'CWE-20' })
  fc.assert(fc.property(hostileText, (type) => attackTypeOf(type).cwe.startsWith('CWE-')))
})

test.for([
  ['blocked', 'blocked'],
  ['BLOCKED', 'blocked'],
  ['monitored', 'monitored'],
  ['partially_blocked', 'partial'],
  ['blocked ', 'unknown'],
  [null, 'unknown'],
] as const)('the block status %j is %j', ([status, outcome]) => {
  expect(outcomeOf(status)).toBe(outcome)
})

test('the published tables are whole', () => {
  for (const { columns, rows } of taxonomyTables) {
    expect(rows.length).toBeGreaterThan(0)
    for (const row of rows) expect(row).toHaveLength(columns.length)
  }
})
