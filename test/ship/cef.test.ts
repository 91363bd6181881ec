// A CEF message must say what the event says, whatever is in it: read back by a strict parser and by liblognorm.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
import { cef } from '../../src/ship/formats/cef.ts'
import { attackTypeOf, classIdOf, classToken, nameOf, outcomeOf, product } from '../../src/ship/fields/taxonomy.ts'
import { eventsEach, faultsOf, hasChecker } from './conformance.ts'
import { encoderOf } from './encoder.ts'
import { attack, condition, gap, heartbeat, rule, vulnerability } from './typical.ts'
import { bodyOf, isAddress, json, listOfSources, plain, valuesOf } from './flat-values.ts'
import type { Expected, Shown } from './flat-values.ts'
import { hostileEvent, hostileEvents, hostileText } from './hostile.ts'

const encode = encoderOf(cef)

test('an attack', () => {
  expect(encode(attack())).toBe(
    `CEF:0|Tailrace|WAF|${product.version}|attack.sqli|SQL injection|7|cat=attack/sqli type=1 externalId=AM5CP50BU` +
      ' rt=1774892699007 deviceCustomDate1=1774892701000 deviceCustomDate1Label=observedTime' +
      ' TailraceWAFEventId=q83vEjRWeJCrze8SNFZ4kA TailraceWAFRevision=2 TailraceWAFSequence=41' +
      ' TailraceWAFAction=updated TailraceWAFTenant=acme TailraceWAFStream=attacks' +
      ' flexString1=4711 flexString1Label=client cs5=AM5CP50BU cs5Label=identity' +
      ' TailraceWAFType=sqli TailraceWAFCwe=CWE-89 TailraceWAFAttackTechnique=T1190' +
      ' act=blocked cnt=17 start=1774892400000 end=1774892699000 src=192.0.2.1 TailraceWAFSourceCountry=DE' +
      ' cn1=1 cn1Label=sourceCount cs2=403 cs2Label=statusCodes cn2=75 cn2Label=threat cs3=server cs3Label=target' +
      ' cs4=1 cs4Label=application dhost=shop.example.com requestMethod=GET request=/search' +
      ' cs1=q cs1Label=parameter',
  )
})

test('a vulnerability', () => {
  const { header, values } = parse(encode(vulnerability()))
  expect(header.slice(4)).toEqual(['vuln.xss', 'Cross-site scripting vulnerability', '5'])
  expect(values).toMatchObject({
    cat: 'vulnerability/xss',
    type: '0',
    externalId: '17',
    TailraceWAFAction: 'closed',
    TailraceWAFCwe: 'CWE-79',
    cs2: 'closed',
    cs2Label: 'status',
    cs4: 'ACME-17',
    cs4Label: 'humanId',
    cs6: 'XSS',
    cs6Label: 'title',
    msg: 'Two\nlines',
    dhost: 'shop.example.com',
    request: '/search',
    cn2: '60',
    start: '1774892400000',
    flexDate1: '1774892600000',
    flexDate1Label: 'invalidateTime',
    deviceCustomDate2: '1774892500000',
    deviceCustomDate2Label: 'lastCheck',
  })
})

test('a rule, a condition, a gap and a heartbeat', () => {
  expect(parse(encode(rule())).header.slice(4)).toEqual(['rule.vpatch.deleted', 'Rule deleted', '0'])
  expect(parse(encode(rule())).values).toMatchObject({
    cat: 'rule/vpatch',
    externalId: '17',
    cs1: 'any',
    cs1Label: 'attackType',
    cs2: '[["header","HOST"]]',
    cs3: '[{"type":"equal","point":["path",0],"value":"a=b"}]',
    cs3Label: 'conditions',
    cs6: '4',
    cs4: String.raw`^a=\d+|b$`,
    cs4Label: 'regex',
    msg: 'Blocks a path.',
    TailraceWAFValidated: 'false',
    flexString2: 'true',
    flexString2Label: 'enabled',
    deviceCustomDate2: '1774892500000',
  })
  expect(encode(condition())).toContain('|condition.created|Condition created|0|cat=condition type=0 ')
  expect(parse(encode(condition())).values).toMatchObject({ cs1: 'Shop', cs3: '[{"type":"absent"}]', cn1: '3' })
  expect(encode(gap())).toContain('|gap|Records could not be read|7|cat=gap type=0 ')
  expect(parse(encode(gap())).values).toMatchObject({
    start: '1774892400000',
    end: '1774892500000',
    reason: 'HTTP 400',
  })
  expect(encode(heartbeat())).toContain('|heartbeat|Stream is alive|0|cat=heartbeat type=0 ')
  expect(parse(encode(heartbeat())).values).toMatchObject({ deviceCustomDate2: '1774892500000', cn1: '3', cn3: '40' })
})

test('vendor and product: in the header, and before keys of our own', () => {
  const own = encoderOf(cef, { vendor: 'A|B\\ Ltd.', product: ' W\nAF ', version: '', scheme: 'https' })
  const { header, values } = parse(own(attack({ labels: { site: 'berlin' } })))
  expect(header.slice(1, 4)).toEqual(['A|B\\ Ltd.', 'W AF', product.version])
  expect(values).toMatchObject({ ABLtdWAFLabelSite: 'berlin', request: 'https://shop.example.com/search' })
})

test('what does not fit is cut between characters, and named', () => {
  const body = { ...bodyOf<AttackBody>(attack()), path: `/${'a'.repeat(1021)}😀`, parameter: '='.repeat(300_000) }
  const line = encode(attack({ body }))
  const { values } = parse(line)
  expect(values['request']).toBe(`/${'a'.repeat(1021)}`)
  expect(values['cs1']).toBe('='.repeat(4000))
  expect(values['TailraceWAFIncomplete']).toBe('request,cs1')
  expect(line.length).toBeLessThan(12_000)
})

test('externalId: 40 characters at most', () => {
  const idOf = (identity: string): string | undefined => parse(encode(attack({ identity }))).values['externalId']
  expect(idOf('attacks_eu_4711_202611_v_1:AM5CP50BU-M_02QxawVC')).toBe('AM5CP50BU-M_02QxawVC')
  expect(idOf(`a:${'b'.repeat(38)}`)).toBe(`a:${'b'.repeat(38)}`)
  const long = `a:${'b'.repeat(60)}`
  expect(idOf(long)).toBe(createHash('sha1').update(long).digest('hex'))
})

/** Written by the letter of the standard: what it does not allow is thrown. */
function parse(line: string): { readonly header: string[]; readonly values: Record<string, string> } {
  expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029\ufeff]/u)
  expect(line.isWellFormed()).toBe(true)
  const header = /^((?:[^\\|]|\\[\\|])+\|){7}/.exec(line)?.[0] ?? fail(`header of ${line}`)
  const fields = [...header.matchAll(/((?:[^\\|]|\\[\\|])+)\|/g)].map(([, field = '']) =>
    field.replaceAll(/\\(.)/g, '$1'),
  )
  const values: Record<string, string> = Object.create(null) as Record<string, string>
  const pair = /([A-Za-z0-9]+)=((?:[^\\=]|\\[\\=nr])*?)(?= [A-Za-z0-9]+=|$)/y
  pair.lastIndex = header.length
  while (pair.lastIndex < line.length) {
    const [, key = '', raw = ''] = pair.exec(line) ?? fail(`pair in ${line}`)
    if (key in values) fail(`${key} twice in ${line}`)
    values[key] = raw.replaceAll(/\\(.)/g, (_, escaped: string) => ({ n: '\n', r: '\r' })[escaped] ?? escaped)
    if (pair.lastIndex < line.length) pair.lastIndex += 1
  }
  return { header: fields, values: { ...values } }
}

function fail(what: string): never {
  throw new Error(what)
}

const shown: Shown = (character) => (character === '\t' ? ' ' : '\n\r'.includes(character) ? character : undefined)

function valuesExpected(event: SecurityEvent): Record<string, string> {
  const text = (key: string, value: Expected['value'], max?: number, label?: string): Expected => ({
    key,
    value,
    as: 'text',
    max,
    label,
  })
  const integer = (key: string, value: number | null, label?: string, max?: number): Expected => ({
    key,
    value,
    as: 'integer',
    max,
    label,
  })
  const time = (key: string, value: number | null, label?: string): Expected => ({ key, value, as: 'time', label })
  const custom = (key: string, value: Expected['value'], label: string): Expected => text(key, value, 4000, label)
  const range = (from: number | null, to: number | null): number | null =>
    from !== null && to !== null && from > to ? Number.NaN : from
  const own = (name: string): string => `TailraceWAF${name}`

  const common: Expected[] = [
    time('rt', event.time),
    time('deviceCustomDate1', event.observedTime, 'observedTime'),
    text(own('EventId'), event.id),
    integer(own('Revision'), event.revision),
    integer(own('Sequence'), event.sequence),
    text(own('Action'), event.action),
    text(own('Tenant'), event.tenant),
    text(own('Stream'), event.stream),
    integer('flexString1', event.client, 'client'),
    custom('cs5', event.identity, 'identity'),
    text(own('Replayed'), event.replayed || null),
  ]
  const ofKind = (): Expected[] => {
    switch (event.kind) {
      case 'attack':
      case 'incident': {
        const body = bodyOf<AttackBody>(event)
        const [first] = body.sources
        const outcome = outcomeOf(body.blockStatus)
        return [
          text(own('Type'), body.type),
          text(own('Cwe'), attackTypeOf(body.type).cwe),
          text(own('AttackTechnique'), attackTypeOf(body.type).technique?.id),
          text('act', outcome),
          text(own('BlockStatus'), body.blockStatus === outcome ? null : body.blockStatus),
          integer('cnt', body.hits, undefined, 2 ** 31 - 1),
          time('start', range(body.firstTime, body.lastTime)),
          time('end', body.lastTime),
          text('src', isAddress(first?.ip, 4) ? first?.ip : null),
          text('c6a2', isAddress(first?.ip, 6) ? first?.ip : null, undefined, 'Source IPv6 Address'),
          text(own('SourceCountry'), first?.country),
          integer('cn1', body.sourceCount, 'sourceCount'),
          custom('cs2', body.statusCodes.filter((code) => Number.isFinite(code)).join(), 'statusCodes'),
          integer('cn2', body.threat, 'threat'),
          custom('cs3', body.target, 'target'),
          integer('cs4', body.application, 'application'),
          text('flexString2', body.state, 1023, 'state'),
          custom('cs6', body.vulnerability, 'vulnerability'),
          text('dhost', body.domain),
          text('requestMethod', body.method),
          text('request', body.path),
          custom('cs1', body.parameter, 'parameter'),
          text(own('Sources'), listOfSources(body.sources)),
        ]
      }
      case 'vulnerability': {
        const body = bodyOf<VulnerabilityBody>(event)
        return [
          text(own('Type'), body.type),
          text(own('Cwe'), attackTypeOf(body.type).cwe),
          custom('cs2', body.status, 'status'),
          custom('cs4', body.humanId, 'humanId'),
          time('start', body.validateTime),
          time('flexDate1', body.invalidateTime, 'invalidateTime'),
          time('deviceCustomDate2', body.lastCheck, 'lastCheck'),
          integer('cn2', body.threat, 'threat'),
          custom('cs3', body.target, 'target'),
          text('dhost', body.domain),
          text('requestMethod', body.method),
          text('request', body.path),
          custom('cs1', body.parameter, 'parameter'),
          custom('cs6', body.title, 'title'),
          text('msg', body.description),
        ]
      }
      case 'rule': {
        const body = bodyOf<RuleBody>(event)
        return [
          text(own('Type'), body.type),
          custom('cs1', body.attackType, 'attackType'),
          integer('cs6', body.condition, 'condition'),
          text(own('Validated'), body.validated),
          text('flexString2', body.enabled, 1023, 'enabled'),
          time('deviceCustomDate2', body.updatedAt, 'updatedAt'),
          text('msg', body.comment),
          custom('cs2', json(body.point), 'point'),
          custom('cs3', json(body.action), 'conditions'),
          custom('cs4', body.regex, 'regex'),
        ]
      }
      case 'condition': {
        const body = bodyOf<ConditionBody>(event)
        return [
          integer('cn1', body.rules, 'rules'),
          time('deviceCustomDate2', body.updatedAt, 'updatedAt'),
          custom('cs1', body.name, 'name'),
          custom('cs3', json(body.conditions), 'conditions'),
        ]
      }
      case 'gap': {
        const body = bodyOf<GapBody>(event)
        return [time('start', range(body.from, body.to)), time('end', body.to), text('reason', body.reason)]
      }
      case 'heartbeat': {
        const body = bodyOf<HeartbeatBody>(event)
        return [
          time('deviceCustomDate2', body.watermark, 'watermark'),
          integer('cn1', body.events, 'events'),
          integer('cn3', body.lastSequence, 'lastSequence'),
        ]
      }
    }
  }
  const labels = Object.entries(event.labels).map(([name, value]) =>
    text(own(`Label${name.charAt(0).toUpperCase()}${name.slice(1)}`), value),
  )
  const values = valuesOf([...common, ...ofKind(), ...labels], {
    textMax: 1023,
    incompleteKey: own('Incomplete'),
    shown,
  })
  const isAttack = event.kind === 'attack' || event.kind === 'incident'
  const hasType = isAttack || event.kind === 'vulnerability' || event.kind === 'rule'
  values['cat'] = hasType ? `${event.kind}/${classToken(bodyOf<AttackBody>(event).type)}` : event.kind
  values['type'] = isAttack ? '1' : '0'
  const id = externalId(event.identity)
  if (id !== '') values['externalId'] = id
  return values
}

function externalId(identity: string): string {
  if (identity.trim().length <= 40) return plain(identity, 40, shown).text
  const last = identity.split(':').at(-1)?.trim() ?? ''
  if (last !== '' && last.length <= 40) return plain(last, 40, shown).text
  return createHash('sha1').update(identity).digest('hex')
}

function expectedOf(event: SecurityEvent): ReturnType<typeof parse> {
  const origin = ['CEF:0', 'Tailrace', 'WAF', product.version]
  const header = [...origin, classIdOf(event), nameOf(event), String(event.severity)]
  return { header, values: valuesExpected(event) }
}

describe('whatever is in an event', () => {
  test('each key has the value that it should, and there is no other key', () => {
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
        const { header, values } = parse(encoderOf(cef, { vendor, product, version: vendor })(event))
        expect(header).toHaveLength(7)
        expect(header[4]).toBe(classIdOf(event))
        expect(Object.keys(values)).toHaveLength(Object.keys(valuesExpected(event)).length)
      }),
    )
  })

  test.skipIf(!hasChecker)('it conforms', { timeout: eventsEach * 100 }, async () => {
    expect(await faultsOf('cef', encode)).toEqual({ events: 30 * eventsEach, faulty: 0, problems: [] })
  })
})

// rsyslog's mmnormalize is made of the same library. Of the first key it eats the first letter; it was right about all
// others whenever it was asked, and it refuses a message with a character that should have been escaped.
const normalizer = 'lognormalizer'
const hasNormalizer = spawnSync(normalizer, ['-v']).error === undefined

test.skipIf(!hasNormalizer)('liblognorm reads it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tailrace-cef-'))
  try {
    const rules = join(folder, 'cef.rulebase')
    writeFileSync(rules, 'version=2\nrule=:%f:cef%\n')
    const events = [...hostileEvents(1500, { stream: 'attacks', action: 'created', seed: 3 })]
    const input = events.map((event) => `${encode(event)}\n`).join('')
    const { stdout } = spawnSync(normalizer, ['-r', rules, '-e', 'json'], { input, maxBuffer: 2 ** 28 })
    const read = stdout.toString().trimEnd().split('\n')
    expect(read).toHaveLength(events.length)
    for (const [i, event] of events.entries()) {
      const { f } = JSON.parse(read[i] ?? '') as { readonly f?: { readonly Extensions: Record<string, string> } }
      const { cat, ...others } = valuesExpected(event)
      expect(f?.Extensions).toEqual({ ...others, at: cat })
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
