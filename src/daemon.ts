// Wires poll → queue → ship. The only file that knows all three.

import type { Cluster, Redis } from 'ioredis'
import type { Config, Destination, Tenant } from './config.ts'
import { startEmbeddedRedis } from './embedded-redis.ts'
import type { StreamKey, StreamName } from './event.ts'
import { createBudget } from './poll/budget.ts'
import { createReader } from './poll/changes.ts'
import type { PollPorts, Subscription } from './poll/ports.ts'
import { streams } from './poll/streams/all.ts'
import { runTurn } from './poll/turn.ts'
import { makeBatches } from './queue/batch.ts'
import type { Batch, Outlet } from './queue/batch.ts'
import { createBatches } from './queue/batches.ts'
import type { Receiver } from './queue/delivery.ts'
import type { Engine } from './queue/engine.ts'
import { openOutlets } from './queue/outlets.ts'
import type { Outlets } from './queue/outlets.ts'
import { createPressure } from './queue/pressure.ts'
import type { Pressure } from './queue/pressure.ts'
import { createStore } from './queue/store.ts'
import type { Lease, Store } from './queue/store.ts'
import { openTurns } from './queue/turns.ts'
import type { Turns } from './queue/turns.ts'
import { asRedisError, assertSafe, connectRedis, inspectRedis } from './redis.ts'
import { watchRedis } from './redis-watch.ts'
import { every } from './rhythm.ts'
import { createServiceClient } from './service/client.ts'
import type { ServiceClient } from './service/client.ts'
import { openConnections } from './service/connections.ts'
import { createLimit } from './service/limit.ts'
import type { Limit } from './service/limit.ts'
import { encodingOf } from './ship/encoding.ts'
import type { Sink } from './ship/sink.ts'
import type { Report } from './telemetry/report.ts'

export interface DaemonParts {
  readonly config: Config
  readonly report: Report
  /** Ends the start; a daemon that runs is ended by disposing it. */
  readonly signal: AbortSignal
  /** Told, in sentences, what an operator should know of the start. */
  readonly tell: (finding: string) => void
}

export interface Daemon extends AsyncDisposable {
  /** Why it is not ready, in words; empty: it is. */
  ready(): Promise<readonly string[]>
  readonly streams: readonly StreamKey[]
}

interface Instance {
  readonly limit: Limit
  readonly turns: Turns
}

interface Parts extends DaemonParts {
  readonly commands: Redis | Cluster
  readonly store: Store
  readonly outlets: Outlets
  readonly pressure: Pressure
  readonly engine: Engine
  readonly subscriptions: ReadonlyMap<StreamKey, Subscription>
  readonly clients: ReadonlyMap<string, ServiceClient>
  readonly encodings: ReadonlyMap<string, Outlet>
  readonly instances: Map<string, Instance>
}

/** Of the grace, what polling may take to end: a request under way is worth no more. */
const pollShareOfGrace = 0.2
const keepEveryMs = 60_000
const sweepAgeMs = 60_000
const measureEveryMs = 5_000
const watchEveryMs = 2_000

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
    onError: (error) => report.failed({ error: asRedisError(error), during: 'queue work' }),
  }
  const store = createStore(commands, prefix)
  const batches = createBatches(commands, prefix)
  const bounds = new Map(config.destinations.map((d) => [d.name, d.backlogBytes]))
  const pressure = createPressure({ batches, bounds, report })
  const receivers = config.destinations.map((destination) => openReceiver(destination, stack))
  const outlets = openOutlets({ engine, batches, receivers, report })
  const subscriptions = subscriptionsOf(config)
  const clients = openClients(given, stack, (instance) => parts.instances.get(instance)?.limit)
  const encodings = new Map(config.destinations.map((d) => [d.name, outletOf(d)]))
  const instances = new Map<string, Instance>()
  const parts: Parts = {
    ...given,
    commands,
    store,
    outlets,
    pressure,
    engine,
    subscriptions,
    clients,
    encodings,
    instances,
  }
  stack.defer(async () => outlets.close(config.shutdown.grace * (1 - pollShareOfGrace)))
  for (const { name, sink, format, options } of config.destinations) {
    const confirmed = sink.unconfirmed?.(options) !== true
    const words = { confirms: sink.confirms, confirmed }
    report.destinationConfigured({ destination: name, sink: sink.name, format: format.name, ...words })
  }
  for (const name of new Set([...subscriptions.values()].map((sub) => sub.instance)))
    instances.set(name, openInstance(name, parts, stack))
  await begin(parts, stack)
  signal.throwIfAborted()
  const open = stack.move()
  let draining = false
  return {
    streams: [...subscriptions.keys()],
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

async function openRedis(
  { config, signal, tell, report }: DaemonParts,
  stack: AsyncDisposableStack,
): Promise<{ commands: Redis | Cluster; workers: Redis | Cluster }> {
  let { url } = config.redis
  if (url === '') {
    const failed = (error: ReturnType<typeof asRedisError>): void => report.failed({ error, during: 'running Redis' })
    const embedded = stack.use(await startEmbeddedRedis({ folder: config.redis.data, signal, failed }))
    for (const finding of embedded.findings) tell(finding)
    ;({ url } = embedded)
  }
  const connect = (role: 'commands' | 'worker'): Redis | Cluster => {
    const redis = connectRedis({ ...config.redis, url }, role)
    stack.defer(() => redis.disconnect())
    return redis
  }
  return { commands: connect('commands'), workers: connect('worker') }
}

function openReceiver(destination: Destination, stack: AsyncDisposableStack): Receiver {
  const { name, format, sink: type, options, concurrency } = destination
  // One that cannot be opened (an unreadable certificate, say) halts itself only, and is tried at each send.
  let sink: Sink | undefined
  const open = (): Sink => (sink ??= type.open(options))
  stack.defer(async () => sink?.[Symbol.asyncDispose]())
  const { contentType } = format
  return {
    name,
    limits: type.limits(options),
    concurrencyMax: concurrency,
    send: async (records, sendId, signal) => open().send(records, { sendId, contentType }, signal),
  }
}

function outletOf(destination: Destination): Outlet {
  return { destination: destination.name, encoding: encodingOf(destination) }
}

function subscriptionsOf(config: Config): Map<StreamKey, Subscription> {
  const subscriptions = new Map<StreamKey, Subscription>()
  for (const tenant of config.tenants) {
    for (const { stream: name, ...rhythm } of tenant.streams) {
      const stream = streams.find((known) => known.name === name)
      if (!stream) continue
      const key: StreamKey = `${tenant.name}/${name}`
      subscriptions.set(key, {
        key,
        tenant: tenant.name,
        stream: name,
        instance: instanceOf(tenant),
        clients: tenant.clients,
        borders: tenant.severity,
        reader: createReader(stream),
        rhythm,
        destinations: takersOf(config, tenant, name),
      })
    }
  }
  return subscriptions
}

/** Only these can hold a stream up. */
function takersOf(config: Config, tenant: Tenant, stream: StreamName): string[] {
  const takers = config.destinations.filter((destination) => destination.streams.includes(stream))
  return takers.map(({ name }) => name).filter((name) => tenant.destinations.includes(name))
}

/** Names the limit that a tenant's requests fall under, and the queue of its turns. */
function instanceOf(tenant: Tenant): string {
  return tenant.instance.replaceAll(':', '_')
}

function openClients(
  { config, report }: DaemonParts,
  stack: AsyncDisposableStack,
  limitOf: (instance: string) => Limit | undefined,
): Map<string, ServiceClient> {
  const { service } = config
  const connections = stack.use(
    openConnections({
      connections: service.concurrency,
      connectMs: service.connectTimeout,
      ...(service.ca === undefined ? {} : { ca: service.ca }),
    }),
  )
  return new Map(
    config.tenants.map((tenant) => {
      const instance = instanceOf(tenant)
      const client = createServiceClient({
        baseUrl: tenant.baseUrl,
        instance,
        credentials: tenant.credentials,
        headerPrefix: service.headerPrefix,
        connections,
        timeouts: { headersMs: service.headersTimeout, bodyMs: service.bodyTimeout },
        maxAnswerBytes: service.maxAnswerBytes,
        admit: async (signal) => (await limitOf(instance)?.admit(signal)) ?? (() => undefined),
        onAnswer: (fact) => report.requestAnswered({ instance, ...fact }),
      })
      return [tenant.name, client]
    }),
  )
}

function openInstance(name: string, parts: Parts, stack: AsyncDisposableStack): Instance {
  const { config, commands, engine } = parts
  const { service, queue, shutdown } = config
  const limit = createLimit({
    redis: commands,
    prefix: config.redis.prefix,
    instance: name,
    egress: service.egress,
    requestsPerSecond: service.requestsPerSecond,
    requestMs: service.connectTimeout + service.headersTimeout,
  })
  stack.defer(() => limit.close())
  const reserve = createBudget(queue.memoryBytes)
  const turns: Turns = openTurns({
    engine,
    instance: name,
    concurrency: service.concurrency,
    run: async (turn, signal) => runTurn(turn, pollPorts(parts, { limit, turns, reserve }), signal),
  })
  stack.defer(async () => turns.close(shutdown.grace * pollShareOfGrace))
  return { limit, turns }
}

function pollPorts(
  parts: Parts,
  own: { readonly limit: Limit; readonly turns: Turns; readonly reserve: PollPorts<Lease, Batch>['reserve'] },
): PollPorts<Lease, Batch> {
  const { report, store, pressure, outlets, encodings, config } = parts
  const limits = { events: 1000, bytes: config.queue.batchBytes }
  return {
    subscription: (key) => parts.subscriptions.get(key),
    store,
    async list(sub, operation, query, signal) {
      const client = parts.clients.get(sub.tenant)
      if (!client) throw new Error(`no client for ${sub.tenant}`)
      return await client.list(operation, query, signal)
    },
    async pause(instance, ms) {
      report.instanceThrottled({ instance, ms })
      await own.limit.pause(ms)
    },
    blockedBy: (sub) => pressure.blocks(sub.key, sub.destinations),
    async encode(sub, events) {
      const wanted = sub.destinations.map((name) => encodings.get(name)).filter((outlet) => outlet !== undefined)
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

/** Takes up what an earlier run left, then lets everything run, and keeps it so. */
async function begin(parts: Parts, stack: AsyncDisposableStack): Promise<void> {
  const { store, outlets, pressure, report, instances, subscriptions, commands } = parts
  const repeat = (ms: number, during: string, work: () => Promise<void>): void => {
    stack.use(every(ms, work, (thrown) => report.failed({ error: asRedisError(thrown), during })))
  }
  const keep = async (): Promise<void> => {
    await store.register([...subscriptions.keys()])
    for (const [name, { turns }] of instances) {
      const own = [...subscriptions.values()].filter((sub) => sub.instance === name)
      await turns.keep(own.map(({ key, rhythm }) => ({ key, everyMs: rhythm.everyMs })))
    }
  }
  const sweep = async (ageMs: number): Promise<void> => outlets.sweep(await store.registered(), ageMs)
  const measure = async (): Promise<void> => pressure.measure(await store.registered())
  for (const { turns } of instances.values()) await turns.drop(new Set(subscriptions.keys()))
  await keep()
  await sweep(0)
  await measure()
  outlets.start()
  for (const { turns } of instances.values()) turns.start()
  repeat(keepEveryMs, 'keeping the rhythm', keep)
  repeat(sweepAgeMs, 'sweeping', async () => sweep(sweepAgeMs))
  repeat(measureEveryMs, 'measuring backlogs', measure)
  stack.use(
    watchRedis(commands, watchEveryMs, {
      memory: (share) => pressure.memory(share),
      changed: (fact) => report.redisChanged(fact),
      // What it knew last may be gone: wait out the last second's requests, and queue what is owed.
      async replaced() {
        for (const { limit } of instances.values()) await limit.pause(1_000)
        await keep()
        await sweep(0)
      },
      failed: (error) => report.failed({ error, during: 'taking up after a change of Redis' }),
    }),
  )
}
