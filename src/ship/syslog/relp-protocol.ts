// RELP, the protocol alone: frames to bytes, and bytes to frames. `TXNR SP COMMAND SP DATALEN[ SP DATA] LF`, as
// doc/relp.md of librelp describes it.

import { Buffer } from 'node:buffer'

export interface RelpFrame {
  /** 1 to 999 999 999, in the order of sending; 0 for hints of the server. */
  readonly transaction: number
  readonly command: string
  readonly data: Buffer
}

/** What a server says to one of our frames. */
export interface RelpAnswer {
  /** 200: done. Anything else: refused. */
  readonly status: number
  /** The server's words behind the status. */
  readonly words: string
  /** What follows in the next lines: offers, in the answer to `open`. */
  readonly more: string
}

/** The most data of a frame: version 1 has this bound, and librelp keeps to it in version 0. */
export const relpDataBytesMax = 128 * 1024

/** Transactions are counted up to here, and then from 1 again. */
const transactionMax = 999_999_999

export function transactionAfter(transaction: number): number {
  return transaction >= transactionMax ? 1 : transaction + 1
}

export function relpFrame(transaction: number, command: string, data: Uint8Array): Buffer {
  if (data.length === 0) return Buffer.from(`${transaction} ${command} 0\n`)
  return Buffer.concat([Buffer.from(`${transaction} ${command} ${data.length} `), data, lineFeed])
}

const lineFeed = Buffer.from('\n')
/** Nine digits, a space, a command of 32 letters, a space, nine digits, and what ends them. */
const headBytesMax = 9 + 1 + 32 + 1 + 9 + 1

/**
 * A function that takes bytes as they come, and returns the frames that are complete with them. Throws for what is no
 * RELP: what follows cannot be understood either.
 */
export function relpReader(): (chunk: Uint8Array) => RelpFrame[] {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    const frames: RelpFrame[] = []
    let at = 0
    for (let next = readFrame(rest, at); next !== undefined; next = readFrame(rest, at)) {
      frames.push(next.frame)
      at = next.end
    }
    rest = rest.subarray(at)
    return frames
  }
}

/** The frame that begins at `start`, and where it ends; undefined: it is not complete yet. */
function readFrame(bytes: Buffer, start: number): { readonly frame: RelpFrame; readonly end: number } | undefined {
  const text = bytes.toString('latin1', start, start + headBytesMax)
  const [head, transaction, command, length] = /^(\d{1,9}) ([A-Za-z]{1,32}) (\d{1,9})(?=[ \n])/.exec(text) ?? []
  if (head === undefined || command === undefined) {
    if (text.length >= headBytesMax || !isBeginning(text)) throw new Error('the answer is no RELP')
    return undefined
  }
  const size = Number(length)
  if (size > relpDataBytesMax) throw new Error(`a RELP frame of ${size} bytes is more than allowed`)
  const from = start + head.length + (size === 0 ? 0 : 1)
  const end = from + size
  if (end >= bytes.length) return undefined
  // Some servers put a space even before no data.
  const feed = size === 0 && bytes[end] === 0x20 ? end + 1 : end
  if (feed >= bytes.length) return undefined
  if (bytes[feed] !== 0x0a) throw new Error('a RELP frame does not end where it should')
  const data = Buffer.from(bytes.subarray(from, end))
  return { frame: { transaction: Number(transaction), command, data }, end: feed + 1 }
}

/** Whether a head could still come of it. */
function isBeginning(text: string): boolean {
  return /^(\d{0,9}|\d{1,9} [A-Za-z]{0,32}|\d{1,9} [A-Za-z]{1,32} \d{0,9})$/.test(text)
}

/** `200 OK`, then offers; an answer to `close` may be empty, which counts as 200. */
export function readAnswer(data: Buffer): RelpAnswer {
  const text = data.toString()
  if (text === '') return { status: 200, words: '', more: '' }
  const [, status, words = '', more = ''] = /^(\d{3})(?: ([^\n]*))?(?:\n([\s\S]*))?$/.exec(text) ?? []
  if (status === undefined) throw new Error('a RELP answer without a status')
  return { status: Number(status), words, more }
}

/** `name=value`, one a line: RELP features that a side offers. */
export function readOffers(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line) => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)]))
}
