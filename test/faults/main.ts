// `npm run faults`: every fault at length. Ends with 1 where anything was lost, invented, or sent twice
// without reason.

import { setTimeout as delay } from 'node:timers/promises'
import { openScene, summary } from './scene.ts'
import type { Scene } from './scene.ts'

const seed = Number(process.argv[2] ?? Date.now() % 100_000)

async function faults(scene: Scene): Promise<void> {
  const say = (text: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`)
  const pause = async (): Promise<void> => delay(300 + Math.random() * 2_200)
  await delay(5_000)
  say('50 times: a daemon killed at a random moment')
  for (let i = 0; i < 50; i++) {
    await pause()
    await scene.killDaemon(i % scene.daemons.length)
  }
  say('10 times: Redis killed')
  for (let i = 0; i < 10; i++) {
    await scene.killRedis()
    await pause()
  }
  say('3 times: Redis taken back by some seconds')
  for (let i = 0; i < 3; i++) {
    await delay(6_000)
    await scene.rollBack(2 + i)
  }
  say('a daemon stopped for longer than its locks')
  await scene.stopDaemon(0, 25_000)
  say('receiver resetting for 30 s')
  await scene.mood('resetting', 30_000)
  say('receiver stalling for 20 s')
  await scene.mood('stalling', 20_000)
  say('receiver closed for a minute')
  await scene.mood('closed', 60_000)
  say('the world stands still')
}

await using scene = await openScene({ seed, replicas: 2, firstPort: 19_700, faultShare: 0.08 })
console.log(`seed ${seed}`)
await faults(scene)
const verdict = await scene.verdict()
console.log(summary(verdict))
for (const row of verdict.lost.slice(0, 5)) console.log('lost', row)
for (const event of verdict.invented.slice(0, 3)) console.log('never shown', event.stream, event.identity, event.action)
for (const event of verdict.unexplained.slice(0, 3))
  console.log(
    'twice',
    event.stream,
    event.identity,
    event.deliveries.map((d) => [d.at, d.link.confirmedAt]),
  )
for (const name of verdict.notClosed.slice(0, 5)) console.log('end not told', name)
for (const frame of scene.receiver.broken.slice(0, 3)) console.log('broken frame', frame)
const deaths = scene.daemons.flatMap((daemon) => daemon.deaths)
console.log(`daemons that ended by themselves: ${deaths.length}${deaths.length > 0 ? ` (${deaths.join()})` : ''}`)
const faultless =
  verdict.lost.length + verdict.invented.length + verdict.unexplained.length + verdict.notClosed.length === 0 &&
  scene.receiver.broken.length === 0 &&
  deaths.length === 0
process.exitCode = faultless ? 0 : 1
