import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openSinksScene, sinkNames } from './faults/sinks.ts'

// The long form: node test/faults/sinks-main.ts
test(
  'receivers of every confirmed sink, killed at any moment: nothing lost, nothing invented',
  { timeout: 120_000 },
  async () => {
    await using scene = await openSinksScene({ seed: 7, sinks: sinkNames })
    await delay(1_000)
    await scene.torment(12_000)
    scene.freeze()
    await expect.poll(() => scene.lacking(), { timeout: 60_000, interval: 500 }).toEqual([])
    for (const verdict of await scene.verdicts()) {
      expect(verdict.kills, verdict.sink).toBeGreaterThan(2)
      expect(verdict.due, verdict.sink).toBeGreaterThan(200)
      const faultless = { missing: [], lost: [], invented: [], unexplained: [], notClosed: [] }
      expect(verdict).toMatchObject(faultless)
      if (verdict.sink === 'elasticsearch') expect(verdict.duplicates).toBe(0)
    }
    expect(scene.deaths).toEqual([])
  },
)
