import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changesOf, createReader } from '../../src/poll/changes.ts'
import type { ChangeContext, Changes, Known } from '../../src/poll/changes.ts'
import { termsOf, walkOn, beginWalk } from '../../src/poll/replay.ts'
import { begunAnew } from '../../src/commands/watermark.ts'
import { attacks } from '../../src/poll/streams/attacks.ts'
import { bornAt, unborn } from '../../src/poll/state.ts'

const reader = createReader(attacks)
const context: ChangeContext = {
  tenant: 'acme',
  reader,
  borders: { medium: 34, high: 67, critical: 90 },
  sequence: 100,
  observedTime: 2_000_000,
  inventory: null,
}

interface Item {
  readonly id: number
  readonly time: number
  readonly hits: number
}

function read(items: readonly Item[], known: ReadonlyMap<string, Known>, more: Partial<ChangeContext> = {}): Changes {
  const page = items.map(({ id, time, hits }) => ({ attackid: `a${id}`, clientid: 1, last_time: time, hits }))
  const records = reader.read(page, 2_000)
  const seen = records.map(({ key }) => known.get(key))
  return changesOf(records, seen, { ...context, ...more })
}

const item = fc.record({
  id: fc.nat(30),
  time: fc.integer({ min: 1_000, max: 2_000 }),
  hits: fc.integer({ min: 1, max: 3 }),
})
const pageOf = fc.uniqueArray(item, { selector: ({ id }) => id, maxLength: 30 })

test('a replay takes nothing from what is new, and delivers what is known with the id that it had', () => {
  const range = { from: 1_200, to: 1_800 }
  const forgottenBelow = 1_400
  fc.assert(
    fc.property(pageOf, pageOf, (before, page) => {
      const first = read(before, new Map())
      const known = new Map(first.seen.map(({ identity, ...value }) => [identity, value]))
      const plain = read(page, known)
      const walk = beginWalk({ id: 'r1', destinations: ['lake'], askedAt: 0 })
      const replay = read(page, known, { replay: termsOf(walk, range, forgottenBelow) })
      const inRange = ({ time }: { time: number }): boolean => time >= range.from * 1000 && time <= range.to * 1000
      const ids = (changes: readonly { id: string }[]): string[] => changes.map(({ id }) => id)

      // What is new is new with and without a replay, but for what is too old to tell.
      const tooOld = plain.events.filter(
        (event) => inRange(event) && event.time < forgottenBelow * 1000 && event.revision === 1,
      )
      expect(ids(replay.events)).toEqual(ids(plain.events.filter((event) => !tooOld.includes(event))))
      expect(replay.events.map(({ sequence }) => sequence)).toEqual(replay.events.map((_, i) => 101 + i))
      // Everything of the range is delivered, once, as one or the other.
      const told = [...replay.events, ...replay.replayed].filter(inRange).map(({ identity }) => identity)
      const wanted = page.filter(({ time }) => inRange({ time: time * 1000 })).map(({ id }) => `a${id}`)
      expect(told.toSorted()).toEqual(wanted.toSorted())
      const had = new Set([...ids(first.events), ...ids(tooOld)])
      expect(
        replay.replayed.filter(({ id, replayed, sequence }) => !had.has(id) || !replayed || sequence !== 100),
      ).toEqual([])

      // The next page begins with records of this one.
      const next = termsOf(walkOn(walk, replay.replayed), range, forgottenBelow)
      expect(read(page, known, { replay: next }).replayed).toEqual([])
    }),
  )
})

test('a stream that begins anew keeps its numbers, and what was asked for', () => {
  const asked = { from: 1, to: 2, replay: { id: 'r1', destinations: ['lake'], askedAt: 0 } }
  const rhythm = {
    everyMs: 1,
    overlapMs: 60_000,
    startMs: 600_000,
    pageSize: 9,
    reconcileEveryMs: 1,
    reconcileWindowMs: 1,
  }
  const state = { ...unborn, sequence: 7, watermark: 5, completeAt: 5, holes: [{ from: 0, to: 1 }, asked] }
  const anew = begunAnew(state)
  expect(anew).toMatchObject({ sequence: 7, watermark: null, completeAt: null, holes: [asked] })
  expect(bornAt(anew, 10_000, { stream: attacks, rhythm }).holes).toEqual([{ from: 9_400, to: 9_940 }, asked])
})
