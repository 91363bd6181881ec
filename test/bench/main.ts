// `npm run bench`: events a second from the simulator to a syslog receiver, through Redis with its
// append-only file on, against a floor without any queue; both in turn, in one run. Figures of this machine
// drift; the ratio of a round does not.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { startRedis } from '../redis.ts'
import './formats.ts' // says what each format costs
import { benchCredentials, destinationOf } from './setting.ts'

const clients = [1, 2, 3, 4, 5, 6, 7, 8]
const perClient = Number(process.env['BENCH_RECORDS'] ?? 40_000)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const total = clients.length * perClient

interface Child extends AsyncDisposable {
  readonly process: ChildProcess
  readonly lines: Interface
  next(): Promise<string>
}

function launch(name: string, ...args: string[]): Child {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  const iterator = lines[Symbol.asyncIterator]()
  return {
    process: child,
    lines,
    async next() {
      const { value, done } = await iterator.next()
      if (done) throw new Error(`${name} ended`)
      return value
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}

interface Usage {
  /** Seconds. */
  readonly cpu: number
  /** Bytes. */
  readonly peak: number
}

function usageOf(pid: number | undefined): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0'
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, peak: Number(peak) * 1024 }
}

interface Counted {
  readonly count: number
  readonly seconds: number
}

async function ask(receiver: Child, line: string): Promise<Counted> {
  receiver.process.stdin?.write(`${line}\n`)
  const [count = 0, first = 0, last = 0] = (await receiver.next()).split(' ').map(Number)
  return { count, seconds: (last - first) / 1000 }
}

async function runFloor(url: string, receiver: Child, port: number): Promise<{ rate: number; usage: Usage }> {
  await ask(receiver, 'reset')
  const floor = launch('floor', 'test/bench/floor.ts', url, String(port), clients.join(), String(perClient))
  let usage: Usage = { cpu: 0, peak: 0 }
  const watch = setInterval(() => {
    try {
      usage = usageOf(floor.process.pid)
    } catch {
      clearInterval(watch) // it has ended
    }
  }, 50)
  await once(floor.process, 'exit')
  clearInterval(watch)
  const { count, seconds } = await ask(receiver, 'ask')
  if (count < total) throw new Error(`the floor delivered ${count} of ${total}`)
  return { rate: count / seconds, usage }
}

interface Through {
  readonly rate: number
  readonly daemon: Usage
  readonly redis: Usage
  readonly simulatorCpu: number
  readonly receiverCpu: number
  readonly stateBytes: number
}

async function runThrough(url: string, simulator: Child, receiver: Child, port: number): Promise<Through> {
  await ask(receiver, 'reset')
  await using redis = await startRedis('--appendonly', 'yes', '--appendfsync', 'everysec')
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-bench-'))
  const config = join(folder, 'tailrace.yaml')
  const tenants = clients.map((id) => ({
    name: `bench${id}`,
    baseUrl: url,
    credentials: benchCredentials,
    clients: [id],
    streams: { attacks: { every: '1s', start: '48h', pageSize: 1000 } },
  }))
  const settings = { redis: { url: redis.url }, http: { port: 0 }, log: { level: 'warn' }, inlineTenants: tenants }
  await writeFile(config, JSON.stringify({ ...settings, destinations: [destinationOf(port)] }))
  const before = [simulator, receiver].map((child) => usageOf(child.process.pid).cpu)
  const daemon = launch('daemon', '--max-semi-space-size=16', 'src/main.ts', 'run', '--config', config)
  daemon.lines.on('line', (line) => console.log(line))
  let counted = await ask(receiver, 'ask')
  while (counted.count < total) {
    await delay(100)
    counted = await ask(receiver, 'ask')
  }
  const [simulatorBefore = 0, receiverBefore = 0] = before
  const redisPid = Number((await redis.client.info('server')).match(/process_id:(\d+)/)?.[1])
  const [seen] = await redis.client.keys('*{bench1/attacks}:seen')
  const bytes = Number(await redis.client.call('MEMORY', ['USAGE', seen ?? '', 'SAMPLES', '0']))
  const result = {
    rate: counted.count / counted.seconds,
    daemon: usageOf(daemon.process.pid),
    redis: usageOf(redisPid),
    simulatorCpu: usageOf(simulator.process.pid).cpu - simulatorBefore,
    receiverCpu: usageOf(receiver.process.pid).cpu - receiverBefore,
    stateBytes: bytes / (await redis.client.hlen(seen ?? '')),
  }
  await daemon[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
  return result
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
}

const history = { attacks: perClient, spanSeconds: 80_000 }
await using simulator = launch(
  'simulator',
  'src/main.ts',
  'simulate',
  '--port=0',
  `--clients=${clients.join()}`,
  '--attacks-per-second=0',
  '--options',
  JSON.stringify({ frozen: true, requestsPerSecond: 100_000, world: { history, rules: 0, vulnerabilities: 0 } }),
)
const url = /http:\S+/.exec(await simulator.next())?.[0] ?? ''
await using receiver = launch('receiver', 'test/bench/receiver.ts')
const port = Number(await receiver.next())

await runFloor(url, receiver, port) // warms the simulator's pages
const ratios: number[] = []
for (let round = 1; round <= rounds; round++) {
  const floor = await runFloor(url, receiver, port)
  const through = await runThrough(url, simulator, receiver, port)
  ratios.push(through.rate / floor.rate)
  const perMillion = (cpu: number): string => ((cpu / total) * 1e6).toFixed(1)
  const mb = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`
  console.log(
    [
      `round ${round}: floor ${Math.round(floor.rate)} events/s, through Redis ${Math.round(through.rate)} events/s: ${(through.rate / floor.rate).toFixed(2)}`,
      `  CPU s per million events: floor ${perMillion(floor.usage.cpu)}, daemon ${perMillion(through.daemon.cpu)}, Redis ${perMillion(through.redis.cpu)}, simulator ${perMillion(through.simulatorCpu)}, receiver ${perMillion(through.receiverCpu)}`,
      `  peak memory: daemon ${mb(through.daemon.peak)}, Redis ${mb(through.redis.peak)}; state: ${Math.round(through.stateBytes)} bytes a record`,
    ].join('\n'),
  )
}
console.log(`median share of the floor: ${median(ratios).toFixed(2)}`)
