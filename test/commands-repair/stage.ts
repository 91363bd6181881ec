// The commands of repair as a person uses them: on the command line, against a real Redis, with the daemon as a
// process of its own.

import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { eventsIn, fileDestination, openFolder, tenantOf } from '../acceptance/stage.ts'
import type { EventLine, Folder } from '../acceptance/stage.ts'
import { tailrace, type Ended } from '../command-line.ts'
import { startRedis } from '../redis.ts'
import type { TestRedis } from '../redis.ts'

export interface Replayed extends EventLine {
  readonly replayed: boolean
}

export async function replayedIn(path: string): Promise<Replayed[]> {
  return ((await eventsIn(path)) as Replayed[]).filter(({ replayed }) => replayed)
}

export interface Scene extends AsyncDisposable {
  readonly folder: Folder
  readonly redis: TestRedis
  readonly simulator: Simulator
  readonly config: string
  /** A command with this configuration. */
  run(...args: string[]): Promise<Ended>
  json<T>(...args: string[]): Promise<T>
}

export async function openScene(
  more: { streams?: object; simulator?: object; destinations?: object[] } = {},
): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await openFolder())
  const redis = stack.use(await startRedis('--appendonly', 'yes'))
  const history = { attacks: 600, spanSeconds: 3_000 }
  const simulator = stack.use(
    await startSimulator({ pageMax: 50, ...more.simulator, world: { attacksPerSecond: 2, history } }),
  )
  const streams = more.streams ?? { attacks: { every: '1s', overlap: '1m', start: '1h', pageSize: 50 } }
  const files = [fileDestination('soc', folder.file('soc')), fileDestination('lake', folder.file('lake'))]
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    http: { port: 0 },
    destinations: more.destinations ?? files,
    inlineTenants: [tenantOf(simulator, { name: 'acme', client: 4711, streams })],
  })
  const run = async (...args: string[]): Promise<Ended> => tailrace(...args, '--config', config)
  const open = stack.move()
  return {
    folder,
    redis,
    simulator,
    config,
    run,
    json: async <T>(...args: string[]) => JSON.parse((await run(...args, '--json')).out) as T,
    [Symbol.asyncDispose]: async () => open.disposeAsync(),
  }
}

export interface Row {
  readonly watermark: string
  readonly completeAt: string
  readonly sequence: number
  readonly holes: number
}
