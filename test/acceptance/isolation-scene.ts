// One tenant with a long history and one that is small: what the small one notices of the other.

import { setTimeout as delay } from 'node:timers/promises'
import { stillWorld } from '../../src/simulator/life.ts'
import { createRandom } from '../../src/simulator/random.ts'
import { makeAttack } from '../../src/simulator/records.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { startRedis } from '../redis.ts'
import { fileDestination, lineCount, openFolder, runDaemon, tenantOf } from './stage.ts'

export interface BackfillFigures {
  readonly records: number
  /** Events in the file of the big one, in the end. */
  readonly delivered: number
  readonly seconds: number
  /** Of the small one while the big one was read, seconds. */
  readonly oldestWatermark: number
  readonly everySeconds: number
  /** Of the small one: from being shown to being in the file, at most; milliseconds. */
  readonly longestDelayMs: number
  readonly samples: number
  /** Of this process, which simulates the service as well. */
  readonly mostMemoryMb: number
}

/** Both tenants are looked at every so many seconds. */
export async function backfillBesideSmall(
  records: number,
  everySeconds: number,
  timeoutMs: number,
): Promise<BackfillFigures> {
  await using stack = new AsyncDisposableStack()
  const simulator = stack.use(await startSimulator({ world: stillWorld, frozen: true, clients: [1, 2] }))
  simulator.world.addHistory(1, { attacks: records, spanSeconds: 80_000 })
  const redis = stack.use(await startRedis())
  const folder = stack.use(await openFolder())
  const [big, small] = [folder.file('big'), folder.file('small')]
  const timeline = { every: `${everySeconds}s`, overlap: '1m', start: '24h' }
  const streams = { attacks: { ...timeline, reconcileEvery: '24h' } }
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    destinations: [fileDestination('big', big), fileDestination('small', small)],
    inlineTenants: [
      tenantOf(simulator, { name: 'small', client: 2, streams, destinations: ['small'] }),
      tenantOf(simulator, { name: 'big', client: 1, streams, destinations: ['big'] }),
    ],
  })
  const startedAt = performance.now()
  const running = stack.use(await runDaemon(config))
  let [oldestWatermark, longestDelayMs, samples, mostMemoryMb] = [0, 0, 0, 0]
  let waitingFor: { readonly lines: number; readonly since: number } | undefined
  while ((running.stream('big')?.eventsRead ?? 0) < records || lineCount(big) < records) {
    if (performance.now() - startedAt > timeoutMs) break
    await delay(200)
    mostMemoryMb = Math.max(mostMemoryMb, process.memoryUsage().rss / 1_048_576)
    const status = running.stream('small')
    if (status?.watermarkAgeSeconds !== undefined && status.watermarkAgeSeconds !== null) {
      oldestWatermark = Math.max(oldestWatermark, status.watermarkAgeSeconds)
      samples++
    }
    const lines = lineCount(small)
    if (waitingFor !== undefined) {
      longestDelayMs = Math.max(longestDelayMs, performance.now() - waitingFor.since)
      if (lines >= waitingFor.lines) waitingFor = undefined
      continue
    }
    const now = simulator.world.nowSeconds()
    const frame = { client: 2, raw: `s${lines}`, first: now, last: now, hits: 1, vulnerability: null }
    simulator.world.add('attacks', makeAttack(createRandom(lines + 1), frame))
    waitingFor = { lines: lines + 1, since: performance.now() }
  }
  return {
    records,
    delivered: lineCount(big),
    seconds: (performance.now() - startedAt) / 1_000,
    oldestWatermark,
    everySeconds,
    longestDelayMs,
    samples,
    mostMemoryMb,
  }
}
