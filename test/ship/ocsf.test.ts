// Events of the Open Cybersecurity Schema Framework.

import { expect, test } from 'vitest'
import type { AttackBody, SecurityEvent } from '../../src/event.ts'
import { ocsf } from '../../src/ship/formats/ocsf.ts'
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

const encode = compiled(ocsf, {})

test('an attack', () => {
  expect(parsed(encode(attack()))).toEqual({
    class_uid: 2004,
    class_name: 'Detection Finding',
    category_uid: 2,
    category_name: 'Findings',
    activity_id: 2,
    activity_name: 'Update',
    type_uid: 200402,
    type_name: 'Detection Finding: Update',
    severity_id: 4,
    severity: 'High',
    time: 1774892699007,
    message: 'SQL injection',
    finding_info: {
      uid: 'AM5CP50BU',
      title: 'SQL injection',
      types: ['sqli'],
      first_seen_time: 1774892400000,
      last_seen_time: 1774892699000,
      analytic: { type: 'Rule', type_id: 1, uid: 'sqli', name: 'SQL injection' },
      attacks: [
        {
          tactic: { uid: 'TA0001', name: 'Initial Access' },
          technique: { uid: 'T1190', name: 'Exploit Public-Facing Application' },
        },
      ],
    },
    is_alert: false,
    status_id: 1,
    status: 'New',
    action_id: 2,
    action: 'Denied',
    disposition_id: 2,
    disposition: 'Blocked',
    firewall_rule: { uid: 'sqli', name: 'SQL injection', match_location: 'q' },
    start_time: 1774892400000,
    end_time: 1774892699000,
    count: 17,
    risk_score: 75,
    evidences: [
      {
        src_endpoint: { ip: '192.0.2.1', location: { country: 'DE' } },
        dst_endpoint: { hostname: 'shop.example.com' },
        url: { hostname: 'shop.example.com', path: '/search' },
        http_request: { http_method: 'GET' },
        http_response: { code: 403 },
        data: {
          hits: 17,
          method: 'GET',
          parameter: 'q',
          point: ['get', 'q'],
          status_codes: [403],
          ip_count: 1,
        },
      },
    ],
    resources: [
      {
        name: 'shop.example.com',
        hostname: 'shop.example.com',
        type: 'Web Application',
        role_id: 1,
        role: 'Target',
      },
    ],
    observables: [
      {
        name: 'resources[0].hostname',
        type_id: 1,
        type: 'Hostname',
        value: 'shop.example.com',
      },
      {
        name: 'evidences[0].src_endpoint.ip',
        type_id: 2,
        type: 'IP Address',
        value: '192.0.2.1',
      },
    ],
    raw_data: '{"attackid":"AM5CP50BU","clientid":4711,"type":"sqli","domain":"shop.example.com","hits":17}',
    unmapped: {
      kind: 'attack',
      action: 'updated',
      tenant: 'acme',
      stream: 'attacks',
      sequence: 41,
      revision: 2,
      replayed: false,
      type: 'sqli',
      threat: 75,
      hits: 17,
      block_status: 'blocked',
      target: 'server',
      application: 1,
      cwe: 'CWE-89',
    },
    metadata: {
      profiles: ['security_control'],
      version: '1.8.0',
      product: { name: 'WAF', vendor_name: 'Tailrace', version },
      uid: 'q83vEjRWeJCrze8SNFZ4kA',
      original_event_uid: 'AM5CP50BU',
      tenant_uid: '4711',
      sequence: 41,
      logged_time: 1774892701000,
      event_code: 'attack.sqli',
      log_name: 'attacks',
    },
  })
})

test('an incident', () => {
  expect(parsed(encode(incident()))).toEqual({
    class_uid: 2004,
    class_name: 'Detection Finding',
    category_uid: 2,
    category_name: 'Findings',
    activity_id: 1,
    activity_name: 'Create',
    type_uid: 200401,
    type_name: 'Detection Finding: Create',
    severity_id: 4,
    severity: 'High',
    time: 1774892699007,
    message: 'SQL injection incident',
    finding_info: {
      uid: 'AM5CP50BU',
      title: 'SQL injection incident',
      types: ['sqli'],
      first_seen_time: 1774892400000,
      last_seen_time: 1774892699000,
      analytic: { type: 'Rule', type_id: 1, uid: 'sqli', name: 'SQL injection' },
      attacks: [
        {
          tactic: { uid: 'TA0001', name: 'Initial Access' },
          technique: { uid: 'T1190', name: 'Exploit Public-Facing Application' },
        },
      ],
    },
    is_alert: true,
    status_id: 1,
    status: 'New',
    action_id: 2,
    action: 'Denied',
    disposition_id: 2,
    disposition: 'Blocked',
    firewall_rule: { uid: 'sqli', name: 'SQL injection', match_location: 'q' },
    start_time: 1774892400000,
    end_time: 1774892699000,
    count: 17,
    risk_score: 75,
    evidences: [
      {
        src_endpoint: { ip: '192.0.2.1', location: { country: 'DE' } },
        dst_endpoint: { hostname: 'shop.example.com' },
        url: { hostname: 'shop.example.com', path: '/search' },
        http_request: { http_method: 'GET' },
        http_response: { code: 403 },
        data: {
          hits: 17,
          method: 'GET',
          parameter: 'q',
          point: ['get', 'q'],
          status_codes: [403],
          ip_count: 1,
        },
      },
    ],
    resources: [
      {
        name: 'shop.example.com',
        hostname: 'shop.example.com',
        type: 'Web Application',
        role_id: 1,
        role: 'Target',
      },
    ],
    observables: [
      {
        name: 'resources[0].hostname',
        type_id: 1,
        type: 'Hostname',
        value: 'shop.example.com',
      },
      {
        name: 'evidences[0].src_endpoint.ip',
        type_id: 2,
        type: 'IP Address',
        value: '192.0.2.1',
      },
    ],
    raw_data: '{"attackid":"AM5CP50BU","clientid":4711,"type":"sqli","domain":"shop.example.com","hits":17}',
    unmapped: {
      kind: 'incident',
      action: 'created',
      tenant: 'acme',
      stream: 'incidents',
      sequence: 41,
      revision: 2,
      replayed: false,
      type: 'sqli',
      threat: 75,
      hits: 17,
      block_status: 'blocked',
      target: 'server',
      application: 1,
      cwe: 'CWE-89',
    },
    metadata: {
      profiles: ['security_control', 'incident'],
      version: '1.8.0',
      product: { name: 'WAF', vendor_name: 'Tailrace', version },
      uid: 'q83vEjRWeJCrze8SNFZ4kA',
      original_event_uid: 'AM5CP50BU',
      tenant_uid: '4711',
      sequence: 41,
      logged_time: 1774892701000,
      event_code: 'incident.sqli',
      log_name: 'incidents',
    },
  })
})

test('a vulnerability that is new', () => {
  expect(parsed(encode(vulnerability()))).toEqual({
    class_uid: 2002,
    class_name: 'Vulnerability Finding',
    category_uid: 2,
    category_name: 'Findings',
    activity_id: 1,
    activity_name: 'Create',
    type_uid: 200201,
    type_name: 'Vulnerability Finding: Create',
    severity_id: 3,
    severity: 'Medium',
    time: 1774892699007,
    message: 'Cross-site scripting vulnerability',
    finding_info: {
      uid: '8812',
      uid_alt: 'ACME-17',
      title: 'XSS in the search',
      desc: 'The parameter q comes back as it is.',
      types: ['xss'],
      first_seen_time: 1772323200000,
      last_seen_time: 1774828800000,
    },
    status_id: 1,
    status: 'New',
    status_detail: 'open',
    vulnerabilities: [
      {
        title: 'Cross-site scripting',
        desc: 'The parameter q comes back as it is.',
        severity: 'Medium',
        cwe: { uid: 'CWE-79' },
        first_seen_time: 1772323200000,
        last_seen_time: 1774828800000,
      },
    ],
    resources: [
      {
        name: 'shop.example.com',
        hostname: 'shop.example.com',
        type: 'Web Application',
        role_id: 3,
        role: 'Affected',
      },
    ],
    observables: [
      {
        name: 'resources[0].hostname',
        type_id: 1,
        type: 'Hostname',
        value: 'shop.example.com',
      },
      {
        name: 'vulnerabilities[0].cwe.uid',
        type_id: 17,
        type: 'CWE Object: uid',
        value: 'CWE-79',
      },
    ],
    raw_data: '{"id":1}',
    unmapped: {
      kind: 'vulnerability',
      action: 'created',
      tenant: 'acme',
      stream: 'vulnerabilities',
      sequence: 41,
      revision: 2,
      replayed: false,
      path: '/search',
      method: 'GET',
      parameter: 'q',
      target: 'client',
      threat: 60,
    },
    metadata: {
      version: '1.8.0',
      product: { name: 'WAF', vendor_name: 'Tailrace', version },
      uid: 'q83vEjRWeJCrze8SNFZ4kA',
      original_event_uid: '8812',
      tenant_uid: '4711',
      sequence: 41,
      logged_time: 1774892701000,
      event_code: 'vuln.xss',
      log_name: 'vulnerabilities',
    },
  })
})

test('a vulnerability that is closed', () => {
  expect(parsed(encode(vulnerability({ action: 'closed' })))).toMatchObject({
    activity_id: 3,
    activity_name: 'Close',
    type_uid: 200203,
    type_name: 'Vulnerability Finding: Close',
    status_id: 4,
    status: 'Resolved',
    unmapped: { action: 'closed' },
  })
})

test('a vulnerability that is a false positive', () => {
  expect(parsed(encode(vulnerability({ action: 'updated' }, 'falsepositive')))).toMatchObject({
    activity_id: 2,
    activity_name: 'Update',
    type_uid: 200202,
    type_name: 'Vulnerability Finding: Update',
    status_id: 3,
    status: 'Suppressed',
    status_detail: 'falsepositive',
    unmapped: { action: 'updated' },
  })
})

test('a rule that is new', () => {
  expect(parsed(encode(rule()))).toEqual({
    class_uid: 3004,
    class_name: 'Entity Management',
    category_uid: 3,
    category_name: 'Identity & Access Management',
    activity_id: 1,
    activity_name: 'Create',
    type_uid: 300401,
    type_name: 'Entity Management: Create',
    severity_id: 1,
    severity: 'Informational',
    time: 1774892699007,
    message: 'Rule created',
    entity: {
      uid: '55',
      type_id: 5,
      type: 'Policy',
      version: '2',
      name: 'vpatch',
      policy: { uid: '55', name: 'vpatch', desc: 'Until the release.', is_applied: true },
      data: {
        attack_type: 'sqli',
        condition: 12,
        point: '[["get","id"]]',
        conditions: '[{"type":"equal","point":["path",0],"value":"admin"}]',
      },
    },
    raw_data: '{"id":1}',
    unmapped: {
      kind: 'rule',
      action: 'created',
      tenant: 'acme',
      stream: 'rules',
      sequence: 41,
      revision: 2,
      replayed: false,
      validated: true,
      updated_at: 1774890000000,
    },
    metadata: {
      version: '1.8.0',
      product: { name: 'WAF', vendor_name: 'Tailrace', version },
      uid: 'q83vEjRWeJCrze8SNFZ4kA',
      original_event_uid: '55',
      tenant_uid: '4711',
      sequence: 41,
      logged_time: 1774892701000,
      event_code: 'rule.vpatch.created',
      log_name: 'rules',
    },
  })
})

test('a rule that has changed', () => {
  expect(parsed(encode(rule({ action: 'updated' })))).toMatchObject({
    activity_id: 3,
    activity_name: 'Update',
    type_uid: 300403,
    type_name: 'Entity Management: Update',
    message: 'Rule updated',
    unmapped: { action: 'updated' },
    metadata: { event_code: 'rule.vpatch.updated' },
  })
})

test('a rule that is gone', () => {
  expect(parsed(encode(rule({ action: 'deleted' })))).toMatchObject({
    activity_id: 4,
    activity_name: 'Delete',
    type_uid: 300404,
    type_name: 'Entity Management: Delete',
    message: 'Rule deleted',
    unmapped: { action: 'deleted' },
    metadata: { event_code: 'rule.vpatch.deleted' },
  })
})

test('a condition', () => {
  expect(parsed(encode(condition()))).toEqual({
    class_uid: 3004,
    class_name: 'Entity Management',
    category_uid: 3,
    category_name: 'Identity & Access Management',
    activity_id: 1,
    activity_name: 'Create',
    type_uid: 300401,
    type_name: 'Entity Management: Create',
    severity_id: 1,
    severity: 'Informational',
    time: 1774892699007,
    message: 'Condition created',
    entity: {
      uid: '12',
      type_id: 5,
      type: 'Policy',
      version: '2',
      name: 'Admin pages',
      data: { conditions: '[{"type":"equal","point":["path",0],"value":"admin"}]' },
    },
    raw_data: '{"id":1}',
    unmapped: {
      kind: 'condition',
      action: 'created',
      tenant: 'acme',
      stream: 'conditions',
      sequence: 41,
      revision: 2,
      replayed: false,
      rules: 3,
      updated_at: 1774890000000,
    },
    metadata: {
      version: '1.8.0',
      product: { name: 'WAF', vendor_name: 'Tailrace', version },
      uid: 'q83vEjRWeJCrze8SNFZ4kA',
      original_event_uid: '12',
      tenant_uid: '4711',
      sequence: 41,
      logged_time: 1774892701000,
      event_code: 'condition.created',
      log_name: 'conditions',
    },
  })
})

test('a gap', () => {
  expect(parsed(encode(gap()))).toEqual({
    class_uid: 3004,
    class_name: 'Entity Management',
    category_uid: 3,
    category_name: 'Identity & Access Management',
    activity_id: 2,
    activity_name: 'Read',
    type_uid: 300402,
    type_name: 'Entity Management: Read',
    severity_id: 4,
    severity: 'High',
    time: 1774892699007,
    message: 'Records could not be read',
    entity: { uid: 'acme/attacks', name: 'attacks', type_id: 99, type: 'Feed' },
    status_id: 2,
    status: 'Failure',
    status_detail: 'offset too large',
    start_time: 1774886400000,
    end_time: 1774890000000,
    unmapped: {
      kind: 'gap',
      action: 'gap',
      tenant: 'acme',
      stream: 'attacks',
      sequence: 41,
      revision: 2,
      replayed: false,
    },
    metadata: {
      version: '1.8.0',
      product: { name: 'WAF', vendor_name: 'Tailrace', version },
      uid: 'q83vEjRWeJCrze8SNFZ4kA',
      sequence: 41,
      logged_time: 1774892701000,
      event_code: 'gap',
      log_name: 'attacks',
    },
  })
})

test('a heartbeat', () => {
  expect(parsed(encode(heartbeat()))).toEqual({
    class_uid: 3004,
    class_name: 'Entity Management',
    category_uid: 3,
    category_name: 'Identity & Access Management',
    activity_id: 2,
    activity_name: 'Read',
    type_uid: 300402,
    type_name: 'Entity Management: Read',
    severity_id: 1,
    severity: 'Informational',
    time: 1774892699007,
    message: 'Stream is alive',
    entity: { uid: 'acme/attacks', name: 'attacks', type_id: 99, type: 'Feed' },
    status_id: 1,
    status: 'Success',
    unmapped: {
      kind: 'heartbeat',
      action: 'heartbeat',
      tenant: 'acme',
      stream: 'attacks',
      sequence: 41,
      revision: 2,
      replayed: false,
      watermark: 1774890000000,
      last_sequence: 40,
      events: 6,
    },
    metadata: {
      version: '1.8.0',
      product: { name: 'WAF', vendor_name: 'Tailrace', version },
      uid: 'q83vEjRWeJCrze8SNFZ4kA',
      sequence: 41,
      logged_time: 1774892701000,
      event_code: 'heartbeat',
      log_name: 'attacks',
    },
  })
})

testStructured(ocsf, { path: 'evidences[].url.path', cut: 'metadata.debug', list: 'evidences', original: 'raw_data' })

test('hostile events are one well-formed line each, with their own values in their own places', async () => {
  const check = await loadCheck()
  eachHostile(perAction, encode, (events, lines) => {
    expect(events.flatMap((event, n) => judge(event, parsed(lines[n] ?? '')))).toEqual([])
    expect(check?.('ocsf', joined(lines)).problems ?? []).toEqual([])
  })
}, 600_000)

/** What is not where it belongs. */
function judge(event: SecurityEvent, document: Document): readonly unknown[] {
  const cut = textAt(document, 'metadata.debug')
  const value = (path: string, expected: unknown): Expected => [path, at(document, path), expected ?? undefined]
  const text = (path: string, expected: string | null): Expected => value(path, expected === '' ? undefined : expected)
  const common = [
    value('metadata.uid', event.id),
    value('metadata.sequence', event.sequence),
    value('metadata.is_truncated', cut === '""' ? undefined : true),
    value('unmapped.kind', event.kind),
    value('unmapped.action', event.action),
    text('unmapped.tenant', event.tenant),
    text('metadata.original_event_uid', event.identity),
  ]
  const faults = wrong(common, cut)
  if (event.kind !== 'attack' && event.kind !== 'incident') return faults
  const { path, domain, method, parameter, type } = event.body as AttackBody
  const own = [
    text('evidences[].url.path', path),
    text('evidences[].data.method', method),
    text('evidences[].data.parameter', parameter),
    text('resources[].hostname', domain),
    text('unmapped.type', type),
  ]
  return [...faults, ...wrong(own, cut)]
}

test('a method that OCSF does not list is in the data of the evidence', () => {
  const usual = attack()
  const document = parsed(encode({ ...usual, body: { ...usual.body, method: 'PROPFIND' } }))
  expect(at(document, 'evidences[].http_request')).toBeUndefined()
  expect(at(document, 'evidences[].data.method')).toBe('PROPFIND')
})

test('a block status that is neither blocked nor monitored is given in its own words', () => {
  const usual = attack()
  const document = parsed(encode({ ...usual, body: { ...usual.body, blockStatus: 'partially_blocked' } }))
  expect(document).toMatchObject({ action_id: 99, action: 'partially_blocked', disposition_id: 99 })
})
