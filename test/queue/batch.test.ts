import fc from 'fast-check'
import { promisify } from 'node:util'
import { zstdCompress } from 'node:zlib'
import { expect, test } from 'vitest'
import { makeBatches, packTexts, unpackRecords } from '../../src/queue/batch.ts'
import { eventsOf } from './events.ts'

const compress = promisify(zstdCompress)

test('what is packed is unpacked, whatever is in the texts', async () => {
  const texts = fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 50 })
  await fc.assert(
    fc.asyncProperty(texts, async (given) => {
      const packed = packTexts(given)
      const length = Buffer.alloc(4)
      length.writeUInt32LE(packed.length)
      const records = await unpackRecords(Buffer.concat([length, await compress(packed)]))
      expect(records.map((record) => Buffer.from(record))).toEqual(given.map((text) => Buffer.from(text)))
    }),
  )
})

test('a batch keeps to its limits; a larger event goes alone', async () => {
  const outlets = [{ destination: 'soc', encoding: { key: 'k', encode: (event: { id: string }) => event.id } }]
  const events = [...eventsOf(10), ...eventsOf(1, 'x'.repeat(300_000)), ...eventsOf(5)]
  const batches = await makeBatches(events, outlets, { events: 8, bytes: 100_000 })
  expect(batches.map((batch) => batch.encodings[0]?.count)).toEqual([8, 2, 1, 5])
})
