// The older header: what RFC 3164 asks for, for hostile input, too.

import { Buffer } from 'node:buffer'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { json } from '../../src/ship/formats/json.ts'
import { compileRfc3164, type OldHeaderOptions } from '../../src/ship/syslog/rfc3164.ts'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { joinFrames } from '../../src/ship/stream/stream-framing.ts'
import { attack } from './events.ts'
import { optionsOf } from './options.ts'
import { takeApart } from './receiver.ts'

const header: OldHeaderOptions = { facility: 'local0', hostname: 'gw-1', tag: 'tailrace', maxMessageBytes: 8192 }

const hostile = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    fc.constantFrom('\n', '\r', '\0', '<', '>', ':', '[', ']', ' ', '1', '\ud800', '😀', 'ж'),
  ),
  maxLength: 300,
})

test('a frame has all its fields; the day has a space before it', () => {
  const frame = compileRfc3164(header)
  expect(frame(attack(), '{}')).toBe('<131>Mar 30 17:44:59 gw-1 tailrace: {}')
  const early = attack({ time: Date.UTC(2026, 0, 9, 7, 4, 5), severity: 10 })
  expect(frame(early, '{}')).toBe('<130>Jan  9 07:04:05 gw-1 tailrace: {}')
  expect(frame(attack({ time: Number.NaN }), '')).toBe('<131>Mar 30 17:45:01 gw-1 tailrace: ')
  expect(frame(attack({ time: Number.NaN, observedTime: 9e15 }), '')).toBe('<131>Jan  1 00:00:00 gw-1 tailrace: ')
})

test('host and tag are what the RFC lets them be', () => {
  const of = (some: Partial<OldHeaderOptions>) => compileRfc3164({ ...header, ...some })(attack(), 'x').slice(21)
  expect(of({ tag: 'täil-race 2' })).toBe('gw-1 tilrace2: x')
  expect(of({ tag: 'a'.repeat(40) })).toBe(`gw-1 ${'a'.repeat(32)}: x`)
  expect(of({ tag: '' })).toBe('gw-1 x')
  expect(of({ hostname: 'a b\nc' })).toBe('a_b_c tailrace: x')
  expect(of({ hostname: '2001:db8::1' })).toBe('2001:db8::1 tailrace: x')
  expect(of({ hostname: '' })).toBe('- tailrace: x')
})

test('CEF and LEEF have no tag, unless one is asked for', () => {
  const framed = (name: string, values: object) => {
    const options = optionsOf(syslog, { header: 'rfc3164', hostname: 'h.example', ...values })
    return syslog
      .frame?.(options, { ...json, name })?.(attack(), 'CEF:0|')
      .slice(21)
  }
  expect(framed('json', {})).toBe('h.example tailrace: CEF:0|')
  expect(framed('cef', {})).toBe('h.example CEF:0|')
  expect(framed('leef', {})).toBe('h.example CEF:0|')
  expect(framed('cef', { appName: 'waf' })).toBe('h.example waf: CEF:0|')
  expect(framed('json', { appName: '-' })).toBe('h.example CEF:0|')
  expect(framed('json', { hostname: '' })).toBe(`${hostname().split('.')[0]} tailrace: CEF:0|`)
})

test.for(['lf', 'octet'] as const)('%s: an event is one message, whatever is in it', (framing) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(hostile, hostile, hostile), { maxLength: 5 }), (texts) => {
      const messages = texts.map(([host, tag, text]) =>
        compileRfc3164({ ...header, hostname: host, tag })(attack(), text),
      )
      const stream = joinFrames(
        messages.map((message) => Buffer.from(message)),
        framing,
      )
      expect(takeApart(stream, framing)).toEqual(messages.map((message) => message.toWellFormed()))
      for (const message of messages) {
        // oxlint-disable-next-line no-control-regex
        expect(message).not.toMatch(/[\n\r\0]/)
        expect(message).toMatch(/^<131>Mar 30 17:44:59 [\w.:-]+ ([A-Za-z0-9]{1,32}: )?/)
      }
    }),
  )
})

test('a message is never longer than allowed, and says when it was cut', () => {
  fc.assert(
    fc.property(fc.integer({ min: 480, max: 1200 }), hostile, fc.integer({ min: 0, max: 12 }), (bytes, text, times) => {
      const message = text
        .repeat(times)
        .toWellFormed()
        .replaceAll(/[\n\r\0]/g, ' ')
      const framed = compileRfc3164({ ...header, maxMessageBytes: bytes })(attack(), message)
      expect(Buffer.byteLength(framed)).toBeLessThanOrEqual(bytes)
      expect(framed.isWellFormed()).toBe(true)
      expect(/\.\.\.\[cut, was \d+ bytes\]$/.test(framed) || framed.endsWith(message)).toBe(true)
    }),
    { numRuns: 300 },
  )
})

const checker = fileURLToPath(new URL('../../../shared/conformance/check.mjs', import.meta.url))

test.skipIf(!existsSync(checker))('the conformance checker finds nothing wrong', () => {
  const texts = ['', 'a"b\\c]d', 'ж☃😀', 'x'.repeat(2000), '<134>Mar 30 17:44:59 host tag: x']
  const headers = [{}, { tag: 'my-app' }, { hostname: '192.0.2.1' }, { maxMessageBytes: 600 }]
  const messages = headers.flatMap((some) =>
    texts.map((text, month) => {
      const event = attack({ time: Date.UTC(2026, month, 1 + month * 4), severity: month * 2 })
      return Buffer.from(compileRfc3164({ ...header, ...some })(event, text))
    }),
  )
  const options = ['rfc3164', '--octet-counted', '--max-bytes', '8192']
  const { status, stdout, stderr } = spawnSync(process.execPath, [checker, ...options], {
    input: joinFrames(messages, 'octet'),
    encoding: 'utf8',
  })
  expect(`${stdout}${stderr}`).toContain(`${messages.length} events, 0 with problems`)
  expect(status).toBe(0)
})
