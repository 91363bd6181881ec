import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openScene } from './faults/scene.ts'

// The long form: npm run faults
test(
  'killed, stopped, rolled back, reset and refused: nothing lost, nothing invented',
  { timeout: 120_000 },
  async () => {
    await using scene = await openScene({ seed: 11, replicas: 2, firstPort: 19_750, faultShare: 0.08 })
    await delay(3_000)
    for (let i = 0; i < 4; i++) {
      await delay(400 + Math.random() * 1_000)
      await scene.killDaemon(i % 2)
    }
    await scene.killRedis()
    await delay(2_500)
    await scene.rollBack(2)
    await scene.mood('resetting', 3_000)
    await scene.mood('closed', 2_000)
    const verdict = await scene.verdict()
    expect(verdict.due).toBeGreaterThan(500)
    expect(verdict.lost).toEqual([])
    expect(verdict.invented).toEqual([])
    expect(verdict.unexplained).toEqual([])
    expect(verdict.notClosed).toEqual([])
    expect(scene.receiver.broken).toEqual([])
    expect(scene.daemons.flatMap((daemon) => daemon.deaths)).toEqual([])
  },
)
