import { expect, test } from 'vitest'
import type { SecurityEvent } from '../../src/event.ts'
import { encodingOf, type Wanted } from '../../src/ship/encoding.ts'
import { defineFormat } from '../../src/ship/format.ts'
import { json } from '../../src/ship/formats/json.ts'
import { allTaken, defineSink } from '../../src/ship/sink.ts'
import { attack } from './events.ts'

const framing = defineSink<{ readonly facility: number; readonly token: string }>({
  name: 'framing',
  summary: 'For this test.',
  confirms: 'Nothing.',
  options: { facility: { doc: '', default: 1 }, token: { doc: '', default: '' } },
  limits: () => ({ events: 1, bytes: 1 }),
  frame:
    ({ facility }) =>
    (event: SecurityEvent, encoded) =>
      `<${facility}> ${event.identity} ${encoded}`,
  frameKey: ({ facility }) => String(facility),
  open: () => ({
    send: async () => allTaken,
    look: async () => ({ findings: [] }),
    [Symbol.asyncDispose]: async () => {},
  }),
})
const { frame: _, frameKey: __, ...plain } = framing
const words = defineFormat<{ readonly loud: boolean }>({
  name: 'words',
  summary: 'For this test.',
  contentType: 'text/plain',
  options: { loud: { doc: '', default: false } },
  mapping: [],
  compile:
    ({ loud }) =>
    (event) =>
      loud ? event.kind.toUpperCase() : JSON.stringify([event.labels, event.body]),
})

const usual: Wanted = {
  sink: plain as Wanted['sink'],
  options: {},
  format: json,
  formatOptions: {},
  streams: ['attacks'],
  labels: {},
}
const framed: Wanted = { ...usual, sink: framing as Wanted['sink'], options: { facility: 3, token: 'a' } }

test('an event of another stream is not for it', () => {
  expect(encodingOf(usual).encode(attack())).toBe(json.compile({})(attack()))
  expect(encodingOf(usual).encode(attack({ stream: 'rules' }))).toBeUndefined()
})

test('filter, redaction, labels, format, frame: in this order', () => {
  const { encode } = encodingOf({
    ...framed,
    format: words as Wanted['format'],
    formatOptions: { loud: false },
    labels: { site: 'shop.example.com' },
    filter: { include: [{ domain: 'shop.*' }], exclude: [{ severity: '<7' }] },
    redaction: {
      fields: [
        { field: 'body.domain', do: 'mask' },
        { field: 'identity', do: 'mask' },
      ],
      key: '',
    },
  })
  const text = encode(attack())
  // The filter saw the domain; the labels are not redacted; the frame sees no more than the receiver may.
  expect(text).toMatch(/^<3> \*\*\* /)
  expect(text).toContain('{"site":"shop.example.com"}')
  expect(text).toContain('"domain":"***"')
  expect(encode(attack({ severity: 6 }))).toBeUndefined()
})

test('what is alike shares its bytes', () => {
  const key = (more: Partial<Wanted>, wants = usual): string => encodingOf({ ...wants, ...more }).key
  const hash = (secret: string): Partial<Wanted> => ({
    redaction: { fields: [{ field: 'body.sources.ip', do: 'hash' }], key: secret },
  })
  expect(key({ filter: {}, redaction: { fields: [], key: 'unused' } })).toBe(key({}))
  expect(key({ options: { facility: 3, token: 'b' } }, framed)).toBe(key({}, framed))
  expect(key({ streams: ['rules', 'attacks'] })).toBe(key({ streams: ['attacks', 'rules'] }))
  expect(key(hash('one'))).toBe(key(hash('one')))
  const apart = [
    key({}),
    key({}, framed),
    key({ options: { facility: 4, token: 'a' } }, framed),
    key({ streams: ['rules'] }),
    key({ labels: { site: 'a' } }),
    key({ formatOptions: { loud: true }, format: words as Wanted['format'] }),
    key({ formatOptions: { loud: false }, format: words as Wanted['format'] }),
    key({ filter: { include: [{ kind: 'attack' }] } }),
    key({ filter: { exclude: [{ kind: 'attack' }] } }),
    key(hash('one')),
    key(hash('two')),
  ]
  expect(new Set(apart).size).toBe(apart.length)
})
