// The line must be JSON for whatever a record has in it.

import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { json } from '../../src/ship/formats/json.ts'
import { isoTime } from '../../src/ship/iso-time.ts'
import { attack } from './events.ts'

const encode = json.compile({})

/** Any UTF-16, lone surrogates and line breaks of all kinds among it. */
const hostile = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    fc.constantFrom('\n', '\r', '\0', '\u0085', '\u2028', '\u2029', '"', '\\', ']', '\ud800', '\udfff', '😀'),
  ),
})

test('an event is one object with everything in it', () => {
  const event = attack()
  expect(JSON.parse(encode(event))).toEqual({
    id: event.id,
    revision: 2,
    sequence: 41,
    action: 'updated',
    kind: 'attack',
    time: '2026-03-30T17:44:59.007Z',
    observedTime: '2026-03-30T17:45:01.000Z',
    tenant: 'acme',
    client: 4711,
    stream: 'attacks',
    identity: 'AM5CP50BU',
    severity: 7,
    replayed: false,
    labels: {},
    body: event.body,
    record: event.record,
  })
})

test('the record is the text as it came', () => {
  const recordJson = '{"big":12345678901234567890,"e":1e2,"dup":1,"dup":2}'
  expect(encode(attack({ recordJson })).endsWith(`,"record":${recordJson}}`)).toBe(true)
})

test('hostile text stays inside its place, and the line is one line of well-formed UTF-8', () => {
  fc.assert(
    fc.property(hostile, hostile, hostile, fc.boolean(), (tenant, identity, value, pretty) => {
      const record = { value, [value]: identity }
      const recordJson = JSON.stringify(record, undefined, pretty ? 1 : undefined)
      const body = { from: 1, to: 2, reason: value }
      const line = encode(attack({ tenant, identity, record, recordJson, body }))
      expect(line).not.toMatch(/[\n\r\u0085\u2028\u2029]/)
      expect(Buffer.from(line).toString()).toBe(line)
      expect(JSON.parse(line)).toMatchObject({ tenant, identity, record, body })
    }),
  )
})

test('a record with raw separators and surrogates, as a lenient parser leaves it, becomes valid', () => {
  const line = encode(attack({ recordJson: '{"a":"\u2028\u2029\u0085\ud800"}' }))
  expect(line.endsWith(String.raw`{"a":"\u2028\u2029\u0085\ud800"}}`)).toBe(true)
})

test.for([Number.NaN, Number.POSITIVE_INFINITY, -1, 1e17])('the number %d does not break the line', (odd) => {
  const event = attack({ time: odd, observedTime: odd, severity: odd, client: null })
  expect(JSON.parse(encode(event))).toMatchObject({ time: null, observedTime: null, client: null })
})

test('times are those of Date, in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 253_402_300_799_999 })), (times) => {
      expect(times.map(isoTime)).toEqual(times.map((ms) => new Date(ms).toISOString()))
    }),
  )
})
