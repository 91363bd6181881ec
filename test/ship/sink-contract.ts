// What every sink must do, whatever it sends to. A sink's own tests add only its peculiarities.

import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { TailraceError, type ErrorCode } from '../../src/errors.ts'
import type { Sink } from '../../src/ship/sink.ts'
import { batch, patient } from './options.ts'

export interface Bench extends AsyncDisposable {
  /** A new sink for the receiver of this bench. */
  openSink(): Sink
  /** The records that the receiver has, as text, in order of sending. */
  received(): Promise<readonly string[]>
  /** Makes the receiver unreachable, and reachable again at the same place. */
  stop(): Promise<void>
  start(): Promise<void>
  /** The error of a send while the receiver is stopped. */
  readonly unreachable: ErrorCode
  /** Nothing confirms, and a record has the bounds of a datagram: what needs more is left out. */
  readonly unconfirmed?: true
  /** From now on the receiver breaks off while it is sent to. Absent: such a receiver has no such moment. */
  breakMidway?(): void
  /** From now on the receiver takes what is sent, and does not answer. Resolves to its open connections. */
  stall?(): void
  /** Connections that the receiver has open. */
  connections?(): number
  /** What `frame` would make of a text, where the receiver wants more than text; `received` has the text alone. */
  wrap?(text: string): string
  /** From now on the receiver answers so, until `recovers`. Absent: it cannot say such a thing. */
  readonly says?: {
    /** Too fast; it says that 7 seconds should be waited where it can say so. */
    throttled?(): void
    /** It does not work just now. */
    unavailable?(): void
    /** Our credentials are not good enough. */
    credentials?(): void
    /** The whole batch is not acceptable as it is. */
    refused?(): void
    /** It refuses the records that contain `poison`, and takes the others. */
    partly?(): void
    recovers(): void
  }
}

export function testSinkContract(name: string, openBench: () => Promise<Bench>): void {
  testDelivery(name, openBench)
  testAnswers(name, openBench)
  testEnd(name, openBench)
}

/** What a receiver says other than yes: the remedy tells the queue what to do. */
function testAnswers(name: string, openBench: () => Promise<Bench>): void {
  const cases = [
    ['throttled', 'wait', false],
    ['unavailable', 'retry', undefined],
    ['credentials', 'halt', false],
    ['refused', 'split', false],
  ] as const
  for (const [how, remedy, inDoubt] of cases) {
    test(`${name}: ${how}: the remedy is to ${remedy}, and nothing is confirmed; then all is well again`, async ({
      skip,
    }) => {
      await using bench = await openBench()
      const { says } = bench
      if (says?.[how] === undefined) return skip()
      await using sink = bench.openSink()
      says[how]()
      const sent = sink.send(bytesOf(bench, many(1, 3)), batch, patient)
      await expect(sent).rejects.toMatchObject({ remedy, ...(inDoubt === undefined ? {} : { inDoubt }) })
      says.recovers()
      expect(await sink.send(bytesOf(bench, many(1, 3)), batch, patient)).toEqual([])
      await expect.poll(async () => (await bench.received()).slice(-3)).toEqual(many(1, 3))
    })
  }

  test(`${name}: partly refused: exactly the poisonous records are not taken`, async ({ skip }) => {
    await using bench = await openBench()
    const { says } = bench
    if (says?.partly === undefined) return skip()
    await using sink = bench.openSink()
    says.partly()
    const records = ['a', 'poison b', 'c', 'd', 'poison e']
    const untaken = await sink.send(bytesOf(bench, records), batch, patient)
    expect(untaken.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([1, 4])
    expect(new Set(untaken.map(({ error }) => error.remedy))).toEqual(new Set(['stop']))
    await expect.poll(async () => (await bench.received()).toSorted()).toEqual(['a', 'c', 'd'])
  })
}

function testDelivery(name: string, openBench: () => Promise<Bench>): void {
  test(`${name}: delivers all records, in order and byte by byte`, async () => {
    await using bench = await openBench()
    await using sink = bench.openSink()
    const first = bench.unconfirmed ? odd.filter(({ length }) => length < 1000) : odd
    await sink.send(bytesOf(bench, first), batch, patient)
    await sink.send(bytesOf(bench, many(1, 500)), batch, patient)
    await expect.poll(() => bench.received()).toEqual([...first, ...many(1, 500)])
  })

  test(`${name}: a look finds something to say, and sends nothing`, async () => {
    await using bench = await openBench()
    await using sink = bench.openSink()
    const { findings } = await sink.look(patient)
    expect(findings.join(' ')).not.toBe('')
    expect(await bench.received()).toEqual([])
  })

  test(`${name}: nothing to send is sent`, async () => {
    await using bench = await openBench()
    await using sink = bench.openSink()
    await sink.send([], batch, patient)
    expect(await bench.received()).toEqual([])
  })

  test(`${name}: a receiver that is not there is reported, without doubt; delivery goes on when it is back`, async ({
    skip,
  }) => {
    await using bench = await openBench()
    if (bench.unconfirmed) skip()
    await using sink = bench.openSink()
    await sink.send(bytesOf(bench, many(1, 3)), batch, patient)
    await bench.stop()
    const refused = sink.send(bytesOf(bench, many(4, 3)), batch, patient)
    await expect(refused).rejects.toMatchObject({ code: bench.unreachable, inDoubt: false })
    await bench.start()
    await sink.send(bytesOf(bench, many(4, 3)), batch, patient)
    await expect.poll(async () => (await bench.received()).slice(-3)).toEqual(many(4, 3))
  })

  test(`${name}: what is broken off is in doubt, and never confirmed`, async ({ skip }) => {
    await using bench = await openBench()
    if (bench.breakMidway === undefined) skip()
    await using sink = bench.openSink()
    await sink.send(bytesOf(bench, many(1, 3)), batch, patient)
    bench.breakMidway?.()
    for (const size of [1, 50, 20_000]) {
      const sent = sink.send(bytesOf(bench, many(4, size)), batch, patient)
      await expect(sent).rejects.toMatchObject({ code: 'sink_reset', remedy: 'retry', inDoubt: true })
    }
  })

  test(`${name}: parallel sends do not mix`, async () => {
    await using bench = await openBench()
    await using sink = bench.openSink()
    const starts = [1, 101, 201, 301, 401]
    await Promise.all(starts.map((first) => sink.send(bytesOf(bench, many(first, 100)), batch, patient)))
    await expect.poll(async () => (await bench.received()).toSorted()).toEqual(many(1, 500).toSorted())
    const received = await bench.received()
    for (const first of starts) {
      const start = received.indexOf(record(first))
      expect(received.slice(start, start + 100)).toEqual(many(first, 100))
    }
  })
}

function testEnd(name: string, openBench: () => Promise<Bench>): void {
  test(`${name}: with a signal that has fired, nothing is done`, async () => {
    await using bench = await openBench()
    await using sink = bench.openSink()
    const reason = new Error('enough')
    await expect(sink.send(bytesOf(bench, many(1, 3)), batch, AbortSignal.abort(reason))).rejects.toBe(reason)
    await expect(sink.look(AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(await bench.received()).toEqual([])
  })

  test(`${name}: an aborted send rejects at once with the signal's reason, and leaves nothing open`, async ({
    skip,
  }) => {
    await using bench = await openBench()
    if (bench.stall === undefined) skip()
    await using sink = bench.openSink()
    await sink.send(bytesOf(bench, many(1, 3)), batch, patient)
    bench.stall?.()
    const controller = new AbortController()
    const sent = settled(sink.send(bytesOf(bench, many(4, 3)), batch, controller.signal))
    await expect.poll(() => bench.connections?.()).toBe(1)
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await sent).toBe(reason)
    await expect.poll(() => bench.connections?.()).toBe(0)
  })

  test(`${name}: disposing ends what waits, leaves nothing open, and may be repeated`, async ({ skip }) => {
    await using bench = await openBench()
    if (bench.stall === undefined) skip()
    const sink = bench.openSink()
    await sink.send(bytesOf(bench, many(1, 3)), batch, patient)
    bench.stall?.()
    const sent = settled(sink.send(bytesOf(bench, many(4, 3)), batch, patient))
    await expect.poll(() => bench.connections?.()).toBe(1)
    await sink[Symbol.asyncDispose]()
    await sink[Symbol.asyncDispose]()
    expect(await sent).toMatchObject({ inDoubt: true })
    await expect.poll(() => bench.connections?.()).toBe(0)
  })

  test(`${name}: a disposed sink sends nothing`, async () => {
    await using bench = await openBench()
    const sink = bench.openSink()
    await sink.send(bytesOf(bench, many(1, 3)), batch, patient)
    await sink[Symbol.asyncDispose]()
    await sink[Symbol.asyncDispose]()
    expect(await settled(sink.send(bytesOf(bench, many(4, 3)), batch, patient))).toBeInstanceOf(TailraceError)
    expect(await bench.received()).toEqual(many(1, 3))
  })
}

/** What a promise rejected with; undefined when it resolved. */
async function settled(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
    return undefined
  } catch (error) {
    return error
  }
}

/** Nothing that a framing by lines could not carry; framing is made sure of when the header is put before. */
const odd = ['x', 'ж☃😀 é', ' leading and trailing ', '7 not a count', '\t\\"{}[]<>%&', '0'.repeat(70_000)]

function record(number: number): string {
  return `<134>1 - - - - - - record ${String(number).padStart(6, '0')}`
}

function many(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => record(first + index))
}

function bytesOf({ wrap }: Bench, records: readonly string[]): Buffer[] {
  return records.map((text) => Buffer.from(wrap?.(text) ?? text))
}
