// `node test/acceptance/limit-main.ts [seconds]`: how fully the service's limit is used, with one replica and
// with two. Ends with 1 where it was exceeded, or used by less than 95 percent.

import { measureLimit } from './limit-scene.ts'

const seconds = Number(process.argv[2] ?? 10)
let good = true
for (const replicas of [1, 2]) {
  const figures = await measureLimit({ replicas, seconds })
  const { highest, mean, throttled, odd, cores, ownCores, longestLagMs } = figures
  console.log(`replicas: ${replicas}, ${figures.seconds.toFixed(1)} s`)
  console.log(`  requests in any second, at most: ${highest}; refused: ${throttled}`)
  console.log(`  mean: ${mean.toFixed(1)} a second`)
  console.log(`  cores: daemons ${cores.map((core) => core.toFixed(2)).join(' + ')}, simulator ${ownCores.toFixed(2)}`)
  console.log(`  longest lag of the simulator: ${longestLagMs.toFixed(0)} ms`)
  if (odd.length > 0) console.log(`  other answers: ${odd.join(', ')}`)
  for (const complaint of figures.complaints.slice(0, 5)) console.log(`  a daemon says: ${complaint}`)
  good &&= highest <= 500 && throttled === 0 && mean >= 475
}
process.exitCode = good ? 0 : 1
