// The frame: what RFC 5424 and RFC 6587 ask for, for hostile input, too.

import { Buffer } from 'node:buffer'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { json } from '../../src/ship/formats/json.ts'
import { compileRfc5424, type HeaderOptions } from '../../src/ship/syslog/rfc5424.ts'
import { joinFrames } from '../../src/ship/stream/stream-framing.ts'
import { attack } from './events.ts'
import { takeApart } from './receiver.ts'

const header: HeaderOptions = {
  facility: 'local0',
  hostname: 'gw-1.example.com',
  appName: 'tailrace',
  maxMessageBytes: 8192,
  structuredData: true,
  enterpriseNumber: 32_473,
  bom: false,
}

const hostile = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    fc.constantFrom('\n', '\r', '\0', '"', '\\', ']', '[', ' ', '1', '\ud800', '😀', 'ж'),
  ),
  maxLength: 300,
})

test('a frame has all its fields', () => {
  expect(compileRfc5424(header)(attack(), 'CEF:0|…')).toBe(
    '<131>1 2026-03-30T17:44:59.007Z gw-1.example.com tailrace - attack ' +
      '[tailrace@32473 id="q83vEjRWeJCrze8SNFZ4kA" sequence="41" revision="2" action="updated" tenant="acme" stream="attacks"] CEF:0|…',
  )
  expect(compileRfc5424(header)(attack({ replayed: true }), '')).toContain(' stream="attacks" replayed="true"] ')
  const plain = { ...header, structuredData: false, bom: true, hostname: '', appName: 'täil räce', facility: 'kern' }
  expect(compileRfc5424(plain)(attack({ time: Number.NaN }), 'x')).toBe('<3>1 - - t_il_r_ce - attack - \ufeffx')
})

test.for([
  [10, 2],
  [9, 2],
  [8, 3],
  [7, 3],
  [6, 4],
  [4, 4],
  [3, 5],
  [1, 5],
  [0, 6],
] as const)('severity %d of an event is severity %d of syslog', ([severity, expected]) => {
  expect(compileRfc5424(header)(attack({ severity }), '')).toMatch(new RegExp(`^<${128 + expected}>1 `))
  expect(compileRfc5424(header)(attack({ severity, kind: 'gap' }), '')).toMatch(/^<132>1 /)
})

test.for(['lf', 'octet'] as const)('%s: an event is one message, whatever is in it', (framing) => {
  const frame = compileRfc5424(header)
  fc.assert(
    fc.property(fc.array(fc.tuple(hostile, hostile, hostile), { maxLength: 5 }), (texts) => {
      const messages = texts.map(([id, tenant, text]) => frame(attack({ id, tenant }), text))
      const stream = joinFrames(
        messages.map((message) => Buffer.from(message)),
        framing,
      )
      expect(takeApart(stream, framing)).toEqual(messages.map((message) => message.toWellFormed()))
      // A receiver may write what it gets into a file of lines.
      // oxlint-disable-next-line no-control-regex
      for (const message of messages) expect(message).not.toMatch(/[\n\r\0]/)
    }),
  )
})

test('structured data says what it was given', () => {
  const frame = compileRfc5424(header)
  // oxlint-disable-next-line no-control-regex
  const clean = (text: string) => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
  fc.assert(
    fc.property(hostile, hostile, (id, tenant) => {
      const framed = frame(attack({ id, tenant }), 'end')
      // RFC 5424 section 6.3: a value ends at the first quote that is not escaped.
      const values = [...framed.matchAll(/ (\w+)="((?:[^"\\\]]|\\["\\\]])*)"/g)]
      const parameters = values.map(([, name, value]) => [name, value?.replaceAll(/\\(["\\\]])/g, '$1')])
      expect(Object.fromEntries(parameters)).toEqual({
        id: clean(id),
        tenant: clean(tenant),
        sequence: '41',
        revision: '2',
        action: 'updated',
        stream: 'attacks',
      })
      expect(framed.endsWith('"] end')).toBe(true)
    }),
  )
})

test('a message is never longer than allowed, never torn inside a character, and says when it was cut', () => {
  const options = fc.record({
    maxMessageBytes: fc.integer({ min: 480, max: 1200 }),
    structuredData: fc.boolean(),
    bom: fc.boolean(),
  })
  const text = fc.tuple(hostile, fc.integer({ min: 0, max: 12 })).map(([some, times]) => some.repeat(times))
  fc.assert(
    fc.property(options, text, text, (some, message, tenant) => {
      const wellFormed = message.toWellFormed().replaceAll(/[\n\r\0]/g, ' ')
      const frame = compileRfc5424({ ...header, ...some })(attack({ tenant: tenant.toWellFormed() }), wellFormed)
      const bytes = Buffer.from(frame)
      expect(bytes.length).toBeLessThanOrEqual(some.maxMessageBytes)
      expect(bytes.toString()).toBe(frame)
      expect(frame.isWellFormed()).toBe(true)
      const said = /originalBytes="\d+"\] |\.\.\.\[cut, was \d+ bytes\]$/.test(frame)
      expect(said || frame.endsWith(wellFormed)).toBe(true)
    }),
    { numRuns: 500 },
  )
})

const checker = fileURLToPath(new URL('../../../shared/conformance/check.mjs', import.meta.url))

test.skipIf(!existsSync(checker))('the conformance checker finds nothing wrong', () => {
  const odd = ['', 'a"b\\c]d', 'ж☃😀', 'x'.repeat(300)]
  const kinds = ['attack', 'incident', 'vulnerability', 'rule', 'condition', 'gap', 'heartbeat'] as const
  const events = kinds.flatMap((kind) =>
    odd.map((tenant, severity) => attack({ kind, tenant, severity: severity * 3, time: Date.now() })),
  )
  const messages = [{}, { structuredData: false }, { bom: true }, { maxMessageBytes: 600 }].flatMap((some) =>
    events.map((event) => Buffer.from(compileRfc5424({ ...header, ...some })(event, json.compile({})(event)))),
  )
  const file = join(mkdtempSync(join(tmpdir(), 'tailrace-frames-')), 'frames')
  writeFileSync(file, joinFrames(messages, 'octet'))
  const { status, stdout, stderr } = spawnSync(process.execPath, [checker, 'rfc5424', '--octet-counted', file], {
    encoding: 'utf8',
  })
  rmSync(dirname(file), { recursive: true })
  expect(`${stdout}${stderr}`).toContain(`${messages.length} events, 0 with problems`)
  expect(status).toBe(0)
})
