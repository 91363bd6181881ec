// The severity follows the tenant's borders, whatever they are.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { levelOf } from '../../src/event.ts'
import { severityOfThreat } from '../../src/poll/changes.ts'

const usual = { medium: 34, high: 67, critical: 90 }

test.each([
  [-5, 0],
  [0, 0],
  [1, 1],
  [33, 3],
  [34, 4],
  [66, 6],
  [67, 7],
  [89, 8],
  [90, 9],
  [100, 10],
  [1e9, 10],
])('a threat of %d is severity %d by the usual borders', (threat, severity) => {
  expect(severityOfThreat(threat, usual)).toBe(severity)
})

test('levels begin at their borders, and no larger threat has a smaller severity', () => {
  const borders = fc.tuple(
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: 1, max: 100 }),
  )
  fc.assert(
    fc.property(borders, (any) => {
      const [medium = 1, high = 1, critical = 1] = any.toSorted((a, b) => a - b)
      let before = 0
      for (let threat = 0; threat <= 100; threat += 0.5) {
        const severity = severityOfThreat(threat, { medium, high, critical })
        expect(Number.isInteger(severity) && severity >= before && severity <= 10).toBe(true)
        before = severity
        const borders = [critical, high, medium, Number.MIN_VALUE]
        const nth = borders.findIndex((border) => threat >= border)
        expect(levelOf(severity)).toBe(['critical', 'high', 'medium', 'low'][nth] ?? 'informational')
      }
    }),
  )
})
