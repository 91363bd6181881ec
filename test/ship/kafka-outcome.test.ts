// No record counts as taken that its partition did not confirm, and none is sent again that it did.

import {
  MultipleErrors,
  NetworkError,
  ProtocolError,
  protocolErrorsCodesById,
  ResponseError,
} from '@platformatic/kafka'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unanswered, untakenOf } from '../../src/ship/wire/kafka-outcome.ts'

const topic = 't'
const names = protocolErrorsCodesById as Readonly<Record<number, string>>

/** Of a broker, all of whose partitions have said something. */
function answered(codes: readonly (readonly [partition: number, code: number])[]): ResponseError {
  const partitionResponses = codes.map(([index, errorCode]) => ({ index, errorCode, baseOffset: 0n }))
  const errors = Object.fromEntries(
    codes.filter(([, code]) => code !== 0).map(([at, code]) => [`/${at}`, [code, null]]),
  )
  return new ResponseError(0, 7, errors as never, { responses: [{ name: topic, partitionResponses }] } as never)
}

test('exactly what was confirmed is taken', () => {
  const partitions = fc.array(
    fc.constantFrom<'produced' | 'broken' | 0 | 2 | 10 | 19 | 29>('produced', 'broken', 0, 2, 10, 19, 29),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  const sent = fc.array(fc.nat(7), { minLength: 1, maxLength: 40 })
  const exact = fc.property(partitions, sent, fc.boolean(), (others, targets, twice) => {
    const fates = ['produced' as const, ...others]
    const places = [0, ...targets].map((target) => ({ topic, partition: target % fates.length }))
    const codes = fates.flatMap((fate, partition) => (typeof fate === 'number' ? [[partition, fate] as const] : []))
    // The brokers of `broken` and of the partitions with codes are different ones.
    const first = twice
      ? [new MultipleErrors('2 times', [new NetworkError('gone'), answered(codes)])]
      : [answered(codes)]
    const thrown = new MultipleErrors('Producing messages failed.', [...first, new NetworkError('Connection closed')])
    const offsets = fates.flatMap((fate, partition) => (fate === 'produced' ? [{ topic, partition, offset: 0n }] : []))
    Object.assign(thrown, { produced: { offsets } })

    const expected = places.flatMap(({ partition }, index) =>
      fates[partition] === 'produced' || fates[partition] === 0 ? [] : [index],
    )
    const untaken = untakenOf(thrown, places, { where: 'kafka', names })
    expect(untaken.map(({ index }) => index)).toEqual(expected)
    // An event dies only of what was said of it alone; what is refused together is halved.
    for (const { index, error } of untaken.filter(({ error }) => error.remedy === 'stop' || error.remedy === 'split')) {
      const here = places.filter(({ partition }) => partition === places[index]?.partition)
      expect([error.remedy, fates[places[index]?.partition ?? -1]]).toEqual([here.length === 1 ? 'stop' : 'split', 10])
    }
  })
  fc.assert(exact, { numRuns: 300 })
})

test('where nothing was confirmed, nothing is taken', () => {
  const places = [0, 1].map((partition) => ({ topic, partition }))
  const tooLarge = new MultipleErrors('failed', [answered([[0, 10]]), new NetworkError('Connection closed')])
  const act = (sent: typeof places) => () => untakenOf(tooLarge, sent, { where: 'kafka', names })
  expect(act(places)).toThrow(expect.objectContaining({ code: 'sink_refused_batch', inDoubt: true }))
  expect(act(places.slice(0, 1))).toThrow(expect.objectContaining({ code: 'sink_refused_event' }))
})

test('a good answer that leaves out a partition confirms the others only', () => {
  const places = [0, 1, 0].map((partition) => ({ topic, partition }))
  const untaken = unanswered([{ topic, partition: 0 }], places, 'kafka')
  expect(untaken).toMatchObject([{ index: 1, error: { code: 'sink_reset', inDoubt: true } }])
  expect(new ProtocolError(10)).toMatchObject({ apiId: names[10] })
})
