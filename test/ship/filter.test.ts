import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileFilter, filterMistake, type Filter, type Rule } from '../../src/ship/select/filter.ts'
import { attack } from './events.ts'
import { hostileEvent, hostileText } from './hostile.ts'

function fits(rule: Rule, event = attack()): boolean {
  return compileFilter({ include: [rule] })?.(event) ?? true
}

const gap = attack({
  kind: 'gap',
  action: 'gap',
  body: { from: 1, to: 2, reason: 'refused' },
  record: {},
  recordJson: '{}',
})

test('without rules there is no filter', () => {
  expect(compileFilter({})).toBeUndefined()
})

test('a rule fits when all of its conditions do, a list when any does', () => {
  expect(fits({ kind: 'attack', type: ['sqli', 'rce'], severity: '>=7' })).toBe(true)
  expect(fits({ kind: 'attack', type: ['xss', 'rce'] })).toBe(false)
  expect(fits({ kind: 'attack', type: 'sqli', severity: '>7' })).toBe(false)
})

test('any of include, none of exclude', () => {
  const filter = { include: [{ type: 'xss' }, { type: 'sqli' }], exclude: [{ client: 4711, 'body.domain': '*.test' }] }
  const passes = compileFilter(filter)
  expect(passes?.(attack())).toBe(true)
  const body = { ...attack().body, domain: 'shop.test' }
  expect(passes?.(attack({ body }))).toBe(false)
  expect(passes?.(attack({ body, client: 4712 }))).toBe(true)
})

describe('conditions', () => {
  test.each<[Rule, boolean]>([
    [{ severity: 'high' }, true],
    [{ severity: 'medium' }, false],
    [{ severity: '>=high' }, true],
    [{ severity: '>medium' }, true],
    [{ severity: '>high' }, false],
    [{ severity: '<=high' }, true],
    [{ severity: '<high' }, false],
    [{ severity: 7 }, true],
    [{ severity: '7' }, true],
    [{ 'body.hits': '> 16' }, true],
    [{ 'body.hits': '<17' }, false],
    [{ 'body.hits': '<=17.0' }, true],
    [{ replayed: false }, true],
    [{ client: '4711' }, true],
    [{ 'record.clientid': 4711 }, true],
    [{ 'body.state': null }, true],
    [{ 'body.state': [null, 'falsepositive'] }, true],
    [{ 'body.type': null }, false],
    [{ 'record.nothing.of.it': null }, true],
    [{ 'body.statusCodes': 403 }, true],
    [{ 'body.statusCodes': '>=500' }, false],
    [{ 'body.sources.ip': '192.0.2.*' }, true],
    [{ 'body.sources.country': 'FR' }, false],
    [{ attackid: 'AM5*' }, true],
    [{ domain: 'shop.*.com' }, true],
    [{ domain: 'Shop.example.com' }, false],
    [{ time: '2026-03-30T*' }, true],
    [{ record: 'x' }, false],
    [{ toString: '*' }, false],
  ])('%j', (rule, expected) => {
    expect(fits(rule)).toBe(expected)
  })
})

test.each([
  ['*', '', true],
  ['a*', 'a', true],
  ['a*a', 'a', false],
  ['a*b*c', 'aXbYc', true],
  ['a*b*c', 'acb', false],
  ['*b*b*', 'ab', false],
  ['*ab*bc*', 'abc', false],
  ['a**c', 'abc', true],
  ['.*', 'x', false],
])('the glob %j and %j: %j', (pattern, text, expected) => {
  expect(fits({ identity: pattern }, attack({ identity: text }))).toBe(expected)
})

test('gaps and heartbeats need not be included, but can be excluded', () => {
  expect(compileFilter({ include: [{ type: 'xss' }] })?.(gap)).toBe(true)
  expect(compileFilter({ exclude: [{ kind: 'gap' }] })?.(gap)).toBe(false)
})

test('short names are looked for in the body, then in the record', () => {
  const record = { hits: 99, poolid: 7 }
  expect(fits({ hits: 17, poolid: 7 }, attack({ record }))).toBe(true)
  expect(fits({ hits: 99 }, attack({ record }))).toBe(false)
})

test('a list nested deeper than the stack is gone through', () => {
  let deep: unknown = 'x'
  for (let n = 0; n < 100_000; n++) deep = [deep]
  expect(fits({ 'record.deep': 'x' }, attack({ record: { deep } }))).toBe(true)
})

test('a pattern that would make a regular expression try for hours is quick', () => {
  const text = 'a'.repeat(200_000)
  expect(fits({ identity: `${'*a'.repeat(50)}*b` }, attack({ identity: text }))).toBe(false)
})

test('it never throws, and a glob fits what it is cut from', () => {
  const names = ['kind', 'severity', 'type', 'body.sources.ip', 'record', '__proto__', 'record.constructor', 'time']
  const condition = fc.oneof(hostileText, fc.double(), fc.boolean(), fc.constant(null))
  const rule = fc.dictionary(fc.constantFrom(...names), fc.oneof(condition, fc.array(condition)), { minKeys: 1 })
  fc.assert(
    fc.property(hostileEvent, fc.array(rule), fc.array(rule), (event, include, exclude) => {
      expect(typeof (compileFilter({ include, exclude })?.(event) ?? true)).toBe('boolean')
    }),
  )
  const text = hostileText.filter((one) => !/^[<>]/.test(one))
  fc.assert(
    fc.property(text, hostileText, text, (start, middle, end) => {
      expect(fits({ identity: `${start}*${end}` }, attack({ identity: start + middle + end }))).toBe(true)
    }),
  )
})

describe('mistakes', () => {
  test.each<[unknown, string | undefined]>([
    [{}, undefined],
    [{ include: [{ kind: ['attack', 'inc*'], severity: '>=high', 'record.x.y': null }] }, undefined],
    ['attack', 'must be a table'],
    [[], 'must be a table'],
    [{ includes: [] }, 'has includes, which is neither'],
    [{ include: [] }, 'include must be a list of rules'],
    [{ include: { kind: 'attack' } }, 'include must be a list of rules'],
    [{ exclude: ['attack'] }, 'exclude[0] must be a table'],
    [{ exclude: [{ kind: 'gap' }, {}] }, 'exclude[1] is empty'],
    [{ include: [{ kind: [] }] }, 'include[0].kind is an empty list'],
    [{ include: [{ kind: 'atack' }] }, 'include[0].kind must be one of attack, '],
    [{ include: [{ stream: 'attack' }] }, 'must be one of attacks'],
    [{ include: [{ action: 'x*' }] }, 'must be one of created'],
    [
      { include: [{ severity: 'hihg' }] },
      'include[0].severity must be a number, a comparison, or one of informational',
    ],
    [{ include: [{ severity: '>=hihg' }] }, 'compares with what is no number and no level'],
    [{ include: [{ hits: '>=many' }] }, 'include[0].hits compares with what is no number'],
    [{ include: [{ hits: '=>7' }] }, undefined],
    [{ include: [{ hits: {} }] }, 'include[0].hits must be text'],
    [{ include: [{ hits: [[1]] }] }, 'include[0].hits must be text'],
    [{ include: [{ hits: Number.NaN }] }, 'must be text'],
    [{ include: [{ 'body.typ': 'sqli' }] }, 'include[0].body.typ names a field that no body has'],
    [{ include: [{ 'body..type': 'sqli' }] }, 'is no name of a field'],
    [{ include: [{ 'kind.x': 'sqli' }] }, 'has a dot after kind'],
    [{ include: [{ 'labels.site': 'x' }] }, 'labels are put on afterwards'],
  ])('%j', (filter, expected) => {
    expect(filterMistake(filter) ?? 'none').toContain(expected ?? 'none')
  })

  test('whatever is given, there is an answer', () => {
    fc.assert(
      fc.property(fc.anything(), (filter) => {
        const mistake = filterMistake(filter)
        const compiled = mistake === undefined ? compileFilter(filter as Filter) : undefined
        expect(compiled?.(attack()) ?? true).toBeTypeOf('boolean')
      }),
    )
  })
})
