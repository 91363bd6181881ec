import fc from 'fast-check'
import { expect, test } from 'vitest'
import { offsets, pagers } from '../../src/poll/pager.ts'
import type { Pager } from '../../src/poll/pager.ts'
import { play } from './model.ts'
import type { ModelOptions } from './model.ts'

const base = {
  overlapSeconds: 60,
  lateSeconds: 20,
  shuffledTies: false,
  removals: 6,
  crashes: true,
  pageSeconds: 0.7,
  passes: 40,
  initial: 80,
}

const scenario = fc.record({
  seed: fc.integer({ min: 0, max: 0x7fffffff }),
  ranges: fc.constantFrom('honoured', 'ignored', 'refused'),
  clamp: fc.integer({ min: 15, max: 60 }),
  pageSize: fc.integer({ min: 15, max: 80 }),
})

async function missesNothing(options: Partial<ModelOptions>): Promise<{ readonly failed: boolean }> {
  return await fc.check(
    fc.asyncProperty(scenario, async (chosen) => {
      const { missed } = await play({ ...base, ...chosen, ...options })
      expect(missed).toEqual([])
    }),
    { numRuns: 60, seed: 7, endOnFailure: true },
  )
}

function blind(pager: Pager): Pager {
  // Whatever the page shows, its first record counts as the seam: the check is gone, the overlap remains.
  return {
    name: pager.name,
    move: (cursor, entries, shortIsEnd) => {
      const [first] = entries
      return pager.move(first ? { ...cursor, seam: [first] } : { ...cursor, offset: 0, seam: [] }, entries, shortIsEnd)
    },
  }
}

test('no version that stays visible is missed, whatever changes between two pages', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (chosen) => {
      const { missed } = await play({ ...base, ...chosen })
      expect(missed).toEqual([])
    }),
    { numRuns: 120 },
  )
})

test(
  'nor where records of one second come in another order each time, given full walks',
  { timeout: 60_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (chosen) => {
        const { missed } = await play({ ...base, ...chosen, shuffledTies: true, ranges: 'honoured' })
        expect(missed).toEqual([])
      }),
      { numRuns: 40 },
    )
  },
)

test('the model notices when the overlap is taken out', { timeout: 60_000 }, async () => {
  const result = await missesNothing({ overlapSeconds: 1 })
  expect(result.failed).toBe(true)
})

// One pass over a list from which many records vanish meanwhile: what stays where it is must be read.
async function onePassMissesNothing(): Promise<{ readonly failed: boolean }> {
  const harsh = { ...base, crashes: false, lateSeconds: 0, removals: 25, passes: 1, initial: 500, overlapSeconds: 600 }
  return await fc.check(
    fc.asyncProperty(scenario, async (chosen) => {
      const { missedOfOld } = await play({ ...harsh, ...chosen, ranges: 'refused' })
      expect(missedOfOld).toEqual([])
    }),
    { numRuns: 60, seed: 7, endOnFailure: true },
  )
}

test('a single pass reads all that stays where it is; without the seam check it does not', async () => {
  expect((await onePassMissesNothing()).failed).toBe(false)
  pagers.offsets = blind(offsets)
  try {
    expect((await onePassMissesNothing()).failed).toBe(true)
  } finally {
    pagers.offsets = offsets
  }
})

test('nothing is reported twice: no event has the id of another', async () => {
  const { events } = await play({ ...base, seed: 1, ranges: 'honoured', clamp: 20, pageSize: 50 })
  expect(new Set(events.map((event) => event.id)).size).toBe(events.length)
  expect(events.map((event) => event.sequence)).toEqual(events.map((_, i) => i + 1))
})
