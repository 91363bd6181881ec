// Documents of the Elastic Common Schema.

import { expect, test } from 'vitest'
import type { AttackBody, RuleBody, SecurityEvent, VulnerabilityBody } from '../../src/event.ts'
import { ecs } from '../../src/ship/formats/ecs.ts'
import { version } from '../../src/version.ts'
import { attack } from './events.ts'
import {
  at,
  compiled,
  condition,
  eachHostile,
  gap,
  heartbeat,
  incident,
  joined,
  loadCheck,
  parsed,
  perAction,
  rule,
  testStructured,
  textAt,
  vulnerability,
  wrong,
} from './structured.ts'
import type { Document, Expected } from './structured.ts'

const encode = compiled(ecs, {})

test('an attack', () => {
  expect(parsed(encode(attack()))).toEqual({
    '@timestamp': '2026-03-30T17:44:59.007Z',
    ecs: { version: '9.4.0' },
    data_stream: { type: 'logs', dataset: 'waf.attack', namespace: 'default' },
    message: 'SQL injection',
    log: { level: 'error' },
    event: {
      id: 'q83vEjRWeJCrze8SNFZ4kA',
      dataset: 'waf.attack',
      module: 'waf',
      provider: 'tailrace',
      code: 'attack.sqli',
      severity: 7,
      sequence: 41,
      created: '2026-03-30T17:45:01.000Z',
      original: '{"attackid":"AM5CP50BU","clientid":4711,"type":"sqli","domain":"shop.example.com","hits":17}',
      kind: 'alert',
      category: ['intrusion_detection'],
      type: ['denied', 'info'],
      action: 'waf-attack-blocked',
      risk_score: 75,
      start: '2026-03-30T17:40:00.000Z',
      end: '2026-03-30T17:44:59.000Z',
      duration: 299000000000,
    },
    observer: { type: 'waf', vendor: 'Tailrace', product: 'WAF', version },
    organization: { id: '4711', name: 'acme' },
    rule: { id: 'sqli', name: 'SQL injection', category: 'attack' },
    source: { address: '192.0.2.1', ip: '192.0.2.1', geo: { country_iso_code: 'DE' } },
    destination: { address: 'shop.example.com', domain: 'shop.example.com' },
    url: { domain: 'shop.example.com', path: '/search' },
    http: { request: { method: 'GET' }, response: { status_code: 403 } },
    related: { ip: ['192.0.2.1'], hosts: ['shop.example.com'] },
    threat: {
      framework: 'MITRE ATT&CK',
      tactic: { id: ['TA0001'], name: ['Initial Access'] },
      technique: { id: ['T1190'], name: ['Exploit Public-Facing Application'] },
    },
    waf: {
      parameter: 'q',
      statuscodes: [403],
      attack: {
        id: 'AM5CP50BU',
        type: 'sqli',
        cwe: 'CWE-89',
        threat: 75,
        hits: 17,
        ip_count: 1,
        block_status: 'blocked',
        outcome: 'blocked',
        target: 'server',
        point: ['get', 'q'],
        application: 1,
        sources: [{ ip: '192.0.2.1', country: 'DE', hits: 17 }],
      },
      kind: 'attack',
      action: 'updated',
      tenant: 'acme',
      stream: 'attacks',
      identity: 'AM5CP50BU',
      revision: 2,
      replayed: false,
    },
  })
})

test('an incident', () => {
  expect(parsed(encode(incident()))).toEqual({
    '@timestamp': '2026-03-30T17:44:59.007Z',
    ecs: { version: '9.4.0' },
    data_stream: { type: 'logs', dataset: 'waf.incident', namespace: 'default' },
    message: 'SQL injection incident',
    log: { level: 'error' },
    event: {
      id: 'q83vEjRWeJCrze8SNFZ4kA',
      dataset: 'waf.incident',
      module: 'waf',
      provider: 'tailrace',
      code: 'incident.sqli',
      severity: 7,
      sequence: 41,
      created: '2026-03-30T17:45:01.000Z',
      original: '{"attackid":"AM5CP50BU","clientid":4711,"type":"sqli","domain":"shop.example.com","hits":17}',
      kind: 'alert',
      category: ['intrusion_detection'],
      type: ['denied', 'info'],
      action: 'waf-incident-blocked',
      risk_score: 75,
      start: '2026-03-30T17:40:00.000Z',
      end: '2026-03-30T17:44:59.000Z',
      duration: 299000000000,
    },
    observer: { type: 'waf', vendor: 'Tailrace', product: 'WAF', version },
    organization: { id: '4711', name: 'acme' },
    rule: { id: 'sqli', name: 'SQL injection', category: 'incident' },
    source: { address: '192.0.2.1', ip: '192.0.2.1', geo: { country_iso_code: 'DE' } },
    destination: { address: 'shop.example.com', domain: 'shop.example.com' },
    url: { domain: 'shop.example.com', path: '/search' },
    http: { request: { method: 'GET' }, response: { status_code: 403 } },
    related: { ip: ['192.0.2.1'], hosts: ['shop.example.com'] },
    threat: {
      framework: 'MITRE ATT&CK',
      tactic: { id: ['TA0001'], name: ['Initial Access'] },
      technique: { id: ['T1190'], name: ['Exploit Public-Facing Application'] },
    },
    waf: {
      parameter: 'q',
      statuscodes: [403],
      attack: {
        id: 'AM5CP50BU',
        type: 'sqli',
        cwe: 'CWE-89',
        threat: 75,
        hits: 17,
        ip_count: 1,
        block_status: 'blocked',
        outcome: 'blocked',
        target: 'server',
        point: ['get', 'q'],
        application: 1,
        sources: [{ ip: '192.0.2.1', country: 'DE', hits: 17 }],
      },
      kind: 'incident',
      action: 'created',
      tenant: 'acme',
      stream: 'incidents',
      identity: 'AM5CP50BU',
      revision: 2,
      replayed: false,
    },
  })
})

test('a vulnerability that is new', () => {
  expect(parsed(encode(vulnerability()))).toEqual({
    '@timestamp': '2026-03-30T17:44:59.007Z',
    ecs: { version: '9.4.0' },
    data_stream: { type: 'logs', dataset: 'waf.vulnerability', namespace: 'default' },
    message: 'Cross-site scripting vulnerability',
    log: { level: 'warning' },
    event: {
      id: 'q83vEjRWeJCrze8SNFZ4kA',
      dataset: 'waf.vulnerability',
      module: 'waf',
      provider: 'tailrace',
      code: 'vuln.xss',
      severity: 5,
      sequence: 41,
      created: '2026-03-30T17:45:01.000Z',
      original: '{"id":1}',
      kind: 'state',
      category: ['vulnerability'],
      type: ['info'],
      action: 'waf-vulnerability-created',
      risk_score: 60,
      start: '2026-03-01T00:00:00.000Z',
    },
    observer: { type: 'waf', vendor: 'Tailrace', product: 'WAF', version },
    organization: { id: '4711', name: 'acme' },
    vulnerability: {
      id: 'CWE-79',
      enumeration: 'CWE',
      category: ['web'],
      report_id: 'ACME-17',
      severity: 'Medium',
      description: 'The parameter q comes back as it is.',
      scanner: { vendor: 'Tailrace' },
    },
    destination: { address: 'shop.example.com', domain: 'shop.example.com' },
    url: { domain: 'shop.example.com', path: '/search' },
    http: { request: { method: 'GET' } },
    related: { hosts: ['shop.example.com'] },
    waf: {
      parameter: 'q',
      vulnerability: {
        id: '8812',
        human_id: 'ACME-17',
        type: 'xss',
        title: 'XSS in the search',
        status: 'open',
        threat: 60,
        target: 'client',
        last_check: '2026-03-30T00:00:00.000Z',
      },
      kind: 'vulnerability',
      action: 'created',
      tenant: 'acme',
      stream: 'vulnerabilities',
      identity: '8812',
      revision: 2,
      replayed: false,
    },
  })
})

test('a vulnerability that is closed', () => {
  expect(parsed(encode(vulnerability({ action: 'closed' })))).toMatchObject({
    event: { action: 'waf-vulnerability-closed' },
    waf: { action: 'closed' },
  })
})

test('a vulnerability that is a false positive', () => {
  expect(parsed(encode(vulnerability({ action: 'updated' }, 'falsepositive')))).toMatchObject({
    event: { action: 'waf-vulnerability-updated' },
    waf: { vulnerability: { status: 'falsepositive' }, action: 'updated' },
  })
})

test('a rule that is new', () => {
  expect(parsed(encode(rule()))).toEqual({
    '@timestamp': '2026-03-30T17:44:59.007Z',
    ecs: { version: '9.4.0' },
    data_stream: { type: 'logs', dataset: 'waf.rule', namespace: 'default' },
    message: 'Rule created',
    log: { level: 'info' },
    event: {
      id: 'q83vEjRWeJCrze8SNFZ4kA',
      dataset: 'waf.rule',
      module: 'waf',
      provider: 'tailrace',
      code: 'rule.vpatch.created',
      severity: 0,
      sequence: 41,
      created: '2026-03-30T17:45:01.000Z',
      original: '{"id":1}',
      kind: 'event',
      category: ['configuration'],
      type: ['creation'],
      action: 'waf-rule-created',
    },
    observer: { type: 'waf', vendor: 'Tailrace', product: 'WAF', version },
    organization: { id: '4711', name: 'acme' },
    rule: {
      id: '55',
      name: 'vpatch',
      category: 'sqli',
      description: 'Until the release.',
      version: '2',
    },
    waf: {
      rule: {
        condition: 12,
        point: '[["get","id"]]',
        conditions: '[{"type":"equal","point":["path",0],"value":"admin"}]',
        validated: true,
        enabled: true,
        updated_at: '2026-03-30T17:00:00.000Z',
      },
      kind: 'rule',
      action: 'created',
      tenant: 'acme',
      stream: 'rules',
      identity: '55',
      revision: 2,
      replayed: false,
    },
  })
})

test('a rule that has changed', () => {
  expect(parsed(encode(rule({ action: 'updated' })))).toMatchObject({
    message: 'Rule updated',
    event: { code: 'rule.vpatch.updated', type: ['change'], action: 'waf-rule-updated' },
    waf: { action: 'updated' },
  })
})

test('a rule that is gone', () => {
  expect(parsed(encode(rule({ action: 'deleted' })))).toMatchObject({
    message: 'Rule deleted',
    event: { code: 'rule.vpatch.deleted', type: ['deletion'], action: 'waf-rule-deleted' },
    waf: { action: 'deleted' },
  })
})

test('a condition', () => {
  expect(parsed(encode(condition()))).toEqual({
    '@timestamp': '2026-03-30T17:44:59.007Z',
    ecs: { version: '9.4.0' },
    data_stream: { type: 'logs', dataset: 'waf.condition', namespace: 'default' },
    message: 'Condition created',
    log: { level: 'info' },
    event: {
      id: 'q83vEjRWeJCrze8SNFZ4kA',
      dataset: 'waf.condition',
      module: 'waf',
      provider: 'tailrace',
      code: 'condition.created',
      severity: 0,
      sequence: 41,
      created: '2026-03-30T17:45:01.000Z',
      original: '{"id":1}',
      kind: 'event',
      category: ['configuration'],
      type: ['creation'],
      action: 'waf-condition-created',
    },
    observer: { type: 'waf', vendor: 'Tailrace', product: 'WAF', version },
    organization: { id: '4711', name: 'acme' },
    waf: {
      condition: {
        id: '12',
        name: 'Admin pages',
        conditions: '[{"type":"equal","point":["path",0],"value":"admin"}]',
        rules: 3,
        updated_at: '2026-03-30T17:00:00.000Z',
      },
      kind: 'condition',
      action: 'created',
      tenant: 'acme',
      stream: 'conditions',
      identity: '12',
      revision: 2,
      replayed: false,
    },
  })
})

test('a gap', () => {
  expect(parsed(encode(gap()))).toEqual({
    '@timestamp': '2026-03-30T17:44:59.007Z',
    ecs: { version: '9.4.0' },
    data_stream: { type: 'logs', dataset: 'waf.gap', namespace: 'default' },
    message: 'Records could not be read',
    log: { level: 'error' },
    event: {
      id: 'q83vEjRWeJCrze8SNFZ4kA',
      dataset: 'waf.gap',
      module: 'waf',
      provider: 'tailrace',
      code: 'gap',
      severity: 7,
      sequence: 41,
      created: '2026-03-30T17:45:01.000Z',
      kind: 'pipeline_error',
      category: ['api'],
      type: ['info'],
      action: 'waf-gap',
      outcome: 'failure',
      reason: 'offset too large',
      start: '2026-03-30T16:00:00.000Z',
      end: '2026-03-30T17:00:00.000Z',
      duration: 3600000000000,
    },
    observer: { type: 'waf', vendor: 'Tailrace', product: 'WAF', version },
    organization: { name: 'acme' },
    error: { message: 'offset too large' },
    waf: {
      kind: 'gap',
      action: 'gap',
      tenant: 'acme',
      stream: 'attacks',
      revision: 2,
      replayed: false,
    },
  })
})

test('a heartbeat', () => {
  expect(parsed(encode(heartbeat()))).toEqual({
    '@timestamp': '2026-03-30T17:44:59.007Z',
    ecs: { version: '9.4.0' },
    data_stream: { type: 'logs', dataset: 'waf.heartbeat', namespace: 'default' },
    message: 'Stream is alive',
    log: { level: 'info' },
    event: {
      id: 'q83vEjRWeJCrze8SNFZ4kA',
      dataset: 'waf.heartbeat',
      module: 'waf',
      provider: 'tailrace',
      code: 'heartbeat',
      severity: 0,
      sequence: 41,
      created: '2026-03-30T17:45:01.000Z',
      kind: 'state',
      category: ['api'],
      type: ['info'],
      action: 'waf-heartbeat',
      outcome: 'success',
    },
    observer: { type: 'waf', vendor: 'Tailrace', product: 'WAF', version },
    organization: { name: 'acme' },
    waf: {
      heartbeat: { watermark: '2026-03-30T17:00:00.000Z', last_sequence: 40, events: 6 },
      kind: 'heartbeat',
      action: 'heartbeat',
      tenant: 'acme',
      stream: 'attacks',
      revision: 2,
      replayed: false,
    },
  })
})

testStructured(ecs, { path: 'url.path', cut: 'waf.cut', list: 'related.ip', original: 'event.original' })

test('hostile events are one well-formed line each, with their own values in their own places', async () => {
  const check = await loadCheck()
  eachHostile(perAction, encode, (events, lines) => {
    expect(events.flatMap((event, n) => judge(event, parsed(lines[n] ?? '')))).toEqual([])
    expect(check?.('ecs', joined(lines)).problems ?? []).toEqual([])
  })
}, 600_000)

/** What is not where it belongs. */
function judge(event: SecurityEvent, document: Document): readonly unknown[] {
  const cut = textAt(document, 'waf.cut')
  const value = (path: string, expected: unknown): Expected => [path, at(document, path), expected ?? undefined]
  const text = (path: string, expected: string | null): Expected => value(path, expected === '' ? undefined : expected)
  const common = [
    value('event.id', event.id),
    value('event.sequence', event.sequence),
    value('data_stream.dataset', `waf.${event.kind}`),
    value('waf.kind', event.kind),
    value('waf.action', event.action),
    text('waf.tenant', event.tenant),
    text('waf.identity', event.identity),
    ...Object.entries(event.labels).map(([name, label]) => value(`labels.${name}`, label)),
  ]
  const faults = wrong(common, cut.replace('labels', 'labels.'))
  if (event.kind !== 'attack' && event.kind !== 'incident') return faults
  const { path, domain, method, parameter, type } = event.body as AttackBody
  const own = [
    text('url.path', path),
    text('url.domain', domain),
    text('http.request.method', method),
    text('waf.parameter', parameter),
    text('waf.attack.type', type),
  ]
  return [...faults, ...wrong(own, cut)]
}

test('what is nested too deep for JSON text is left out', () => {
  const point: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  const usual = rule()
  const document = parsed(encode({ ...usual, body: { ...usual.body, point: [point] } as RuleBody }))
  expect(at(document, 'waf.rule.point')).toBeUndefined()
  expect(at(document, 'rule.id')).toBe('55')
})

test('a vulnerability that is open again has no end, and hostile numbers have no place in typed fields', () => {
  const open = vulnerability()
  const body = { ...(open.body as VulnerabilityBody), invalidateTime: Date.UTC(2026, 1, 1), threat: 1e300 }
  const document = parsed(encode({ ...open, body }))
  expect(at(document, 'event.start')).toBe('2026-03-01T00:00:00.000Z')
  expect(at(document, 'event.end')).toBeUndefined()
  expect(at(document, 'event.risk_score')).toBeUndefined()
})

test.for(['ecs', 'Waf', 'a.b', '', 'event', '1a'])('%s is no root', (root) => {
  expect(() => compiled(ecs, { root })).toThrow(/root/)
})

test.for(['Prod', 'a-b', ''])('"%s" is no namespace', (namespace) => {
  expect(() => compiled(ecs, { namespace })).toThrow(/namespace/)
})

test('root and namespace are as configured', async () => {
  const check = await loadCheck()
  const own = compiled(ecs, { root: 'tailrace', namespace: 'prod' })
  const lines = [attack(), vulnerability(), rule()].map(own)
  const document = parsed(lines[0] ?? '')
  expect(at(document, 'tailrace.attack.hits')).toBe(17)
  expect(at(document, 'data_stream.namespace')).toBe('prod')
  expect(document['waf']).toBeUndefined()
  expect(check?.('ecs', joined(lines), { root: 'tailrace' }).problems ?? []).toEqual([])
})
