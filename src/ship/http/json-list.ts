// Encoded JSON values as a list within a document, as bytes: nothing is parsed, and everything is copied once.

import { Buffer } from 'node:buffer'

/** The values with commas between them; `before` has the opening bracket, `after` the closing one. */
export function jsonList(before: string, values: readonly Uint8Array[], after: string): Buffer {
  const parts: Uint8Array[] = [Buffer.from(before)]
  for (const [index, value] of values.entries()) {
    if (index > 0) parts.push(comma)
    parts.push(value)
  }
  parts.push(Buffer.from(after))
  return Buffer.concat(parts)
}

const comma = Buffer.from(',')
