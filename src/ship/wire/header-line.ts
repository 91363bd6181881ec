// A line before a record, for sinks that must know more of an event than its bytes when they send it: what waits in
// the queue is bytes, so what `frame` knew has to be among them. `send` takes the line off again.

import { Buffer } from 'node:buffer'
import { TailraceError } from '../../errors.ts'

/** Texts and numbers, as JSON. Neither that nor an encoded event has a line feed in it. */
export type HeaderLine = Readonly<Record<string, string | number>>

export function putHeaderLine(header: HeaderLine, encoded: string): string {
  return `${JSON.stringify(header)}\n${encoded}`
}

/** The two parts of what `putHeaderLine` made; the record shares its memory. */
export function takeHeaderLine(framed: Uint8Array): { readonly header: HeaderLine; readonly record: Buffer } {
  const bytes = Buffer.from(framed.buffer, framed.byteOffset, framed.byteLength)
  const end = bytes.indexOf(0x0a)
  if (end === -1) throw new TailraceError('internal', 'a record in the queue has no header line')
  return { header: JSON.parse(bytes.toString('utf8', 0, end)) as HeaderLine, record: bytes.subarray(end + 1) }
}
