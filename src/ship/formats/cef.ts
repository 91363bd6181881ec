// CEF:0 as in the "ArcSight Common Event Format Implementation Standard", document version 27.

import { hash } from 'node:crypto'
import type { SecurityEvent } from '../../event.ts'
import { oneOf, text } from '../../option.ts'
import { defineFormat } from '../format.ts'
import type { MappingTable } from '../format.ts'
import { compileClean, replacedCharacters, trimmed } from '../fields/one-line-text.ts'
import { compilePairs, pairTables } from '../fields/pairs.ts'
import type { Key, Keys } from '../fields/pairs.ts'
import { classIdOf, classToken, nameOf, product, typeOf } from '../fields/taxonomy.ts'

/** Of a key of our own. The standard's own keys have their own limits. */
const textMax = 1023

/** `prefix` is vendor and product: keys of one's own are named VendornameProductnameKey. */
function keysOf(prefix: string): Keys {
  const own = (name: string): Key => ({ key: `${prefix}${name}` })
  const custom = (key: string, label: string): Key => ({ key, label, max: 4000 })
  const labelled = (key: string, label: string): Key => ({ key, label })
  return {
    time: { key: 'rt' },
    observedTime: labelled('deviceCustomDate1', 'observedTime'),
    eventId: own('EventId'),
    revision: own('Revision'),
    sequence: own('Sequence'),
    action: own('Action'),
    tenant: own('Tenant'),
    stream: own('Stream'),
    client: labelled('flexString1', 'client'),
    identity: custom('cs5', 'identity'),
    replayed: own('Replayed'),
    type: own('Type'),
    cwe: own('Cwe'),
    attackTechnique: own('AttackTechnique'),
    outcome: { key: 'act', max: 63 },
    blockStatus: own('BlockStatus'),
    hits: { key: 'cnt', max: 2_147_483_647 },
    firstTime: { key: 'start' },
    lastTime: { key: 'end' },
    sourceV4: { key: 'src' },
    sourceV6: labelled('c6a2', 'Source IPv6 Address'),
    sourceCountry: own('SourceCountry'),
    sources: own('Sources'),
    sourceCount: labelled('cn1', 'sourceCount'),
    domain: { key: 'dhost', max: 1023 },
    url: { key: 'request', max: 1023 },
    method: { key: 'requestMethod', max: 1023 },
    parameter: custom('cs1', 'parameter'),
    statusCodes: custom('cs2', 'statusCodes'),
    threat: labelled('cn2', 'threat'),
    target: custom('cs3', 'target'),
    application: labelled('cs4', 'application'),
    state: { key: 'flexString2', label: 'state', max: 1023 },
    vulnerability: custom('cs6', 'vulnerability'),
    status: custom('cs2', 'status'),
    humanId: custom('cs4', 'humanId'),
    title: custom('cs6', 'title'),
    description: { key: 'msg', max: 1023 },
    validateTime: { key: 'start' },
    invalidateTime: labelled('flexDate1', 'invalidateTime'),
    lastCheck: labelled('deviceCustomDate2', 'lastCheck'),
    attackType: custom('cs1', 'attackType'),
    point: custom('cs2', 'point'),
    conditions: custom('cs3', 'conditions'),
    condition: labelled('cs6', 'condition'),
    regex: custom('cs4', 'regex'),
    comment: { key: 'msg', max: 1023 },
    validated: own('Validated'),
    enabled: labelled('flexString2', 'enabled'),
    updatedAt: labelled('deviceCustomDate2', 'updatedAt'),
    name: custom('cs1', 'name'),
    rules: labelled('cn1', 'rules'),
    from: { key: 'start' },
    to: { key: 'end' },
    reason: { key: 'reason', max: 1023 },
    watermark: labelled('deviceCustomDate2', 'watermark'),
    events: labelled('cn1', 'events'),
    lastSequence: labelled('cn3', 'lastSequence'),
  }
}

/** Line breaks may stand in values only, and are spaces in the header. */
const cleanHeader = compileClean({ '\\': '\\\\', '|': '\\|', '\n': ' ', '\r': ' ', '\t': ' ' })
const cleanValue = compileClean({ '\\': '\\\\', '=': '\\=', '\n': '\\n', '\r': '\\r', '\t': ' ' })

type Scheme = 'none' | 'http' | 'https'

interface CefOptions {
  readonly vendor: string
  readonly product: string
  readonly version: string
  readonly scheme: Scheme
}

export const cef = defineFormat<CefOptions>({
  name: 'cef',
  summary: 'CEF:0, for ArcSight, Microsoft Sentinel (CommonSecurityLog) and most others.',
  contentType: 'text/plain; charset=utf-8',
  options: {
    vendor: text('Device vendor in the header, which receivers route by; also how keys of our own begin.', {
      default: product.vendor,
    }),
    product: text('Device product in the header, likewise.', { default: product.product }),
    version: text('Device version in the header.', { default: product.version }),
    scheme: oneOf<Scheme>(
      ['none', 'http', 'https'],
      'none',
      'What URLs begin with: the service has host and path only. With `none`, `request` is the path.',
    ),
  },
  mapping: [headerTable(), ...pairTables(keysOf(prefixOf(product)), textMax)],
  compile(options) {
    const vendor = headerField(options.vendor, 63) || product.vendor
    const productName = headerField(options.product, 63) || product.product
    const origin = `CEF:0|${vendor}|${productName}|${headerField(options.version, 31) || product.version}|`
    const prefix = prefixOf({ vendor, product: productName })
    const pairs = compilePairs({
      keys: keysOf(prefix),
      separator: ' ',
      textMax,
      clean: cleanValue,
      labelKey: (name) => `${prefix}Label${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      incompleteKey: `${prefix}Incomplete`,
      scheme: options.scheme === 'none' ? '' : options.scheme,
    })
    return (event) => origin + headOf(event) + externalId(event.identity) + pairs(event)
  },
})

function headerField(value: string, max: number): string {
  return cleanHeader(trimmed(value, max))
}

function prefixOf(names: { readonly vendor: string; readonly product: string }): string {
  const prefix = `${names.vendor}${names.product}`.replaceAll(/[^A-Za-z0-9]/g, '')
  return prefix === '' ? `${product.vendor}${product.product}` : prefix
}

/** Class id, name, severity and the keys that go with the class. All of them are words of our own. */
function headOf(event: SecurityEvent): string {
  const { kind } = event
  const isAttack = kind === 'attack' || kind === 'incident'
  const category =
    isAttack || kind === 'vulnerability' || kind === 'rule' ? `${kind}/${classToken(typeOf(event))}` : kind
  return `${classIdOf(event)}|${nameOf(event)}|${event.severity}|cat=${category} type=${isAttack ? 1 : 0}`
}

/** At most 40 characters: the identity; if it is longer, what is behind its last colon; else its SHA-1. */
function externalId(identity: string): string {
  const whole = identity.trim()
  if (whole === '') return ''
  if (whole.length <= 40) return ` externalId=${cleanValue(whole)}`
  const raw = whole.slice(whole.lastIndexOf(':') + 1).trim()
  const isUsable = raw !== '' && raw.length <= 40
  return ` externalId=${isUsable ? cleanValue(raw) : hash('sha1', identity)}`
}

function headerTable(): MappingTable {
  return {
    title: 'Header, and keys that go with it',
    notes: [
      `${replacedCharacters} become U+FFFD, a TAB a space; line breaks are written \`\\n\` and \`\\r\`. White space at the ends of a value is removed.`,
      'A value that is longer than its key allows (in UTF-16 units) is cut. `TailraceWAFIncomplete` names the keys whose value was cut, and those left out because their number or time cannot be sent.',
      'Keys of our own begin with vendor and product: `TailraceWAF…` unless these are configured. A label of the destination is `TailraceWAFLabel…`: `site` is `TailraceWAFLabelSite`.',
      'Numbers are whole: fractions are rounded. Times are Unix milliseconds with 13 digits: 2001 to 2286.',
      'The record as it came is not sent: `rawEvent` may be set by receivers only.',
    ],
    columns: ['field', 'from'],
    rows: [
      ['Version', '`CEF:0`'],
      ['Device Vendor, Product, Version', 'options `vendor`, `product`, `version`'],
      ['Device Event Class ID', 'class id'],
      ['Name', 'name'],
      ['Severity', '`severity`, 0 to 10'],
      ['`cat`', 'kind; of attacks, incidents, vulnerabilities and rules with the type: `attack/sqli`'],
      ['`type`', '1 (aggregated) of attacks and incidents, else 0'],
      [
        '`externalId`',
        '`identity`; if it is longer than 40 characters, what is behind its last colon; if that is too long as well, its SHA-1. The whole is in `cs5`.',
      ],
    ],
  }
}
