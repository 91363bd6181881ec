import { Buffer } from 'node:buffer'

const encoder = new TextEncoder()

/** The longest beginning of a text that is at most so many bytes of UTF-8; no character is torn. */
export function cutText(text: string, bytesMax: number): string {
  // A UTF-16 unit has three bytes of UTF-8 at the most: short texts need no counting.
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text
  const room = Math.max(0, bytesMax)
  return text.slice(0, encoder.encodeInto(text.slice(0, room), new Uint8Array(room)).read)
}
