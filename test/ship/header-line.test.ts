// What is put before a record comes off again, whatever there is in it.

import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { putHeaderLine, takeHeaderLine } from '../../src/ship/wire/header-line.ts'
import { compileTemplate, plainName } from '../../src/ship/template.ts'

test('header and record come back as they were', () => {
  const header = fc.record({ key: fc.string({ unit: 'grapheme' }), tenant: fc.string(), time: fc.integer() })
  // A record is one line; as UTF-8, it has no half of a surrogate pair.
  const encoded = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', ' '))
  const roundTrip = fc.property(header, encoded, (about, text) => {
    // Somewhere in a larger buffer, as what comes out of a batch is.
    const bytes = Buffer.concat([Buffer.from('before\n'), Buffer.from(putHeaderLine(about, text))]).subarray(7)
    const taken = takeHeaderLine(bytes)
    expect(taken.header).toEqual(about)
    expect(taken.record.toString()).toBe(text)
  })
  fc.assert(roundTrip)
})

test('a record without a header line is no record of ours', () => {
  expect(() => takeHeaderLine(Buffer.from('{}'))).toThrow(expect.objectContaining({ code: 'internal' }))
})

test('values in a template add no level and no placeholder', () => {
  const fill = compileTemplate({ text: 'a/{tenant}/b', known: ['tenant'], where: 'test' })
  const safe = fc.property(fc.string(), (tenant) => {
    expect(fill({ tenant: plainName(tenant) })).toMatch(/^a\/[A-Za-z0-9._-]*\/b$/)
  })
  fc.assert(safe)
})
