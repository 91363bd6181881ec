import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SecurityEvent } from '../../src/event.ts'
import { json } from '../../src/ship/formats/json.ts'
import { compileRedaction, redactionMistake, type RedactedField } from '../../src/ship/select/redaction.ts'
import { attack } from './events.ts'
import { hostileEvent } from './hostile.ts'

const key = '0123456789abcdef'

function redacted(fields: readonly RedactedField[], event: SecurityEvent = attack()): SecurityEvent {
  return compileRedaction({ fields, key })?.(event) ?? event
}

function withRecord(record: Record<string, unknown>, replaced: Partial<SecurityEvent> = {}): SecurityEvent {
  return attack({ record, recordJson: JSON.stringify(record), ...replaced })
}

function hmac(text: string): string {
  return createHmac('sha256', key).update(text).digest('hex').slice(0, 32)
}

test('without fields there is no redaction', () => {
  expect(compileRedaction({ fields: [], key })).toBeUndefined()
})

test('in a body, what is gone is null, and numbers are gone', () => {
  const { body } = redacted([
    { field: 'body.domain', do: 'drop' },
    { field: 'body.path', do: 'mask' },
    { field: 'body.hits', do: 'mask' },
    { field: 'body.threat', do: 'hash' },
    { field: 'body.statusCodes', do: 'hash' },
    { field: 'body.point', do: 'drop' },
    { field: 'body.sources.count', do: 'drop' },
    { field: 'body.sources.ip', do: 'hash' },
  ])
  expect(body).toEqual({
    ...attack().body,
    domain: null,
    path: '***',
    // The same text as a step of the point.
    parameter: null,
    hits: null,
    threat: null,
    statusCodes: [],
    point: [],
    sources: [{ ip: hmac('192.0.2.1'), country: 'DE', count: null }],
  })
})

test('an address that is dropped is empty, as one that is missing', () => {
  expect(redacted([{ field: 'body.sources.ip', do: 'drop' }]).body).toMatchObject({
    sources: [{ ip: '', country: 'DE' }],
  })
})

test('in a record, what is dropped is absent, and numbers become text', () => {
  const record = { a: 1, b: [true, null, 2], c: { d: 'x', e: 'y' }, f: { g: 'z' }, h: 5 }
  const fields: readonly RedactedField[] = [
    { field: 'record.a', do: 'hash' },
    { field: 'record.b', do: 'mask' },
    { field: 'record.c.d', do: 'drop' },
    { field: 'record.f', do: 'drop' },
  ]
  const event = redacted(fields, withRecord(record))
  expect(event.record).toEqual({ a: hmac('1'), b: ['***', null, '***'], c: { e: 'y' }, h: 5 })
  expect(JSON.parse(event.recordJson)).toEqual(event.record)
})

test('the whole record can be dropped', () => {
  expect(redacted([{ field: 'record', do: 'drop' }])).toMatchObject({ record: {}, recordJson: '{}' })
})

test('a text that is redacted is redacted wherever else it stands', () => {
  const record = {
    ip_top: [{ ip: '192.0.2.1' }],
    note: 'from 192.0.2.1, again 192.0.2.1; country DE',
    country: 'DE',
    tables: { '192.0.2.1': 17, country: 1 },
  }
  const event = redacted(
    [
      { field: 'body.sources.ip', do: 'hash' },
      { field: 'body.sources.country', do: 'mask' },
    ],
    withRecord(record),
  )
  const hidden = hmac('192.0.2.1')
  expect(event.record).toEqual({
    ip_top: [{ ip: hidden }],
    note: `from ${hidden}, again ${hidden}; country DE`,
    country: '***',
    tables: { [hidden]: 17, country: 1 },
  })
  expect(redacted([{ field: 'record.domain', do: 'drop' }]).body).toMatchObject({ domain: null })
})

test('the longest text is looked for first, and what was put in is not looked at again', () => {
  const record = { all: 'shop.example.com and example.com', ab: hmac('shop.example.com').slice(0, 4) }
  const fields: readonly RedactedField[] = [
    { field: 'body.domain', do: 'hash' },
    { field: 'body.path', do: 'mask' },
    { field: 'record.ab', do: 'mask' },
  ]
  const event = redacted(fields, withRecord(record, { body: { ...attack().body, path: 'example.com' } as never }))
  expect(event.record).toEqual({ all: `${hmac('shop.example.com')} and ***`, ab: '***' })
})

test('a short name is redacted in body and record', () => {
  const event = redacted([{ field: 'hits', do: 'drop' }])
  expect(event.body).toMatchObject({ hits: null })
  expect(event.record).not.toHaveProperty('hits')
})

test('identity, tenant and client', () => {
  const fields: readonly RedactedField[] = [
    { field: 'identity', do: 'hash' },
    { field: 'tenant', do: 'drop' },
    { field: 'client', do: 'hash' },
  ]
  const event = redacted(fields)
  expect(event).toMatchObject({ identity: hmac('AM5CP50BU'), tenant: '***', client: null })
  expect(event.record).toMatchObject({ attackid: hmac('AM5CP50BU') })
})

test('gaps and heartbeats keep their bodies, but not the name of the tenant', () => {
  const body = { from: 1, to: 2, reason: 'refused' }
  const gap = attack({ kind: 'gap', action: 'gap', body, record: {}, recordJson: '{}' })
  const fields: readonly RedactedField[] = [
    { field: 'tenant', do: 'hash' },
    { field: 'body.reason', do: 'drop' },
  ]
  expect(redacted(fields, gap)).toEqual({ ...gap, tenant: hmac('acme') })
})

test('what is nested too deep is dropped, and does not overflow the stack', () => {
  let deep: unknown = 'secret'
  for (let n = 0; n < 100_000; n++) deep = n % 2 === 0 ? [deep] : { deep }
  const event = redacted([{ field: 'body.domain', do: 'mask' }], attack({ record: { deep, flat: 1 }, recordJson: '' }))
  expect(event.recordJson).not.toContain('secret')
  expect(event.record).toMatchObject({ flat: 1 })
})

test('a record cannot change what objects inherit', () => {
  const record: unknown = JSON.parse('{"__proto__":{"x":"shop.example.com"}}')
  const event = redacted([{ field: 'body.domain', do: 'mask' }], attack({ record: record as Record<string, unknown> }))
  expect(event.recordJson).toBe('{"__proto__":{"x":"***"}}')
})

const texts = ['body.type', 'body.domain', 'body.path', 'body.sources.ip', 'body.title', 'identity', 'body.comment']

test('whatever the event: it does not throw, keeps its shape, and says nothing of what is redacted', () => {
  const encode = json.compile({})
  const field = fc.record({ field: fc.constantFrom(...texts), do: fc.constantFrom('drop', 'mask', 'hash') })
  fc.assert(
    fc.property(hostileEvent, fc.uniqueArray(field, { selector: (one) => one.field }), (event, fields) => {
      const once = redacted(fields, event)
      expect(shapeOf(once.body)).toEqual(shapeOf(event.body))
      encode(once)
      if (event.kind === 'gap' || event.kind === 'heartbeat') return
      const leaves = leavesOf([once.record, once.body])
      for (const text of hiddenTexts(event, fields)) {
        expect(leaves.filter((leaf) => leaf === text || (text.length >= 4 && leaf.includes(text)))).toEqual([])
      }
      expect(redacted(fields, event)).toEqual(once)
    }),
    { numRuns: 300 },
  )
})

/** The keys of a body, and which of its values are lists. */
function shapeOf(body: object): unknown {
  return Object.entries(body).map(([name, value]) => [name, Array.isArray(value)])
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : []
}

function hiddenTexts(event: SecurityEvent, fields: readonly RedactedField[]): string[] {
  const found = fields.flatMap(({ field }) => {
    if (field === 'identity') return [event.identity]
    if (field === 'body.sources.ip') return 'sources' in event.body ? event.body.sources.map(({ ip }) => ip) : []
    return [Reflect.get(event.body, field.replace('body.', '')) as unknown]
  })
  return found.filter((text): text is string => typeof text === 'string' && text !== '' && !/^[*0-9a-f]+$/.test(text))
}

describe('mistakes', () => {
  test.each<[unknown, string | undefined]>([
    [[], undefined],
    [
      [
        { field: 'body.sources.ip', do: 'hash' },
        { field: 'record', do: 'drop' },
        { field: 'tor', do: 'mask' },
      ],
      undefined,
    ],
    [{ field: 'identity', do: 'drop' }, 'must be a list'],
    [['body.domain'], 'element 0 must have field and do'],
    [[{ do: 'drop' }], 'element 0 has no field'],
    [[{ field: 'body.domain' }], 'element 0 (body.domain) has a do that is not one of drop, mask, hash'],
    [[{ field: 'body.domain', do: 'drop', why: 'x' }], 'has why, which is neither field nor do'],
    [[{ field: 'body.domian', do: 'drop' }], 'names a field that no body has'],
    [[{ field: 'body', do: 'drop' }], 'name fields of it'],
    [[{ field: 'labels', do: 'drop' }], 'labels are put on afterwards'],
    [['a', 'b'].map(() => ({ field: 'tor', do: 'drop' })), 'element 1 (tor) names a field twice'],
    ...['id', 'revision', 'sequence', 'action', 'kind', 'stream', 'time', 'severity'].map(
      (field): [unknown, string] => [[{ field, do: 'mask' }], `(${field}) cannot be redacted`],
    ),
  ])('%j', (fields, expected) => {
    expect(redactionMistake(fields) ?? 'none').toContain(expected ?? 'none')
  })
})
