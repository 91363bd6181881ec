// Wires poll → queue → ship. The only file that knows all three.

import type { Cluster, Redis } from 'ioredis'
import type { Config } from './config.ts'
import { asTailraceError, TailraceError } from './errors.ts'
import type { StreamKey } from './event.ts'
import { createBudget } from './poll/budget.ts'
import type { PollPorts, Subscription } from './poll/ports.ts'
import { runTurn } from './poll/turn.ts'
import { makeBatches } from './queue/batch.ts'
import type { Batch } from './queue/batch.ts'
import { createBatches } from './queue/batches.ts'
import type { Engine } from './queue/engine.ts'
import { openOutlets } from './queue/outlets.ts'
import type { Outlets } from './queue/outlets.ts'
import { createPauseBoard, createPauses } from './queue/pauses.ts'
import type { PauseBoard } from './queue/pauses.ts'
import { createPressure } from './queue/pressure.ts'
import type { Pressure } from './queue/pressure.ts'
import { createStore } from './queue/store.ts'
import type { Lease, Store } from './queue/store.ts'
import { openTurns } from './queue/turns.ts'
import type { Turns } from './queue/turns.ts'
import { openRedis } from './open-redis.ts'
import { asRedisError, assertSafe, inspectRedis } from './redis.ts'
import { watchRedis } from './redis-watch.ts'
import { factOf, openReceiver, receiverDigest, tellCertificates } from './receivers.ts'
import type { OpenReceiver } from './receivers.ts'
import { every } from './rhythm.ts'
import { rosterOf } from './roster.ts'
import type { Roster } from './roster.ts'
import type { ServiceClient } from './service/client.ts'
import { clientsOf, openServiceConnections } from './service-clients.ts'
import type { ServiceConnections } from './service/connections.ts'
import { createLimit } from './service/limit.ts'
import type { Limit } from './service/limit.ts'
import type { Report } from './telemetry/report.ts'
import type { Tracing } from './telemetry/tracing.ts'
import { tracedPorts, tracedReceiver } from './traced.ts'

export interface DaemonParts {
  readonly config: Config
  readonly report: Report
  /** Ends the start; a daemon that runs is ended by disposing it. */
  readonly signal: AbortSignal
  /** Told, in sentences, what an operator should know of the start. */
  readonly tell: (finding: string) => void
  /** Left out: nothing is traced. */
  readonly tracing?: Tracing | undefined
}

export interface Daemon extends AsyncDisposable {
  /** Why it is not ready, in words; empty: it is. */
  ready(): Promise<readonly string[]>
  readonly streams: readonly StreamKey[]
  /**
   * Puts other tenants and destinations in force: what they share with those before goes on undisturbed. What else has
   * changed in the configuration takes a restart.
   */
  apply(config: Config): Promise<void>
}

interface Instance {
  readonly limit: Limit
  readonly turns: Turns
}

/** What is replaced when another configuration is put in force. */
interface InForce {
  readonly config: Config
  readonly roster: Roster
  readonly clients: ReadonlyMap<string, ServiceClient>
  readonly receivers: ReadonlyMap<string, OpenReceiver>
}

interface Parts extends DaemonParts {
  readonly commands: Redis | Cluster
  readonly connections: ServiceConnections
  readonly store: Store
  readonly outlets: Outlets
  readonly pressure: Pressure
  readonly paused: PauseBoard
  readonly engine: Engine
  readonly instances: Map<string, Instance>
  inForce: InForce
  running: boolean
}

/** Of the grace, what polling may take to end: a request under way is worth no more. */
const pollShareOfGrace = 0.2
const keepEveryMs = 60_000
const sweepAgeMs = 60_000
const measureEveryMs = 5_000
const pausesEveryMs = 1_000
const watchEveryMs = 2_000
const noRoster: Roster = { tenants: new Map(), subscriptions: new Map(), outlets: new Map(), bounds: new Map() }

/** Starts everything. Rejects with a coded error where Redis, its safety or the configuration stand in the way. */
export async function startDaemon(given: DaemonParts): Promise<Daemon> {
  await using stack = new AsyncDisposableStack()
  const { config, report, signal, tell } = given
  const { commands, workers } = await openRedis(given, stack)
  for (const warning of assertSafe(await inspectRedis(commands))) tell(warning)

  const { prefix } = config.redis
  const engine: Engine = {
    commands,
    workers,
    prefix,
    telemetry: given.tracing?.telemetry,
    onError: (error) => report.failed({ error: asRedisError(error), during: 'queue work' }),
  }
  const store = createStore(commands, prefix, config.queue.trail)
  const batches = createBatches(commands, prefix)
  const outlets = openOutlets({ engine, batches, report })
  const parts: Parts = {
    ...given,
    commands,
    connections: stack.use(openServiceConnections(config)),
    store,
    outlets,
    pressure: createPressure({ batches, report }),
    paused: createPauseBoard({ pauses: createPauses(commands, prefix), outlets, report }),
    engine,
    instances: new Map(),
    inForce: { config, roster: noRoster, clients: new Map(), receivers: new Map() },
    running: false,
  }
  stack.defer(async () => close(parts))
  const changes = inOrder(async (next: Config) => putInForce(next, parts))
  await changes(config)
  await begin(parts, stack)
  signal.throwIfAborted()
  const open = stack.move()
  let draining = false
  return {
    get streams() {
      return [...parts.inForce.roster.subscriptions.keys()]
    },
    apply: changes,
    async ready() {
      if (draining) return ['draining']
      return (await commands.ping()) === 'PONG' ? [] : ['Redis does not answer']
    },
    async [Symbol.asyncDispose]() {
      draining = true
      await open.disposeAsync()
    },
  }
}

/** Reading ends first, then sends under way are waited for. */
async function close({ config, instances, outlets, inForce }: Parts): Promise<void> {
  const { grace } = config.shutdown
  await Promise.all([...instances.values()].map(async ({ turns }) => turns.close(grace * pollShareOfGrace)))
  await outlets.close(grace * (1 - pollShareOfGrace))
  for (const { limit } of instances.values()) limit.close()
  await Promise.all([...inForce.receivers.values()].map(async (receiver) => receiver.dispose()))
}

/** One call after the other; a failed one is its caller's business. */
function inOrder<T>(work: (given: T) => Promise<void>): (given: T) => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return async (given) => {
    const own = last.then(async () => work(given))
    last = own.catch(() => undefined)
    await own
  }
}

async function putInForce(config: Config, parts: Parts): Promise<void> {
  const { outlets, pressure, instances, report, store } = parts
  const before = parts.inForce
  const trace = parts.tracing?.trace
  const roster = rosterOf(config)
  const receivers = new Map(
    config.destinations.map((destination) => {
      const known = before.receivers.get(destination.name)
      const digest = receiverDigest(destination)
      const same = known?.digest === digest ? known : undefined
      return [destination.name, same ?? tracedReceiver(openReceiver(destination, digest), trace)]
    }),
  )
  for (const { instance } of roster.subscriptions.values()) {
    if (instances.has(instance)) continue
    const opened = openInstance(instance, parts)
    instances.set(instance, opened)
    if (parts.running) opened.turns.start()
  }
  pressure.use(roster.bounds)
  await outlets.use([...receivers.values()], config.shutdown.grace)
  parts.inForce = {
    config,
    roster,
    clients: clientsOf(config, { ...parts, limitOf: (name) => instances.get(name)?.limit }),
    receivers,
  }
  const gone = [...before.receivers.values()].filter((receiver) => receivers.get(receiver.name) !== receiver)
  await Promise.all(gone.map(async (receiver) => receiver.dispose()))

  for (const destination of config.destinations) {
    const { name } = destination
    if (receivers.get(name) !== before.receivers.get(name)) report.destinationConfigured(factOf(destination))
  }
  for (const name of before.receivers.keys()) if (!receivers.has(name)) report.destinationRemoved({ destination: name })
  for (const { key, tenant, stream } of before.roster.subscriptions.values())
    if (!roster.subscriptions.has(key)) report.streamRemoved({ tenant, stream })
  for (const { tenant, stream, rhythm } of roster.subscriptions.values())
    report.streamConfigured({ tenant, stream, everyMs: rhythm.everyMs })
  const changed = [...roster.subscriptions.values()].filter(
    ({ tenant }) => before.roster.tenants.get(tenant) !== roster.tenants.get(tenant),
  )
  await store.forgive(changed.map(({ key }) => key))
  await store.register([...roster.subscriptions.keys()])
  for (const [name, { turns }] of instances) {
    const own = [...roster.subscriptions.values()].filter(({ instance }) => instance === name)
    await turns.drop(new Set(own.map(({ key }) => key)))
  }
  await keep(parts, ({ key, instance, rhythm }) => {
    const known = before.roster.subscriptions.get(key)
    return known?.rhythm.everyMs !== rhythm.everyMs || known.instance !== instance
  })
  // What another receiver of the same name has let go.
  if (gone.length > 0) await sweep(parts, 0)
}

function openInstance(name: string, parts: Parts): Instance {
  const { config, commands, engine, report } = parts
  const { service, queue } = config
  const limit = createLimit({
    redis: commands,
    prefix: config.redis.prefix,
    instance: name,
    egress: service.egress,
    requestsPerSecond: service.requestsPerSecond,
    requestMs: service.connectTimeout + service.headersTimeout,
  })
  const reserve = createBudget(queue.memoryBytes)
  const turns: Turns = openTurns({
    engine,
    instance: name,
    concurrency: service.concurrency,
    run: async (turn, signal) => runTurn(turn, ports, signal),
  })
  const ports = tracedPorts(pollPorts(parts, { limit, turns, reserve }), parts.tracing?.trace)
  report.instanceConfigured({ instance: name, requestsPerSecond: service.requestsPerSecond })
  return { limit, turns }
}

function pollPorts(
  parts: Parts,
  own: { readonly limit: Limit; readonly turns: Turns; readonly reserve: PollPorts<Lease, Batch>['reserve'] },
): PollPorts<Lease, Batch> {
  const { report, store, pressure, paused, outlets, config } = parts
  const limits = { events: 1000, bytes: config.queue.batchBytes }
  return {
    subscription: (key) => parts.inForce.roster.subscriptions.get(key),
    store,
    async list(sub, operation, query, signal) {
      const client = clientOf(sub, parts)
      try {
        return await client.list(operation, query, signal)
      } catch (thrown) {
        // Credentials that were replaced meanwhile are not the ones that were refused.
        if (clientOf(sub, parts) === client || asTailraceError(thrown).code !== 'service_refused') throw thrown
        return await clientOf(sub, parts).list(operation, query, signal)
      }
    },
    async pause(instance, ms) {
      report.instanceThrottled({ instance, ms })
      await own.limit.pause(ms)
    },
    blockedBy: (sub) => paused.ofStream(sub.key)?.name ?? pressure.blocks(sub.key, sub.destinations),
    async encode(sub, events, only) {
      const known = parts.inForce.roster.outlets
      const names = only ? sub.destinations.filter((name) => only.includes(name)) : sub.destinations
      const wanted = names.map((name) => known.get(name)).filter((outlet) => outlet !== undefined)
      return await makeBatches(events, wanted, limits)
    },
    async relay(key, batches, lane) {
      pressure.added(batches)
      await outlets.relay(key, batches, lane)
    },
    next: async (turn, delayMs, attempt) => own.turns.add({ v: 1, ...turn }, { delayMs, attempt }),
    reserve: own.reserve,
    coded: asRedisError,
    report,
  }
}

function clientOf({ tenant }: Subscription, { inForce }: Parts): ServiceClient {
  const client = inForce.clients.get(tenant)
  // Removed while the turn was under way: the next one finds no subscription.
  if (!client) throw new TailraceError('lease_lost', `${tenant} is no longer configured`)
  return client
}

/** Makes the rhythm of the streams what it should be; of all, or of those that are `wanted`. */
async function keep(parts: Parts, wanted: (sub: Subscription) => boolean = () => true): Promise<void> {
  const subscriptions = [...parts.inForce.roster.subscriptions.values()].filter(wanted)
  for (const [name, { turns }] of parts.instances) {
    const own = subscriptions.filter((sub) => sub.instance === name)
    await turns.keep(own.map(({ key, rhythm }) => ({ key, everyMs: rhythm.everyMs })))
  }
}

async function sweep({ outlets, store }: Parts, ageMs: number): Promise<void> {
  await outlets.sweep(await store.registered(), ageMs)
}

/** Takes up what an earlier run left, then lets everything run, and keeps it so. */
async function begin(parts: Parts, stack: AsyncDisposableStack): Promise<void> {
  const { store, outlets, pressure, paused, report, instances, commands } = parts
  const repeat = (ms: number, during: string, work: () => Promise<void>): void => {
    stack.use(every(ms, work, (thrown) => report.failed({ error: asRedisError(thrown), during })))
  }
  const measure = async (): Promise<void> => {
    await pressure.measure(await store.registered())
    tellCertificates(parts.inForce.receivers.values(), report)
  }
  await paused.look()
  await sweep(parts, 0)
  await measure()
  outlets.start()
  parts.running = true
  for (const { turns } of instances.values()) turns.start()
  repeat(keepEveryMs, 'keeping the rhythm', async () => keep(parts))
  repeat(sweepAgeMs, 'sweeping', async () => sweep(parts, sweepAgeMs))
  repeat(pausesEveryMs, 'reading what is paused', async () => paused.look())
  repeat(measureEveryMs, 'measuring backlogs', measure)
  stack.use(
    watchRedis(commands, watchEveryMs, {
      memory(share) {
        pressure.memory(share)
        report.redisMeasured({ memoryShare: share })
      },
      changed: (fact) => report.redisChanged(fact),
      // What it knew last may be gone: wait out the last second's requests, and queue what is owed.
      async replaced() {
        for (const { limit } of instances.values()) await limit.pause(1_000)
        await store.register([...parts.inForce.roster.subscriptions.keys()])
        await keep(parts)
        await sweep(parts, 0)
      },
      failed: (error) => report.failed({ error, during: 'taking up after a change of Redis' }),
    }),
  )
}
