import { expect, test } from 'vitest'
import { openSinksScene, sinkNames } from './faults/sinks.ts'

// The long form: node test/faults/sinks-main.ts
test(
  'receivers of every confirmed sink, killed at any moment: nothing lost, nothing invented',
  { timeout: 120_000 },
  async () => {
    await using scene = await openSinksScene({ seed: 7, sinks: sinkNames })
    await scene.begun()
    await scene.torment(12_000)
    scene.freeze()
    await expect.poll(() => scene.lacking(), { timeout: 60_000, interval: 500 }).toEqual([])
    const verdicts = await scene.verdicts()
    const faultless = { missing: [], lost: [], invented: [], unexplained: [], notClosed: [] }
    expect(verdicts).toMatchObject(sinkNames.map((sink) => ({ sink, ...faultless })))
    expect(Math.min(...verdicts.map(({ kills }) => kills))).toBeGreaterThan(0)
    expect(Math.min(...verdicts.map(({ due }) => due))).toBeGreaterThan(200)
    // It knows an event again by its id.
    expect(verdicts.find(({ sink }) => sink === 'elasticsearch')).toMatchObject({ duplicates: 0 })
    expect(scene.deaths).toEqual([])
  },
)
