// A thousand tenants: how long their files take to load, and a change to one of them to be in force. As `tailrace run`
// does it, with a real Redis. `node test/bench/reload.ts [tenants]`.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registers } from '../../src/commands/registers.ts'
import { watchConfig } from '../../src/config-watch.ts'
import { loadConfig } from '../../src/config.ts'
import { startDaemon } from '../../src/daemon.ts'
import { createStatus } from '../../src/telemetry/status.ts'
import { startRedis } from '../redis.ts'

const tenants = Number(process.argv[2] ?? 1000)
const folder = await mkdtemp(join(tmpdir(), 'tailrace-reload-'))
await using stack = new AsyncDisposableStack()
stack.defer(async () => rm(folder, { recursive: true, force: true }))
const redis = stack.use(await startRedis())
for (const name of ['tenants', 'secrets']) await mkdir(join(folder, name))
const main = join(folder, 'tailrace.yaml')
await writeFile(
  main,
  JSON.stringify({ redis: { url: redis.url }, tenants: 'tenants', destinations: [{ name: 'out', sink: 'stdout' }] }),
)
for (let nth = 0; nth < tenants; nth++) await writeTenant(nth, '10m')

const { report } = createStatus({ version: 'bench' })
const { signal } = new AbortController()
const load = async () => loadConfig(main, {}, registers)
const config = await timed(`load ${tenants} tenants`, load)
const daemon = stack.use(
  await timed('start', async () => startDaemon({ config, report, signal, tell: () => undefined })),
)
let applied = Promise.withResolvers<void>()
stack.use(
  watchConfig({
    first: config,
    load,
    apply: daemon.apply,
    applied: () => applied.resolve(),
    refused: (error) => applied.reject(error),
  }),
)
for (let round = 0; round < 5; round++) {
  applied = Promise.withResolvers()
  await timed('a change to one, from written to in force', async () => {
    await writeTenant(round, `${11 + round}m`)
    await applied.promise
  })
}
const { rss } = process.memoryUsage()
const before = process.cpuUsage()
await new Promise((resolve) => setTimeout(resolve, 10_000))
const { user, system } = process.cpuUsage(before)
console.log(`idle with ${tenants} tenants: ${((user + system) / 1e5).toFixed(1)} % of a core, ${rss >> 20} MB`)

async function writeTenant(nth: number, every: string): Promise<void> {
  const credentials = { uuid: `u-${nth}`, secret: `\${file:../secrets/${nth}}` }
  const streams = { attacks: { every }, incidents: { every }, vulnerabilities: { every } }
  const tenant = { baseUrl: 'http://127.0.0.1:9', credentials, clients: [nth + 1], streams }
  await writeFile(join(folder, 'secrets', String(nth)), `secret-of-${nth}\n`)
  await writeFile(join(folder, 'tenants', `tenant-${nth}.yaml`), JSON.stringify(tenant))
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const from = performance.now()
  const done = await work()
  console.log(`${what}: ${Math.round(performance.now() - from)} ms`)
  return done
}
