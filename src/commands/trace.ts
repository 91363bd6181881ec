// `tailrace trace`: the way of one event, from the page that brought it to who has confirmed it.

import { refOf, streamNames } from '../event.ts'
import type { StreamKey } from '../event.ts'
import { createDeadLetters, letterId } from '../queue/dead-letters.ts'
import { traceEvent } from '../queue/trail.ts'
import type { Sought, Trace } from '../queue/trail.ts'
import type { ExitCode, Terminal } from './command.ts'
import { chooseStreams, misuse, openRedisAccess } from './redis-access.ts'
import type { RedisAccess, StreamChoice } from './redis-access.ts'
import { table } from './table.ts'

export interface TraceOptions extends StreamChoice {
  readonly config: string
  readonly json?: boolean
}

/** A destination's part in it. */
interface Stage {
  readonly destination: string
  readonly state: 'settled' | 'waiting' | 'dead letter'
  /** ISO 8601, or the name of the dead letter. */
  readonly detail: string
}

/** `what`: an event's id, or `acme/attacks#17`. 1: nothing is known of it. */
export async function trace(what: string, options: TraceOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const { sought, keys } = await readQuestion(what, options, access)
  const found: Trace[] = []
  for (const key of keys) found.push(...(await traceEvent(access.redis, access.prefix, key, sought)))
  const shown = await Promise.all(found.map(async (one) => ({ ...one, stages: await stagesOf(one, what, access) })))
  if (options.json) terminal.print(JSON.stringify(shown, null, 2))
  else terminal.print(shown.map(render).join('\n\n') || unknown(access))
  return found.length > 0 ? 0 : 1
}

async function readQuestion(
  what: string,
  options: TraceOptions,
  access: RedisAccess,
): Promise<{ sought: Sought; keys: StreamKey[] }> {
  const [, tenant, stream, number] = /^([^/#]+)\/([a-z]+)#(\d+)$/.exec(what) ?? []
  if (tenant !== undefined && stream !== undefined)
    return { sought: { sequence: Number(number) }, keys: await chooseStreams(access, { tenant, stream }) }
  if (!/^[\w-]{22}$/.test(what))
    throw misuse(
      `${what} is neither the id of an event (22 characters) nor ${streamNames[0]} of a tenant by number: acme/attacks#17`,
    )
  return { sought: { id: what }, keys: await chooseStreams(access, options) }
}

async function stagesOf({ key, batch, settled, waiting }: Trace, what: string, access: RedisAccess): Promise<Stage[]> {
  const dead: Stage[] = []
  for await (const letter of createDeadLetters(access.redis, access.prefix).scan(key)) {
    if (letter.batch === batch && letter.record.includes(what))
      dead.push({ destination: letter.destination, state: 'dead letter', detail: letterId(letter) })
  }
  const isDead = (destination: string): boolean => dead.some((stage) => stage.destination === destination)
  return [
    ...dead,
    ...settled
      .filter(({ destination }) => !isDead(destination))
      .map(({ destination, at }): Stage => ({ destination, state: 'settled', detail: new Date(at).toISOString() })),
    ...waiting.map((destination): Stage => ({ destination, state: 'waiting', detail: '' })),
  ]
}

function render(one: Trace & { readonly stages: readonly Stage[] }): string {
  const { tenant, stream } = refOf(one.key)
  const number = one.sequence === null ? 'replayed' : `#${one.sequence}`
  const head = `${tenant}/${stream}${number === 'replayed' ? ', replayed' : number}: read ${new Date(one.readAt).toISOString()} (${one.page}), in batch ${one.batch}`
  const words = { settled: 'confirmed', waiting: 'waiting', 'dead letter': 'dead letter' }
  const rows = one.stages.map(({ destination, state, detail }) => [destination, words[state], detail])
  return `${head}\n${table(['destination', 'state', 'when'], rows)}`
}

function unknown({ config }: RedisAccess): string {
  const { trail } = config.queue
  if (trail === 0) return 'No trail is kept: queue.trail is 0.'
  return 'Nothing is known of it: it is not among the latest events of its stream (queue.trail), or no destination wanted it.'
}
