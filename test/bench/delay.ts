// Delivery delay in steady state: from a record's first being shown by the service to its being read by the
// receiver. `node test/bench/delay.ts [seconds]`.

import { setTimeout as delay } from 'node:timers/promises'
import { recordVersion } from '../../src/simulator/account.ts'
import { openScene } from '../faults/scene.ts'

const seconds = Number(process.argv[2] ?? 60)
const warmUpMs = 20_000
const everyMs = 1_000

await using scene = await openScene({ seed: 5, replicas: 1, firstPort: 19_790, faultShare: 0 })
await delay(warmUpMs)
const from = Date.now()
await delay(seconds * 1000)
const verdict = await scene.verdict()
const shown = new Map(
  [...scene.simulator.world.account()].map((row) => [`${row.stream} ${row.identity} ${row.version}`, row.shownFrom]),
)
const delays: number[] = []
for (const event of scene.receiver.arrived.values()) {
  if (event.stream !== 'attacks' && event.stream !== 'incidents') continue
  const at = shown.get(`${event.stream} ${event.identity} ${recordVersion(event.record)}`)
  if (at !== undefined && at > from) delays.push((event.deliveries[0]?.at ?? Infinity) - at)
}
delays.sort((a, b) => a - b)
const quantile = (q: number): number => Math.round(delays[Math.floor(delays.length * q)] ?? NaN)
console.log(`${delays.length} versions of attacks and incidents, read every ${everyMs} ms, lost ${verdict.lost.length}`)
console.log(`delay in ms: p50 ${quantile(0.5)}, p90 ${quantile(0.9)}, p99 ${quantile(0.99)}, most ${delays.at(-1)}`)
