// `node test/acceptance/isolation-main.ts [records]`: a back-fill of a million records beside a small tenant.
// Ends with 1 where the small one was held up.

import { backfillBesideSmall } from './isolation-scene.ts'

const records = Number(process.argv[2] ?? 1_000_000)
const figures = await backfillBesideSmall(records, 2, 1_800_000)
const { delivered, seconds, oldestWatermark, everySeconds, longestDelayMs, mostMemoryMb } = figures
console.log(`records: ${records}, delivered: ${delivered}`)
console.log(`seconds: ${seconds.toFixed(1)}, records a second: ${Math.round(delivered / seconds)}`)
console.log(`small tenant: every ${everySeconds} s; oldest watermark ${oldestWatermark} s (${figures.samples} samples)`)
console.log(`small tenant: longest delay of an event ${Math.round(longestDelayMs)} ms`)
console.log(`most memory of daemon and simulator together: ${Math.round(mostMemoryMb)} MB`)
process.exitCode = delivered === records && oldestWatermark < 2 * everySeconds ? 0 : 1
