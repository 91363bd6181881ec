// The service's limit with more work than it allows. The simulator enforces it by itself, in any sliding
// second. The long form, with the figures: node test/acceptance/limit-main.ts

import { expect, test } from 'vitest'
import { measureLimit } from './limit-scene.ts'

// A machine that is busy with other things uses less of the limit at times; never may it use more.
test.for([1, 2])('replicas: %i; the limit is used, and never passed', { timeout: 90_000 }, async (replicas) => {
  const figures = await measureLimit({ replicas, seconds: 2, windows: 10, enough: 350, before: 1_000 })
  expect(figures.highest).toBeLessThanOrEqual(500)
  expect(figures.throttled).toBe(0)
  expect(figures.odd).toEqual([])
  expect(figures.complaints).toEqual([])
  expect(figures.mean).toBeGreaterThanOrEqual(350)
})
