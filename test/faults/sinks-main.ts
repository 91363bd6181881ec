// `node test/faults/sinks-main.ts [sink…] [--seconds N] [--seed N]`: every confirmed sink, its receiver killed at random
// moments, at length. Ends with 1 where anything was lost, invented, or sent twice without reason.

import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isSinkName, openSinksScene, sinkNames, sinkSummary } from './sinks.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '180' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
  },
})
const unknown = positionals.filter((name) => !isSinkName(name))
if (unknown.length > 0) throw new Error(`no such sink here: ${unknown.join()}; there are ${sinkNames.join()}`)
const sinks = positionals.length > 0 ? positionals.filter(isSinkName) : sinkNames

await using scene = await openSinksScene({ seed: Number(values.seed), sinks })
console.log(`seed ${values.seed}`)
await scene.begun()
await scene.torment(Number(values.seconds) * 1000)
scene.freeze()
const frozenAt = Date.now()
let lacking = await scene.lacking()
while (lacking.length > 0 && Date.now() - frozenAt < 120_000) {
  await delay(2_000)
  lacking = await scene.lacking()
}
console.log(
  `complete after ${((Date.now() - frozenAt) / 1000).toFixed(0)} s; still missing: ${lacking.join(', ') || 'none'}`,
)
const verdicts = await scene.verdicts()
console.log(sinkSummary(verdicts))
for (const { sink, missing, unexplained } of verdicts) {
  for (const one of missing.slice(0, 5)) console.log(sink, 'missing', one)
  for (const { stream, sequence, deliveries } of unexplained.slice(0, 3)) {
    const told = deliveries.map(({ at, link }) => `${at}, confirmed ${link.confirmedAt}`)
    console.log(sink, 'twice', stream, sequence, told.join('; '))
  }
}
console.log(`daemons that ended by themselves: ${scene.deaths.length}`)
const faultless = verdicts.every(
  ({ lost, missing, invented, unexplained, notClosed }) =>
    lost.length + missing.length + invented.length + unexplained.length + notClosed.length === 0,
)
process.exitCode = faultless && scene.deaths.length === 0 ? 0 : 1
