// One event as one line of JSON, assembled by hand: the constant parts are constants, the record is copied as it came.

import type { SecurityEvent } from '../../event.ts'
import type { Format } from '../format.ts'
import { isoTime } from '../iso-time.ts'

export const json = {
  name: 'json',
  summary: 'The event with its normalized body and the record as it came: one line of JSON.',
  contentType: 'application/x-ndjson',
  encode,
} satisfies Format

function encode(event: SecurityEvent): string {
  return inOneLine(
    `{"id":${quote(event.id)},"revision":${number(event.revision)},"sequence":${number(event.sequence)}` +
      `,"action":"${event.action}","kind":"${event.kind}"` +
      `,"time":${time(event.time)},"observedTime":${time(event.observedTime)}` +
      `,"tenant":${quote(event.tenant)},"client":${number(event.client)},"stream":"${event.stream}"` +
      `,"identity":${quote(event.identity)},"severity":${number(event.severity)}` +
      `,"body":${JSON.stringify(event.body)},"record":${event.recordJson}}`,
  )
}

// What RFC 8259 section 7 wants escaped, and surrogates, which are looked at by JSON.stringify (it escapes lone ones).
// oxlint-disable-next-line no-control-regex
const special = /["\\\u0000-\u001f\ud800-\udfff]/

function quote(text: string): string {
  return special.test(text) ? JSON.stringify(text) : `"${text}"`
}

/** JSON has no NaN and no infinity. */
function number(value: number | null): number | null {
  return Number.isFinite(value) ? value : null
}

function time(unixMs: number): string {
  const text = isoTime(unixMs)
  return text === undefined ? 'null' : `"${text}"`
}

/**
 * JSON may contain line breaks that some readers of lines break at: CR and LF between tokens, and NEL, U+2028 and
 * U+2029 inside strings. Lone surrogates have no UTF-8 form. Looking is cheap (single-character searches), and
 * nearly always finds nothing.
 */
function inOneLine(text: string): string {
  let line = text
  if (line.includes('\n') || line.includes('\r')) line = line.replaceAll(/[\n\r]/g, ' ')
  if (line.includes('\u0085') || line.includes('\u2028') || line.includes('\u2029')) {
    line = line.replaceAll(/[\u0085\u2028\u2029]/g, escaped)
  }
  return line.isWellFormed() ? line : line.replaceAll(/\p{Surrogate}/gu, escaped)
}

function escaped(character: string): string {
  return String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
