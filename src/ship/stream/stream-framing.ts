// RFC 6587: how messages follow one another on a stream. `octet` counts bytes (section 3.4.1), `lf` ends each
// message with a line feed (section 3.4.2).

import { Buffer } from 'node:buffer'

export const framings = ['lf', 'octet'] as const
export type Framing = (typeof framings)[number]

/** All messages as one buffer: one write of a thousand messages costs a fiftieth of a thousand writes. */
export function joinFrames(messages: readonly Uint8Array[], framing: Framing): Buffer {
  return framing === 'octet' ? counted(messages) : lines(messages)
}

/** Every message and a line feed behind it. */
export function lines(messages: readonly Uint8Array[]): Buffer {
  const joined = Buffer.allocUnsafe(messages.reduce((sum, message) => sum + message.length + 1, 0))
  let at = 0
  for (const message of messages) {
    joined.set(message, at)
    at += message.length
    joined[at++] = 0x0a
  }
  return joined
}

function counted(messages: readonly Uint8Array[]): Buffer {
  // A length has ten digits at the most.
  const joined = Buffer.allocUnsafe(messages.reduce((sum, message) => sum + message.length + 11, 0))
  let at = 0
  for (const message of messages) {
    for (const digit of String(message.length)) joined[at++] = digit.charCodeAt(0)
    joined[at++] = 0x20
    joined.set(message, at)
    at += message.length
  }
  return joined.subarray(0, at)
}
