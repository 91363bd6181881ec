// What is no part of the service: how a test, perhaps in another process, watches and disturbs it.

import type { FastifyInstance, FastifyReply } from 'fastify'
import { setImmediate as breathe } from 'node:timers/promises'
import { Readable } from 'node:stream'
import type { ServiceRecord } from '../event.ts'
import { recordIdentity, type AccountFilter } from './account.ts'
import type { Directory } from './directory.ts'
import { recordKinds } from './entry.ts'
import { isObject } from './envelope.ts'
import { readFault, type Faults } from './faults.ts'
import type { Stats } from './stats.ts'
import type { World } from './world.ts'

export interface Controlled {
  readonly world: World
  readonly stats: Stats
  readonly faults: Faults
  readonly directory: Directory
  /** Stops and resumes the world's changes. */
  readonly life: { frozen: boolean }
  readonly lock: { restoring: boolean }
}

/** Routes under /simulator: without credentials, without limits, uncounted. */
export function openControl(app: FastifyInstance, controlled: Controlled): void {
  const { world, stats, faults, life, lock } = controlled
  const hide = { schema: { hide: true } }
  app.get<{ Querystring: Record<string, string | undefined> }>('/simulator/account', hide, (request, reply) => {
    const { since, stream, client } = request.query
    const filter = { since: readNumber(since), stream, client: readNumber(client) }
    reply.header('content-type', 'application/x-ndjson')
    return reply.send(Readable.from(accountLines(world, filter)))
  })
  app.get('/simulator/state', hide, () => describeState(controlled))
  app.get('/simulator/stats', hide, () => stats.report())
  app.post('/simulator/stats/reset', hide, () => {
    stats.reset()
    return { done: true }
  })
  app.get('/simulator/faults', hide, () => faults.list())
  app.post('/simulator/faults', hide, (request, reply) => {
    const fault = readFault(readObject(request.body))
    if (typeof fault === 'string') return misuse(reply, fault)
    faults.inject(fault)
    return { done: true, pending: faults.list() }
  })
  app.delete('/simulator/faults', hide, () => {
    faults.clear()
    return { done: true }
  })
  for (const [verb, frozen] of [['freeze', true] as const, ['thaw', false] as const]) {
    app.post(`/simulator/${verb}`, hide, () => {
      life.frozen = frozen
      return { frozen }
    })
  }
  app.post('/simulator/restoring', hide, (request) => {
    lock.restoring = readObject(request.body)['restoring'] !== false
    return { ...lock }
  })
  app.post('/simulator/credentials', hide, (request, reply) => changeCredentials(controlled, request.body, reply))
  app.post('/simulator/records', hide, (request, reply) => changeRecords(world, request.body, reply))
}

// The account may have millions of rows: written in pieces, so that the service stays responsive.
async function* accountLines(world: World, filter: AccountFilter): AsyncGenerator<string> {
  let lines = ''
  for (const row of world.account(filter)) {
    lines += `${JSON.stringify(row)}\n`
    if (lines.length < 65_536) continue
    yield lines
    lines = ''
    await breathe()
  }
  if (lines !== '') yield lines
}

function describeState({ world, faults, life, lock }: Controlled): object {
  const clients = world.clients.map((client) => {
    const counts = recordKinds.map((kind) => [kind, world.count(kind, client)] as const)
    return { client, ...Object.fromEntries(counts) }
  })
  return { frozen: life.frozen, ...lock, faults: faults.list(), serviceTime: world.nowMs(), clients }
}

function changeCredentials({ directory }: Controlled, body: unknown, reply: FastifyReply): object {
  const { revoke, uuid, secret, partnerUuid, clients } = readObject(body)
  if (typeof revoke === 'string') return { revoked: directory.revoke(revoke) }
  if (typeof uuid !== 'string' || typeof secret !== 'string')
    return misuse(reply, 'Send "revoke", or "uuid" and "secret".')
  directory.put({
    uuid,
    secret,
    ...(typeof partnerUuid === 'string' ? { partnerUuid } : {}),
    ...(Array.isArray(clients) ? { clients: clients.map(Number) } : {}),
  })
  return { done: true }
}

/** `{"kind":"attacks","client":4711,"add":[…],"update":{identity:changes},"remove":[identity]}` */
function changeRecords(world: World, body: unknown, reply: FastifyReply): object {
  const { kind: named, client, add = [], update = {}, remove = [] } = readObject(body)
  const kind = recordKinds.find((known) => known === named)
  const sound = typeof client === 'number' && Array.isArray(add) && isObject(update) && Array.isArray(remove)
  if (kind === undefined || !sound) return misuse(reply, 'Send "kind", "client", and "add", "update" or "remove".')
  try {
    for (const record of add) world.add(kind, { ...readObject(record), clientid: client })
    for (const [identity, changes] of Object.entries(update)) world.update(kind, client, identity, readObject(changes))
    const removed = remove.filter((identity) => world.remove(kind, client, String(identity)))
    return { done: true, added: add.map((record: ServiceRecord) => recordIdentity(kind, record)), removed }
  } catch (error) {
    return misuse(reply, error instanceof Error ? error.message : String(error))
  }
}

function misuse(reply: FastifyReply, message: string): object {
  reply.code(400)
  return { error: message }
}

/** The body as it was sent, whatever its content type says; an empty object if it is none. */
function readObject(body: unknown): Record<string, unknown> {
  if (!Buffer.isBuffer(body)) return isObject(body) ? body : {}
  try {
    const parsed = JSON.parse(body.toString()) as unknown
    return isObject(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

function readNumber(value: string | undefined): number | undefined {
  return value === undefined || value === '' || Number.isNaN(Number(value)) ? undefined : Number(value)
}
