// A batch: events that are queued, sent and confirmed as one. Encoded once per encoding, packed, compressed.

import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import type { Encoding, SecurityEvent } from '../event.ts'

/** A destination and how it wants its events. */
export interface Outlet {
  readonly destination: string
  readonly encoding: Encoding
}

export interface BatchLimits {
  readonly events: number
  /** Bytes before compression, roughly. */
  readonly bytes: number
}

/** One encoding of a batch: how many of its events the encoding kept, and the packed bytes, compressed. */
interface Encoded {
  readonly key: string
  readonly count: number
  readonly packed: Buffer
}

/** Which events a batch has. */
export interface BatchTrace {
  /** The first characters of their ids, one after the other: 66 bits of each are enough to tell them apart. */
  readonly ids: string
  /** Sequence of the first; of replayed ones, of all. */
  readonly first: number
  readonly replayed: boolean
}

export const tracedIdLength = 11

export interface Batch {
  readonly id: string
  readonly encodings: readonly Encoded[]
  /** Who owes it: destination → key of its encoding. */
  readonly owers: ReadonlyMap<string, string>
  /** Time of its oldest event, Unix milliseconds. */
  readonly oldest: number
  /** For the trail. */
  readonly trace: BatchTrace
}

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
const params = { [constants.ZSTD_c_compressionLevel]: 1 }
/** What a packed batch may grow to when it is unpacked: far above what `BatchLimits` allows. */
const unpackedMax = 1 << 30

/** Cuts events into batches and encodes them. Destinations whose filter left nothing owe nothing. */
export async function makeBatches(
  events: readonly SecurityEvent[],
  outlets: readonly Outlet[],
  limits: BatchLimits,
): Promise<Batch[]> {
  const encodings = new Map(outlets.map((outlet) => [outlet.encoding.key, outlet.encoding]))
  const batches = await Promise.all(
    slices(events, limits).map(async (slice) => makeBatch(slice, outlets, [...encodings.values()])),
  )
  return batches.filter((batch) => batch.owers.size > 0)
}

async function makeBatch(
  events: readonly SecurityEvent[],
  outlets: readonly Outlet[],
  encodings: readonly Encoding[],
): Promise<Batch> {
  const encoded: Encoded[] = []
  for (const encoding of encodings) {
    const texts = events.map((event) => encoding.encode(event)).filter((text) => text !== undefined)
    if (texts.length === 0) continue
    encoded.push({ key: encoding.key, count: texts.length, packed: await shrink(packTexts(texts)) })
  }
  const kept = new Set(encoded.map(({ key }) => key))
  return {
    // BullMQ takes no id that is an integer or has a colon.
    id: `b${randomBytes(12).toString('base64url')}`,
    encodings: encoded,
    owers: new Map(
      outlets.filter(({ encoding }) => kept.has(encoding.key)).map((o) => [o.destination, o.encoding.key]),
    ),
    oldest: events.reduce((oldest, event) => Math.min(oldest, event.time), Infinity),
    trace: {
      ids: events.map(({ id }) => id.slice(0, tracedIdLength)).join(''),
      first: events[0]?.sequence ?? 0,
      replayed: events[0]?.replayed ?? false,
    },
  }
}

/** A record of 300 KB fills a batch of its own rather than swelling one of a thousand. */
function slices(events: readonly SecurityEvent[], limits: BatchLimits): SecurityEvent[][] {
  const result: SecurityEvent[][] = []
  let slice: SecurityEvent[] = []
  let bytes = 0
  for (const event of events) {
    const size = event.recordJson.length + 512
    if (slice.length > 0 && (slice.length >= limits.events || bytes + size > limits.bytes)) {
      result.push(slice)
      slice = []
      bytes = 0
    }
    slice.push(event)
    bytes += size
  }
  if (slice.length > 0) result.push(slice)
  return result
}

/** Count, then the length of each (32 bits, little-endian), then the texts in UTF-8, one after the other. */
export function packTexts(texts: readonly string[]): Buffer {
  const joined = texts.join('')
  const bytes = Buffer.byteLength(joined)
  const head = 4 + texts.length * 4
  // Where every character is one byte, as nearly always, one write does for all.
  if (bytes === joined.length) {
    const packed = Buffer.allocUnsafe(head + bytes)
    packed.writeUInt32LE(texts.length, 0)
    for (const [i, text] of texts.entries()) packed.writeUInt32LE(text.length, 4 + i * 4)
    packed.write(joined, head, 'latin1')
    return packed
  }
  const encoded = texts.map((text) => Buffer.from(text))
  const lengths = Buffer.allocUnsafe(head)
  lengths.writeUInt32LE(texts.length, 0)
  for (const [i, text] of encoded.entries()) lengths.writeUInt32LE(text.length, 4 + i * 4)
  return Buffer.concat([lengths, ...encoded])
}

/** Records as they are to be sent, packed and compressed as `unpackRecords` wants them. */
export async function packRecords(records: readonly Uint8Array[]): Promise<Buffer> {
  const lengths = Buffer.allocUnsafe(4 + records.length * 4)
  lengths.writeUInt32LE(records.length, 0)
  for (const [i, record] of records.entries()) lengths.writeUInt32LE(record.length, 4 + i * 4)
  return await shrink(Buffer.concat([lengths, ...records]))
}

/** Its length (32 bits, little-endian), then the zstd frame. In one piece: each is a trip to another thread. */
async function shrink(bytes: Buffer): Promise<Buffer> {
  const frame = await compress(bytes, { params, chunkSize: Math.max(1_024, bytes.length >> 1) })
  const packed = Buffer.allocUnsafe(4 + frame.length)
  packed.writeUInt32LE(bytes.length)
  frame.copy(packed, 4)
  return packed
}

/** The records of a packed, compressed batch, as views into one buffer. */
export async function unpackRecords(packed: Buffer): Promise<Uint8Array[]> {
  const length = Math.min(packed.readUInt32LE(0), unpackedMax)
  const options = { maxOutputLength: unpackedMax, chunkSize: Math.max(64, length) }
  const bytes = await decompress(packed.subarray(4), options)
  const count = bytes.readUInt32LE(0)
  const records: Uint8Array[] = []
  let at = 4 + count * 4
  for (let i = 0; i < count; i++) {
    const length = bytes.readUInt32LE(4 + i * 4)
    records.push(bytes.subarray(at, at + length))
    at += length
  }
  return records
}
