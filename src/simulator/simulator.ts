// The security service, simulated over HTTP: a living world behind the interface of the real one.
// Nothing here is shared with what it is used to judge.

import fastify, { type FastifyInstance } from 'fastify'
import { openControl } from './control.ts'
import { createDirectory, wellKnownCredentials, type Credentials } from './directory.ts'
import type { IncidentsMeaning } from './entry.ts'
import { createFaults, type Faults } from './faults.ts'
import { openGate, type GateOptions } from './gate.ts'
import { calmWorld, createLife, type WorldOptions } from './life.ts'
import { createLists, type ListRules } from './list.ts'
import { describeService } from './openapi.ts'
import type { QueryRules } from './query.ts'
import { createRandom, mixSeed } from './random.ts'
import { createStats, type Stats } from './stats.ts'
import { createWorld, type World } from './world.ts'

export interface SimulatorOptions extends Partial<QueryRules>, Partial<GateOptions> {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: 0, any free one. */
  readonly port?: number
  /** The same seed gives the same run, tick by tick. Default: 1. */
  readonly seed?: number
  /** Default: 4711. */
  readonly clients?: readonly number[]
  /** Default: `wellKnownCredentials`. */
  readonly credentials?: readonly Credentials[]
  /** Default: lastTime. */
  readonly timeMeans?: ListRules['timeMeans']
  /** Default: stable. */
  readonly ties?: ListRules['ties']
  /** What the documented incident filter selects. Default: withoutVulnerability. */
  readonly incidentsMeans?: IncidentsMeaning
  /** How far the service's clock is ahead. Default: 0. */
  readonly clockSkewSeconds?: number
  /** Upon `calmWorld`; see also `stillWorld` and `nastyWorld`. */
  readonly world?: Partial<WorldOptions>
  /** Default: 100. */
  readonly tickMs?: number
  /** Nothing happens until `thaw`. Default: false. */
  readonly frozen?: boolean
}

export interface Simulator extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly url: string
  readonly port: number
  /** Changes made here show, and are accounted for, at once. */
  readonly world: World
  readonly faults: Faults
  readonly stats: Stats
  readonly credentials: readonly Credentials[]
  freeze(): void
  thaw(): void
  /** One step of the world's life, also when it is frozen. */
  tick(): void
}

export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { clients = [4711], seed = 1, tickMs = 100, credentials = [wellKnownCredentials] } = options
  const { incidentsMeans = 'withoutVulnerability', clockSkewSeconds = 0, headerPrefix = 'X-ServiceAPI' } = options
  const worldOptions: WorldOptions = { ...calmWorld, ...options.world }
  const random = (part: number): ReturnType<typeof createRandom> => createRandom(mixSeed(seed, part))

  const world = createWorld({ seed, clients, incidentsMeans, clockSkewSeconds })
  const life = createLife(world, worldOptions, random(1), tickMs)
  const faults = createFaults(random(2))
  const stats = createStats()
  const directory = createDirectory(credentials, clients, random(3))
  const switches = { frozen: options.frozen ?? false }
  const lock = { restoring: false }
  const lists = createLists(world, { ...listRules(options), ...worldOptions }, random(4))
  const backend = { world, lists, directory, queryRules: queryRules(options), isRestoring: () => lock.restoring }

  const app = createApp()
  await describeService(app, headerPrefix)
  await app.register(async (part) => {
    openGate(part, { backend, stats, faults, options: { ...gateOptions(options), headerPrefix } })
  })
  await app.register(async (part) => openControl(part, { world, stats, faults, directory, life: switches, lock }))
  app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'))
  const url = await app.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 })
  const clock = startClock(tickMs, switches, (lagMs) => life.tick(lagMs))

  return {
    url,
    port: Number(new URL(url).port),
    world,
    faults,
    stats,
    credentials,
    freeze: () => void (switches.frozen = true),
    thaw: () => void (switches.frozen = false),
    tick: () => life.tick(),
    async [Symbol.asyncDispose]() {
      clearInterval(clock)
      await app.close()
    },
  }
}

function createApp(): FastifyInstance {
  const app = fastify({
    forceCloseConnections: true,
    bodyLimit: 4 * 1024 * 1024,
    routerOptions: { ignoreTrailingSlash: true },
  })
  // Bodies are read, and refused, by the operations themselves: in the service's words, not fastify's.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  return app
}

/** Ticks as often as is due, in one go after a delay, so that a slow machine sees the same number of ticks. */
function startClock(
  tickMs: number,
  switches: { readonly frozen: boolean },
  tick: (lagMs: number) => void,
): NodeJS.Timeout {
  let last = performance.now()
  return setInterval(() => {
    const due = Math.floor((performance.now() - last) / tickMs)
    last += due * tickMs
    if (switches.frozen) return
    for (let n = Math.min(due, 100); n > 0; n--) tick((n - 1) * tickMs)
  }, tickMs)
}

function listRules({
  timeMeans = 'lastTime',
  ties = 'stable',
}: SimulatorOptions): Pick<ListRules, 'timeMeans' | 'ties'> {
  return { timeMeans, ties }
}

function queryRules(options: SimulatorOptions): QueryRules {
  const { pageMax = 1000, offsetMax = 10_000, closedRanges = 'honoured' } = options
  return { pageMax, offsetMax, closedRanges }
}

function gateOptions(options: SimulatorOptions): Omit<GateOptions, 'headerPrefix'> {
  const { latencyMs = 0, requestsPerSecond = 500, retryAfter = 'seconds' } = options
  return { latencyMs, requestsPerSecond, retryAfter }
}
