// LEEF 2.0 and 1.0 as in IBM's "Log Event Extended Format (LEEF)" guide.

import { oneOf, text } from '../../option.ts'
import { defineFormat } from '../format.ts'
import type { MappingTable } from '../format.ts'
import { compileClean, replacedCharacters, replacement, trimmed } from '../fields/one-line-text.ts'
import { compilePairs, pairTables } from '../fields/pairs.ts'
import type { Keys } from '../fields/pairs.ts'
import { classIdOf, product } from '../fields/taxonomy.ts'

/** LEEF limits few values; receivers limit the message (QRadar: 4096 bytes over TCP unless told otherwise). */
const textMax = 1023

/** `domain`, `policy`, `resource`, `role` and `realm` are about user accounts in LEEF: none is used. */
const keys: Keys = {
  time: { key: 'devTime' },
  observedTime: { key: 'observedTime' },
  eventId: { key: 'eventUid' },
  revision: { key: 'revision' },
  sequence: { key: 'sequence' },
  action: { key: 'action' },
  tenant: { key: 'tenant' },
  stream: { key: 'stream' },
  client: { key: 'clientId' },
  identity: { key: 'identity' },
  replayed: { key: 'replayed' },
  type: { key: 'type' },
  cwe: { key: 'cwe' },
  attackTechnique: { key: 'attackTechnique' },
  outcome: { key: 'outcome' },
  blockStatus: { key: 'blockStatus' },
  hits: { key: 'hits' },
  firstTime: { key: 'firstTime' },
  lastTime: { key: 'lastTime' },
  sourceV4: { key: 'src' },
  sourceV6: { key: 'src' },
  sourceCountry: { key: 'srcCountry' },
  sources: { key: 'sources' },
  sourceCount: { key: 'ipCount' },
  domain: { key: 'dstHost' },
  url: { key: 'url' },
  method: { key: 'method' },
  parameter: { key: 'parameter' },
  statusCodes: { key: 'statusCodes' },
  threat: { key: 'threat' },
  target: { key: 'target' },
  application: { key: 'application' },
  state: { key: 'state' },
  vulnerability: { key: 'vulnId' },
  status: { key: 'status' },
  humanId: { key: 'humanId' },
  title: { key: 'title' },
  description: { key: 'description' },
  validateTime: { key: 'validateTime' },
  invalidateTime: { key: 'invalidateTime' },
  lastCheck: { key: 'lastCheck' },
  attackType: { key: 'attackType' },
  point: { key: 'point' },
  conditions: { key: 'conditions' },
  condition: { key: 'condition' },
  regex: { key: 'regex' },
  comment: { key: 'comment' },
  validated: { key: 'validated' },
  enabled: { key: 'enabled' },
  updatedAt: { key: 'updatedAt' },
  name: { key: 'name' },
  rules: { key: 'rules' },
  from: { key: 'from' },
  to: { key: 'to' },
  reason: { key: 'reason' },
  watermark: { key: 'watermark' },
  events: { key: 'events' },
  lastSequence: { key: 'lastSequence' },
}

/** None of them stands in addresses, times or names of keys. */
const delimiters = ['^', '~', '!', '#', '$', '*', ';', '0x5E', '0x09'] as const

type Scheme = 'none' | 'http' | 'https'

interface LeefOptions {
  readonly version: '2.0' | '1.0'
  readonly delimiter: (typeof delimiters)[number]
  readonly vendor: string
  readonly product: string
  readonly productVersion: string
  readonly scheme: Scheme
}

export const leef = defineFormat<LeefOptions>({
  name: 'leef',
  summary: 'LEEF 2.0 or 1.0, for IBM QRadar.',
  contentType: 'text/plain; charset=utf-8',
  options: {
    version: oneOf<LeefOptions['version']>(
      ['2.0', '1.0'],
      '2.0',
      '`1.0` has a TAB between attributes, and rsyslog makes `#011` of a TAB unless told otherwise.',
    ),
    delimiter: oneOf(
      delimiters,
      '^',
      'What stands between attributes in LEEF 2.0; in a value it becomes U+FFFD. `0x5E` is `^`, `0x09` a TAB.',
    ),
    vendor: text('Vendor in the header, which finds the log source.', { default: product.vendor }),
    product: text('Product in the header, likewise.', { default: product.product }),
    productVersion: text('Version of the product in the header.', { default: product.version }),
    scheme: oneOf<Scheme>(
      ['none', 'http', 'https'],
      'none',
      'What URLs begin with: the service has host and path only. With `none`, `url` is the path.',
    ),
  },
  mapping: [headerTable(), ...pairTables(keys, textMax)],
  compile(options) {
    const separator = options.version === '1.0' ? '\t' : characterOf(options.delimiter)
    const vendor = headerField(options.vendor) || product.vendor
    const name = headerField(options.product) || product.product
    const start = `LEEF:${options.version}|${vendor}|${name}|${headerField(options.productVersion) || product.version}|`
    const end = options.version === '1.0' ? '|' : `|${options.delimiter}|`
    const pairs = compilePairs({
      keys,
      separator,
      textMax,
      clean: compileClean({ ...spaces, '|': replacement, [separator]: separator === '\t' ? ' ' : replacement }),
      labelKey: (label) => `label${label.charAt(0).toUpperCase()}${label.slice(1)}`,
      incompleteKey: 'incomplete',
      scheme: options.scheme === 'none' ? '' : options.scheme,
    })
    return (event) => {
      const severity = Math.max(1, event.severity)
      return `${start}${classIdOf(event)}${end}cat=${event.kind}${separator}sev=${severity}${pairs(event)}`
    }
  },
})

const spaces = { '\n': ' ', '\r': ' ', '\t': ' ' }
const cleanHeader = compileClean({ ...spaces, '|': replacement })

function headerField(value: string): string {
  return cleanHeader(trimmed(value, textMax))
}

function characterOf(delimiter: string): string {
  return delimiter.startsWith('0x') ? String.fromCharCode(Number(delimiter)) : delimiter
}

function headerTable(): MappingTable {
  return {
    title: 'Header, and attributes that go with it',
    notes: [
      `LEEF has no escapes. \`|\`, the delimiter, and what no line can have become U+FFFD: ${replacedCharacters}. Line breaks and TABs become spaces. White space at the ends of a value is removed.`,
      '`incomplete` names the attributes whose value was cut (lengths are in UTF-16 units), and those left out because their number or time cannot be sent.',
      'Numbers are whole: fractions are rounded. Times are Unix milliseconds with 13 digits: 2001 to 2286.',
      'A label of the destination is `label…`: `site` is `labelSite`.',
    ],
    columns: ['field', 'from'],
    rows: [
      ['Version', '`LEEF:2.0`, or option `version`'],
      ['Vendor, Product, Version', 'options `vendor`, `product`, `productVersion`'],
      ['EventID', 'class id'],
      ['Delimiter', 'option `delimiter`; not in LEEF 1.0'],
      ['`cat`', '`kind`'],
      ['`sev`', '`severity`, at least 1'],
    ],
  }
}
