// Events of Google SecOps' unified data model. There is no schema to check against: what must hold is said here.

import { Buffer } from 'node:buffer'
import { isIP } from 'node:net'
import { expect, test } from 'vitest'
import type { AttackBody, SecurityEvent } from '../../src/event.ts'
import { udm } from '../../src/ship/formats/udm.ts'
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
  parsed,
  pathsOf,
  perAction,
  rule,
  testStructured,
  textAt,
  vulnerability,
  wrong,
} from './structured.ts'
import type { Document, Expected } from './structured.ts'

const encode = compiled(udm, {})

test('an attack', () => {
  expect(parsed(encode(attack()))).toEqual({
    metadata: {
      eventTimestamp: '2026-03-30T17:44:59.007Z',
      collectedTimestamp: '2026-03-30T17:45:01.000Z',
      eventType: 'NETWORK_HTTP',
      vendorName: 'Tailrace',
      productName: 'WAF',
      productVersion: version,
      productEventType: 'attack.sqli',
      productLogId: 'q83vEjRWeJCrze8SNFZ4kA',
      description: 'SQL injection',
    },
    principal: { ip: ['192.0.2.1'], location: { countryOrRegion: 'DE' } },
    target: { hostname: 'shop.example.com', url: 'shop.example.com/search' },
    network: {
      ipProtocol: 'TCP',
      applicationProtocol: 'HTTP',
      http: { method: 'GET', responseCode: 403 },
    },
    securityResult: [
      {
        category: ['EXPLOIT'],
        threatName: 'SQL injection',
        ruleId: 'sqli',
        ruleName: 'SQL injection',
        summary: 'SQL injection',
        action: ['BLOCK'],
        actionDetails: 'blocked',
        severity: 'HIGH',
        alertState: 'ALERTING',
        attackDetails: {
          tactics: [{ id: 'TA0001', name: 'Initial Access' }],
          techniques: [{ id: 'T1190', name: 'Exploit Public-Facing Application' }],
        },
      },
    ],
    additional: {
      kind: 'attack',
      action: 'updated',
      tenant: 'acme',
      client: '4711',
      stream: 'attacks',
      identity: 'AM5CP50BU',
      revision: '2',
      sequence: '41',
      severity: '7',
      replayed: 'false',
      type: 'sqli',
      cwe: 'CWE-89',
      path: '/search',
      parameter: 'q',
      point: '["get","q"]',
      target: 'server',
      threat: '75',
      hits: '17',
      ip_count: '1',
      status_codes: '403',
      first_time: '2026-03-30T17:40:00.000Z',
      last_time: '2026-03-30T17:44:59.000Z',
      application: '1',
    },
  })
})

test('an incident', () => {
  expect(parsed(encode(incident()))).toEqual({
    metadata: {
      eventTimestamp: '2026-03-30T17:44:59.007Z',
      collectedTimestamp: '2026-03-30T17:45:01.000Z',
      eventType: 'NETWORK_HTTP',
      vendorName: 'Tailrace',
      productName: 'WAF',
      productVersion: version,
      productEventType: 'incident.sqli',
      productLogId: 'q83vEjRWeJCrze8SNFZ4kA',
      description: 'SQL injection incident',
    },
    principal: { ip: ['192.0.2.1'], location: { countryOrRegion: 'DE' } },
    target: { hostname: 'shop.example.com', url: 'shop.example.com/search' },
    network: {
      ipProtocol: 'TCP',
      applicationProtocol: 'HTTP',
      http: { method: 'GET', responseCode: 403 },
    },
    securityResult: [
      {
        category: ['EXPLOIT'],
        threatName: 'SQL injection',
        ruleId: 'sqli',
        ruleName: 'SQL injection',
        summary: 'SQL injection incident',
        action: ['BLOCK'],
        actionDetails: 'blocked',
        severity: 'HIGH',
        alertState: 'ALERTING',
        attackDetails: {
          tactics: [{ id: 'TA0001', name: 'Initial Access' }],
          techniques: [{ id: 'T1190', name: 'Exploit Public-Facing Application' }],
        },
      },
    ],
    additional: {
      kind: 'incident',
      action: 'created',
      tenant: 'acme',
      client: '4711',
      stream: 'incidents',
      identity: 'AM5CP50BU',
      revision: '2',
      sequence: '41',
      severity: '7',
      replayed: 'false',
      type: 'sqli',
      cwe: 'CWE-89',
      path: '/search',
      parameter: 'q',
      point: '["get","q"]',
      target: 'server',
      threat: '75',
      hits: '17',
      ip_count: '1',
      status_codes: '403',
      first_time: '2026-03-30T17:40:00.000Z',
      last_time: '2026-03-30T17:44:59.000Z',
      application: '1',
    },
  })
})

test('a vulnerability that is new', () => {
  expect(parsed(encode(vulnerability()))).toEqual({
    metadata: {
      eventTimestamp: '2026-03-30T17:44:59.007Z',
      collectedTimestamp: '2026-03-30T17:45:01.000Z',
      eventType: 'SCAN_VULN_NETWORK',
      vendorName: 'Tailrace',
      productName: 'WAF',
      productVersion: version,
      productEventType: 'vuln.xss',
      productLogId: 'q83vEjRWeJCrze8SNFZ4kA',
      description: 'Cross-site scripting vulnerability',
    },
    observer: { assetId: 'Tailrace:acme/vulnerabilities' },
    target: { hostname: 'shop.example.com', url: 'shop.example.com/search' },
    extensions: {
      vulns: {
        vulnerabilities: [
          {
            name: 'XSS in the search',
            description: 'The parameter q comes back as it is.',
            severity: 'MEDIUM',
            severityDetails: '60',
            firstFound: '2026-03-01T00:00:00.000Z',
            lastFound: '2026-03-30T00:00:00.000Z',
          },
        ],
      },
    },
    securityResult: [
      {
        summary: 'Cross-site scripting vulnerability',
        severity: 'MEDIUM',
        threatStatus: 'ACTIVE',
      },
    ],
    additional: {
      kind: 'vulnerability',
      action: 'created',
      tenant: 'acme',
      client: '4711',
      stream: 'vulnerabilities',
      identity: '8812',
      revision: '2',
      sequence: '41',
      severity: '5',
      replayed: 'false',
      human_id: 'ACME-17',
      type: 'xss',
      cwe: 'CWE-79',
      status: 'open',
      path: '/search',
      method: 'GET',
      parameter: 'q',
      target: 'client',
    },
  })
})

test('a vulnerability that is closed', () => {
  expect(parsed(encode(vulnerability({ action: 'closed' })))).toMatchObject({
    securityResult: [
      {
        summary: 'Cross-site scripting vulnerability',
        severity: 'MEDIUM',
        threatStatus: 'CLEARED',
      },
    ],
    additional: { action: 'closed' },
  })
})

test('a vulnerability that is a false positive', () => {
  expect(parsed(encode(vulnerability({ action: 'updated' }, 'falsepositive')))).toMatchObject({
    securityResult: [
      {
        summary: 'Cross-site scripting vulnerability',
        severity: 'MEDIUM',
        threatStatus: 'FALSE_POSITIVE',
      },
    ],
    additional: { action: 'updated', status: 'falsepositive' },
  })
})

test('a rule that is new', () => {
  expect(parsed(encode(rule()))).toEqual({
    metadata: {
      eventTimestamp: '2026-03-30T17:44:59.007Z',
      collectedTimestamp: '2026-03-30T17:45:01.000Z',
      eventType: 'RESOURCE_CREATION',
      vendorName: 'Tailrace',
      productName: 'WAF',
      productVersion: version,
      productEventType: 'rule.vpatch.created',
      productLogId: 'q83vEjRWeJCrze8SNFZ4kA',
      description: 'Rule created',
    },
    principal: { assetId: 'Tailrace:acme/rules' },
    target: {
      resource: {
        resourceType: 'FIREWALL_RULE',
        resourceSubtype: 'vpatch',
        name: 'rule 55',
        productObjectId: '55',
      },
    },
    additional: {
      kind: 'rule',
      action: 'created',
      tenant: 'acme',
      client: '4711',
      stream: 'rules',
      identity: '55',
      revision: '2',
      sequence: '41',
      severity: '0',
      replayed: 'false',
      attack_type: 'sqli',
      condition: '12',
      point: '[["get","id"]]',
      conditions: '[{"type":"equal","point":["path",0],"value":"admin"}]',
      comment: 'Until the release.',
      validated: 'true',
      enabled: 'true',
      updated_at: '2026-03-30T17:00:00.000Z',
    },
  })
})

test('a rule that has changed', () => {
  expect(parsed(encode(rule({ action: 'updated' })))).toMatchObject({
    metadata: {
      eventType: 'RESOURCE_WRITTEN',
      productEventType: 'rule.vpatch.updated',
      description: 'Rule updated',
    },
    additional: { action: 'updated' },
  })
})

test('a rule that is gone', () => {
  expect(parsed(encode(rule({ action: 'deleted' })))).toMatchObject({
    metadata: {
      eventType: 'RESOURCE_DELETION',
      productEventType: 'rule.vpatch.deleted',
      description: 'Rule deleted',
    },
    additional: { action: 'deleted' },
  })
})

test('a condition', () => {
  expect(parsed(encode(condition()))).toEqual({
    metadata: {
      eventTimestamp: '2026-03-30T17:44:59.007Z',
      collectedTimestamp: '2026-03-30T17:45:01.000Z',
      eventType: 'RESOURCE_CREATION',
      vendorName: 'Tailrace',
      productName: 'WAF',
      productVersion: version,
      productEventType: 'condition.created',
      productLogId: 'q83vEjRWeJCrze8SNFZ4kA',
      description: 'Condition created',
    },
    principal: { assetId: 'Tailrace:acme/conditions' },
    target: { resource: { resourceType: 'SETTING', name: 'Admin pages', productObjectId: '12' } },
    additional: {
      kind: 'condition',
      action: 'created',
      tenant: 'acme',
      client: '4711',
      stream: 'conditions',
      identity: '12',
      revision: '2',
      sequence: '41',
      severity: '0',
      replayed: 'false',
      conditions: '[{"type":"equal","point":["path",0],"value":"admin"}]',
      rules: '3',
      updated_at: '2026-03-30T17:00:00.000Z',
    },
  })
})

test('a gap', () => {
  expect(parsed(encode(gap()))).toEqual({
    metadata: {
      eventTimestamp: '2026-03-30T17:44:59.007Z',
      collectedTimestamp: '2026-03-30T17:45:01.000Z',
      eventType: 'STATUS_UNCATEGORIZED',
      vendorName: 'Tailrace',
      productName: 'WAF',
      productVersion: version,
      productEventType: 'gap',
      productLogId: 'q83vEjRWeJCrze8SNFZ4kA',
      description: 'Records could not be read',
    },
    principal: { assetId: 'Tailrace:acme/attacks' },
    securityResult: [
      {
        severity: 'ERROR',
        summary: 'Records could not be read',
        description: 'offset too large',
      },
    ],
    additional: {
      kind: 'gap',
      action: 'gap',
      tenant: 'acme',
      stream: 'attacks',
      revision: '2',
      sequence: '41',
      severity: '7',
      replayed: 'false',
      from: '2026-03-30T16:00:00.000Z',
      to: '2026-03-30T17:00:00.000Z',
    },
  })
})

test('a heartbeat', () => {
  expect(parsed(encode(heartbeat()))).toEqual({
    metadata: {
      eventTimestamp: '2026-03-30T17:44:59.007Z',
      collectedTimestamp: '2026-03-30T17:45:01.000Z',
      eventType: 'STATUS_HEARTBEAT',
      vendorName: 'Tailrace',
      productName: 'WAF',
      productVersion: version,
      productEventType: 'heartbeat',
      productLogId: 'q83vEjRWeJCrze8SNFZ4kA',
      description: 'Stream is alive',
    },
    principal: { assetId: 'Tailrace:acme/attacks' },
    additional: {
      kind: 'heartbeat',
      action: 'heartbeat',
      tenant: 'acme',
      stream: 'attacks',
      revision: '2',
      sequence: '41',
      severity: '0',
      replayed: 'false',
      watermark: '2026-03-30T17:00:00.000Z',
      last_sequence: '40',
      events: '6',
    },
  })
})

testStructured(udm, {
  path: 'additional.path',
  cut: 'additional.cut',
  list: 'principal.ip',
  original: 'additional.original',
})

test('hostile events are one well-formed line each, with their own values in their own places', () => {
  eachHostile(perAction, encode, (events, lines) => {
    expect(events.flatMap((event, n) => judge(event, parsed(lines[n] ?? '')))).toEqual([])
  })
}, 600_000)

/** What is not where it belongs. */
function judge(event: SecurityEvent, document: Document): readonly unknown[] {
  const cut = textAt(document, 'additional.cut')
  const value = (path: string, expected: unknown): Expected => [path, at(document, path), expected ?? undefined]
  const text = (path: string, expected: string | null): Expected => value(path, expected === '' ? undefined : expected)
  const common = [
    value('metadata.productLogId', event.id),
    value('additional.sequence', String(event.sequence)),
    value('additional.kind', event.kind),
    value('additional.action', event.action),
    text('additional.tenant', event.tenant),
    text('additional.identity', event.identity),
  ]
  const faults = [...problemsOf(document), ...wrong(common, cut)]
  if (event.kind !== 'attack' && event.kind !== 'incident') return faults
  const { path, domain, method, parameter } = event.body as AttackBody
  const own = [
    text('additional.path', path),
    text('target.hostname', domain),
    text('network.http.method', method),
    text('additional.parameter', parameter),
  ]
  return [...faults, ...wrong(own, cut)]
}

const text = (value: unknown): boolean => typeof value === 'string' && value !== ''
const time = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) &&
  !Number.isNaN(Date.parse(value))
const oneOf =
  (...values: readonly string[]) =>
  (value: unknown): boolean =>
    values.includes(String(value))
const short =
  (bytes: number) =>
  (value: unknown): boolean =>
    typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= bytes

/** The field list of the unified data model, as far as we use it: what each may have. */
const fields: Readonly<Record<string, (value: unknown) => boolean>> = {
  'metadata.eventTimestamp': time,
  'metadata.collectedTimestamp': time,
  'metadata.eventType': oneOf(
    'NETWORK_HTTP',
    'GENERIC_EVENT',
    'SCAN_VULN_NETWORK',
    'RESOURCE_CREATION',
    'RESOURCE_WRITTEN',
    'RESOURCE_DELETION',
    'STATUS_UNCATEGORIZED',
    'STATUS_HEARTBEAT',
  ),
  'metadata.vendorName': short(256),
  'metadata.productName': short(256),
  'metadata.productVersion': short(32),
  'metadata.productEventType': short(64),
  'metadata.productLogId': short(256),
  'metadata.description': short(1024),
  'metadata.ingestionLabels[].key': text,
  'metadata.ingestionLabels[].value': text,
  'principal.ip': (value) => Array.isArray(value) && value.every((ip) => isIP(String(ip)) !== 0),
  'principal.location.countryOrRegion': (value) => /^[A-Z]{2}$/.test(String(value)),
  'principal.assetId': (value) => String(value).startsWith('Tailrace:'),
  'observer.assetId': (value) => String(value).startsWith('Tailrace:'),
  'target.hostname': text,
  'target.url': text,
  'target.resource.resourceType': oneOf('FIREWALL_RULE', 'SETTING'),
  'target.resource.resourceSubtype': text,
  'target.resource.name': text,
  'target.resource.productObjectId': text,
  'network.ipProtocol': oneOf('TCP'),
  'network.applicationProtocol': oneOf('HTTP'),
  'network.http.method': text,
  'network.http.responseCode': (value) => Number.isInteger(value) && Number(value) >= 100 && Number(value) <= 599,
  'securityResult[].category': oneOf('EXPLOIT', 'AUTH_VIOLATION', 'NETWORK_RECON', 'NETWORK_DENIAL_OF_SERVICE'),
  'securityResult[].threatName': text,
  'securityResult[].ruleId': text,
  'securityResult[].ruleName': text,
  'securityResult[].summary': text,
  'securityResult[].description': text,
  'securityResult[].action': oneOf('ALLOW', 'BLOCK', 'UNKNOWN_ACTION'),
  'securityResult[].actionDetails': text,
  'securityResult[].severity': oneOf('INFORMATIONAL', 'ERROR', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'),
  'securityResult[].alertState': oneOf('ALERTING', 'NOT_ALERTING'),
  'securityResult[].threatStatus': oneOf('ACTIVE', 'CLEARED', 'FALSE_POSITIVE'),
  'securityResult[].attackDetails.tactics[].id': (value) => /^TA\d{4}$/.test(String(value)),
  'securityResult[].attackDetails.tactics[].name': text,
  'securityResult[].attackDetails.techniques[].id': (value) => /^T\d{4}$/.test(String(value)),
  'securityResult[].attackDetails.techniques[].name': text,
  'securityResult[].attackDetails.techniques[].subtechniqueId': (value) => /^T\d{4}\.\d{3}$/.test(String(value)),
  'securityResult[].attackDetails.techniques[].subtechniqueName': text,
  'extensions.vulns.vulnerabilities[].name': text,
  'extensions.vulns.vulnerabilities[].description': text,
  'extensions.vulns.vulnerabilities[].severity': oneOf('UNKNOWN_SEVERITY', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'),
  'extensions.vulns.vulnerabilities[].severityDetails': text,
  'extensions.vulns.vulnerabilities[].firstFound': time,
  'extensions.vulns.vulnerabilities[].lastFound': time,
}

/** What an event of a type cannot do without, by the usage guide. */
const needed: Readonly<Record<string, readonly string[]>> = {
  NETWORK_HTTP: ['principal.ip', 'target.hostname', 'network.ipProtocol', 'network.applicationProtocol'],
  SCAN_VULN_NETWORK: ['observer.assetId', 'target.hostname', 'extensions.vulns.vulnerabilities[].name'],
  RESOURCE_CREATION: ['principal.assetId', 'target.resource.resourceType', 'target.resource.name'],
  RESOURCE_WRITTEN: ['principal.assetId', 'target.resource.resourceType', 'target.resource.name'],
  RESOURCE_DELETION: ['principal.assetId', 'target.resource.resourceType', 'target.resource.name'],
  STATUS_HEARTBEAT: ['principal.assetId'],
  STATUS_UNCATEGORIZED: ['principal.assetId'],
}

function problemsOf(document: Document): string[] {
  const problems: string[] = []
  for (const path of new Set(pathsOf(document, []))) {
    if (path.endsWith('[]')) continue
    const value = at(document, path)
    const fits = path.startsWith('additional.') ? text : fields[path]
    if (!fits?.(value)) problems.push(`${path}: ${JSON.stringify(value)}`)
  }
  const always = ['metadata.eventTimestamp', 'metadata.vendorName', 'metadata.productName', 'metadata.productLogId']
  for (const path of [...always, ...(needed[textAt(document, 'metadata.eventType')] ?? [])]) {
    if (at(document, path) === undefined) problems.push(`${path} is missing`)
  }
  return problems
}

test('without an address or a host an attack is an event like any other', () => {
  const usual = attack()
  const body = usual.body as AttackBody
  for (const less of [{ domain: null }, { sources: [] }, { sources: [{ ip: 'unknown', country: null, count: 1 }] }]) {
    expect(at(parsed(encode({ ...usual, body: { ...body, ...less } })), 'metadata.eventType')).toBe('GENERIC_EVENT')
  }
})

test('a path without a slash does not become part of the host', () => {
  const usual = attack()
  const body = { ...(usual.body as AttackBody), path: '.evil.example/' }
  expect(at(parsed(encode({ ...usual, body })), 'target.url')).toBeUndefined()
})
