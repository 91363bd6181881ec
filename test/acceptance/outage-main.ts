// One destination dead for five minutes beside one that works: `node test/acceptance/outage-main.ts [seconds]`.
// Prints the other's delivery delay before and during the outage, the memory, and how the dead one catches up.

import { setTimeout as delay } from 'node:timers/promises'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { startReceiver } from '../faults/receiver.ts'
import type { Receiver } from '../faults/receiver.ts'
import { startRedis } from '../redis.ts'
import { openFolder, runDaemon, syslogDestination, tenantOf, versionName } from './stage.ts'

const seconds = Number(process.argv[2] ?? 300)
const lateness = { minSeconds: 0, maxSeconds: 0.5, rareShare: 0, rareSeconds: 1 }
const world = { attacksPerSecond: 20, growthsPerSecond: 0, removalsPerMinute: 0, lateness }

await using simulator = await startSimulator({ clients: [1], world })
await using redis = await startRedis('--appendonly', 'yes')
await using folder = await openFolder()
await using good = await startReceiver()
await using frail = await startReceiver()
const config = await folder.write('tailrace.yaml', {
  redis: { url: redis.url },
  destinations: [syslogDestination('good', good.port), syslogDestination('frail', frail.port)],
  inlineTenants: [tenantOf(simulator, { name: 'acme', client: 1 })],
})
await using running = await runDaemon(config, 'warn')

function delays(receiver: Receiver, from: number, until: number): string {
  const shown = new Map(
    [...simulator.world.account()].map((row) => [`${row.stream} ${row.identity} ${row.version}`, row.shownFrom]),
  )
  const found: number[] = []
  for (const event of receiver.arrived.values()) {
    const at = shown.get(versionName(event))
    if (at !== undefined && at >= from && at < until) found.push((event.deliveries[0]?.at ?? Infinity) - at)
  }
  found.sort((a, b) => a - b)
  const quantile = (q: number): number => Math.round(found[Math.floor(found.length * q)] ?? NaN)
  return `${found.length} events, p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms`
}

const memory = (): string => `${Math.round(process.memoryUsage.rss() / 1e6)} MB`
await delay(10_000)
const begun = Date.now()
await delay(45_000)
const dead = Date.now()
console.log(`before the outage: ${delays(good, begun, dead)}; memory ${memory()}`)
await frail.mood('closed')
await delay(seconds * 1000)
const back = Date.now()
console.log(`during ${seconds} s of outage: ${delays(good, dead, back)}; memory ${memory()}`)
console.log(`behind: ${good.arrived.size - frail.arrived.size} events`)
await frail.mood('well')
simulator.freeze()
while (frail.arrived.size < good.arrived.size && Date.now() - back < 60_000) await delay(100)
console.log(
  `caught up after ${((Date.now() - back) / 1000).toFixed(1)} s: ${frail.arrived.size} of ${good.arrived.size}`,
)
void running
