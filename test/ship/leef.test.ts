// A LEEF event must say what the event says, whatever is in it: LEEF has no escapes.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type {
  AttackBody,
  ConditionBody,
  GapBody,
  HeartbeatBody,
  RuleBody,
  SecurityEvent,
  VulnerabilityBody,
} from '../../src/event.ts'
import { leef } from '../../src/ship/formats/leef.ts'
import { attackTypeOf, classIdOf, outcomeOf, product } from '../../src/ship/fields/taxonomy.ts'
import { eventsEach, faultsOf, hasChecker } from './conformance.ts'
import { encoderOf } from './encoder.ts'
import { bodyOf, isAddress, json, listOfSources, valuesOf } from './flat-values.ts'
import type { Expected, Shown } from './flat-values.ts'
import { hostileEvent, hostileEvents, hostileText } from './hostile.ts'
import { attack, condition, gap, heartbeat, rule, vulnerability } from './typical.ts'

const encode = encoderOf(leef)

test('an attack', () => {
  expect(encode(attack())).toBe(
    `LEEF:2.0|Tailrace|WAF|${product.version}|attack.sqli|^|cat=attack^sev=7^devTime=1774892699007` +
      '^observedTime=1774892701000' +
      '^eventUid=q83vEjRWeJCrze8SNFZ4kA^revision=2^sequence=41^action=updated^tenant=acme^stream=attacks' +
      '^clientId=4711^identity=AM5CP50BU^type=sqli^cwe=CWE-89^attackTechnique=T1190^outcome=blocked^hits=17' +
      '^firstTime=1774892400000^lastTime=1774892699000^src=192.0.2.1^srcCountry=DE^ipCount=1^statusCodes=403' +
      '^threat=75^target=server^application=1^dstHost=shop.example.com^method=GET^url=/search^parameter=q',
  )
})

test('a vulnerability, a rule, a condition, a gap and a heartbeat', () => {
  const vuln = parse(encode(vulnerability()))
  expect(vuln.header).toEqual(['LEEF:2.0', 'Tailrace', 'WAF', product.version, 'vuln.xss', '^'])
  expect(vuln.values).toMatchObject({
    cat: 'vulnerability',
    sev: '5',
    identity: '17',
    humanId: 'ACME-17',
    description: 'Two lines',
    title: 'XSS',
    validateTime: '1774892400000',
    invalidateTime: '1774892600000',
    lastCheck: '1774892500000',
  })
  expect(parse(encode(rule())).values).toMatchObject({
    cat: 'rule',
    sev: '1',
    attackType: 'any',
    point: '[["header","HOST"]]',
    enabled: 'true',
    validated: 'false',
    conditions: '[{"type":"equal","point":["path",0],"value":"a=b"}]',
    condition: '4',
    comment: 'Blocks a path.',
    regex: '\ufffda=\\d+\ufffdb$',
  })
  expect(parse(encode(condition())).values).toMatchObject({
    name: 'Shop',
    conditions: '[{"type":"absent"}]',
    rules: '3',
  })
  expect(parse(encode(gap())).values).toMatchObject({ cat: 'gap', sev: '7', reason: 'HTTP 400', to: '1774892500000' })
  expect(parse(encode(heartbeat())).values).toMatchObject({
    cat: 'heartbeat',
    sev: '1',
    lastSequence: '40',
    events: '3',
  })
})

test('LEEF 1.0 has TABs and no delimiter field', () => {
  const line = encoderOf(leef, { version: '1.0' })(attack())
  expect(line.startsWith('LEEF:1.0|Tailrace|WAF|0.1.0|attack.sqli|cat=attack\tsev=7\tdevTime=1774892699007\t')).toBe(
    true,
  )
})

test('a delimiter of one wish', () => {
  const body = { ...bodyOf<AttackBody>(attack()), parameter: 'a^b~c\td' }
  const line = encoderOf(leef, { delimiter: '~' })(attack({ body }))
  expect(line).toContain('|~|cat=attack~sev=7~')
  expect(line.endsWith('~parameter=a^b\ufffdc d')).toBe(true)
  expect(encoderOf(leef, { delimiter: '0x5E' })(attack({ body }))).toContain('|0x5E|cat=attack^sev=7^')
  expect(encoderOf(leef, { delimiter: '0x09' })(attack({ body }))).toContain('|0x09|cat=attack\tsev=7\t')
  expect(() => encoderOf(leef, { delimiter: '=' })).toThrow('delimiter')
})

test('long values are cut, and named', () => {
  const body = { ...bodyOf<AttackBody>(attack()), path: '/'.repeat(300_000) }
  const line = encode(attack({ body, time: 0 }))
  const { values } = parse(line)
  expect(values['url']).toBe('/'.repeat(1023))
  expect(values).toMatchObject({ incomplete: 'devTime,url' })
  expect(line.length).toBeLessThan(2000)
})

function parse(line: string, delimiter = '^'): { readonly header: string[]; readonly values: Record<string, string> } {
  expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029\ufeff]/u)
  expect(line.isWellFormed()).toBe(true)
  const parts = line.split('|')
  expect(parts).toHaveLength(7)
  const values: Record<string, string> = Object.create(null) as Record<string, string>
  for (const pair of parts.at(-1)?.split(delimiter) ?? []) {
    const [, key = '', value = ''] = /^([a-z][A-Za-z0-9]*)=(.+)$/u.exec(pair) ?? []
    if (key === '' || key in values) throw new Error(`key ${key} in ${line}`)
    values[key] = value
  }
  return { header: parts.slice(0, -1), values: { ...values } }
}

const shown: Shown = (character) => {
  if ('\n\r\t'.includes(character)) return ' '
  return '|^'.includes(character) ? '\ufffd' : undefined
}

function valuesExpected(event: SecurityEvent): Record<string, string> {
  const as =
    (how: Expected['as']) =>
    (values: Readonly<Record<string, Expected['value']>>): Expected[] =>
      Object.entries(values).map(([key, value]) => ({ key, value, as: how }))
  const text = as('text')
  const integer = as('integer')
  const time = as('time')
  const range = (from: number | null, to: number | null): number | null =>
    from !== null && to !== null && from > to ? Number.NaN : from

  const common = [
    ...time({ devTime: event.time, observedTime: event.observedTime }),
    ...text({ eventUid: event.id }),
    ...integer({ revision: event.revision, sequence: event.sequence }),
    ...text({ action: event.action, tenant: event.tenant, stream: event.stream }),
    ...integer({ clientId: event.client }),
    ...text({ identity: event.identity, replayed: event.replayed || null }),
  ]
  const ofKind = (): Expected[] => {
    switch (event.kind) {
      case 'attack':
      case 'incident': {
        const body = bodyOf<AttackBody>(event)
        const [first] = body.sources
        const { cwe, technique } = attackTypeOf(body.type)
        const outcome = outcomeOf(body.blockStatus)
        const blockStatus = body.blockStatus === outcome ? null : body.blockStatus
        const src = isAddress(first?.ip, 4) || isAddress(first?.ip, 6) ? first?.ip : null
        return [
          ...text({ type: body.type, cwe, attackTechnique: technique?.id, outcome, blockStatus }),
          ...integer({ hits: body.hits }),
          ...time({ firstTime: range(body.firstTime, body.lastTime), lastTime: body.lastTime }),
          ...text({ src, srcCountry: first?.country }),
          ...integer({ ipCount: body.sourceCount }),
          ...text({ statusCodes: body.statusCodes.filter((code) => Number.isFinite(code)).join() }),
          ...integer({ threat: body.threat }),
          ...text({ target: body.target }),
          ...integer({ application: body.application }),
          ...text({ state: body.state, vulnId: body.vulnerability, dstHost: body.domain, method: body.method }),
          ...text({ url: body.path, parameter: body.parameter, sources: listOfSources(body.sources) }),
        ]
      }
      case 'vulnerability': {
        const { type, status, humanId, validateTime, invalidateTime, lastCheck, ...body } =
          bodyOf<VulnerabilityBody>(event)
        return [
          ...text({ type, cwe: attackTypeOf(type).cwe, status, humanId }),
          ...time({ validateTime, invalidateTime, lastCheck }),
          ...integer({ threat: body.threat }),
          ...text({ target: body.target, dstHost: body.domain, method: body.method, url: body.path }),
          ...text({ parameter: body.parameter, title: body.title, description: body.description }),
        ]
      }
      case 'rule': {
        const body = bodyOf<RuleBody>(event)
        return [
          ...text({ type: body.type, attackType: body.attackType }),
          ...integer({ condition: body.condition }),
          ...text({ validated: body.validated, enabled: body.enabled }),
          ...time({ updatedAt: body.updatedAt }),
          ...text({ comment: body.comment, point: json(body.point) }),
          ...text({ conditions: json(body.action), regex: body.regex }),
        ]
      }
      case 'condition': {
        const body = bodyOf<ConditionBody>(event)
        return [
          ...integer({ rules: body.rules }),
          ...time({ updatedAt: body.updatedAt }),
          ...text({ name: body.name, conditions: json(body.conditions) }),
        ]
      }
      case 'gap': {
        const { from, to, reason } = bodyOf<GapBody>(event)
        return [...time({ from: range(from, to), to }), ...text({ reason })]
      }
      case 'heartbeat': {
        const { watermark, events, lastSequence } = bodyOf<HeartbeatBody>(event)
        return [...time({ watermark }), ...integer({ events, lastSequence })]
      }
    }
  }
  const labels = Object.entries(event.labels).flatMap(([name, value]) =>
    text({ [`label${name.charAt(0).toUpperCase()}${name.slice(1)}`]: value }),
  )
  const values = valuesOf([...common, ...ofKind(), ...labels], { textMax: 1023, incompleteKey: 'incomplete', shown })
  return { ...values, cat: event.kind, sev: String(event.severity === 0 ? 1 : event.severity) }
}

function expectedOf(event: SecurityEvent): ReturnType<typeof parse> {
  const header = ['LEEF:2.0', 'Tailrace', 'WAF', product.version, classIdOf(event), '^']
  return { header, values: valuesExpected(event) }
}

describe('whatever is in an event', () => {
  test('each attribute has the value that it should, and there is no other', () => {
    fc.assert(
      fc.property(hostileEvent, (event) => {
        expect(parse(encode(event))).toEqual(expectedOf(event))
      }),
      { numRuns: 300 },
    )
  })

  test('likewise in many events', () => {
    for (const stream of ['attacks', 'vulnerabilities', 'rules', 'conditions'] as const) {
      for (const event of hostileEvents(500, { stream, action: 'updated', seed: 5 })) {
        expect(parse(encode(event))).toEqual(expectedOf(event))
      }
    }
  })

  test('vendor and product do not break the header', () => {
    fc.assert(
      fc.property(hostileText, hostileText, hostileEvent, (vendor, product, event) => {
        const { header, values } = parse(encoderOf(leef, { vendor, product, productVersion: vendor })(event))
        expect(header[4]).toBe(classIdOf(event))
        expect(values).toEqual(valuesExpected(event))
      }),
    )
  })

  test.skipIf(!hasChecker).for([{}, { version: '1.0' }, { delimiter: '0x09' }, { delimiter: ';' }])(
    'it conforms with %j',
    { timeout: eventsEach * 100 },
    async (options) => {
      const verdict = await faultsOf('leef', encoderOf(leef, options))
      expect(verdict).toEqual({ events: 30 * eventsEach, faulty: 0, problems: [] })
    },
  )
})
