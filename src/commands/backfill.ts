// `tailrace backfill`: a range of the past is read again and delivered again, to the destinations that were named.

import { randomBytes } from 'node:crypto'
import type { StreamKey } from '../event.ts'
import { refOf } from '../event.ts'
import type { Replay } from '../poll/replay.ts'
import { parseState } from '../poll/state.ts'
import type { PollState } from '../poll/state.ts'
import { streams } from '../poll/streams/all.ts'
import type { TimeRange } from '../poll/stream.ts'
import { takersOf } from '../roster.ts'
import { followReplays, progressOf } from './backfill-progress.ts'
import type { ExitCode, Terminal } from './command.ts'
import { readMoment, showMoment } from './moment.ts'
import { chooseStreams, configuredStreams, misuse, openRedisAccess } from './redis-access.ts'
import type { RedisAccess, StreamChoice } from './redis-access.ts'
import { changeState } from './stream-state.ts'
import { table } from './table.ts'

export interface BackfillOptions extends StreamChoice {
  readonly config: string
  readonly from?: string
  readonly to?: string
  readonly destination?: readonly string[]
  readonly wait?: boolean
  readonly json?: boolean
}

export async function startBackfill(options: BackfillOptions, terminal: Terminal): Promise<ExitCode> {
  if (options.tenant === undefined) throw misuse('Name the tenant: --tenant acme')
  await using access = await openRedisAccess(options.config, terminal)
  const askedAt = Date.now()
  // One id for all streams that are asked for at once: they are stopped and waited for together.
  const id = `r${randomBytes(6).toString('hex')}`
  const wanted = (await chooseStreams(access, options)).filter((key) => configuredStreams(access.config).includes(key))
  if (wanted.length === 0) throw misuse('No such stream is configured: it would never be read.')
  const range = rangeOf(options, askedAt)
  const chosen = wanted.filter((key) => options.stream !== undefined || hasRanges(key) === (range !== null))
  if (chosen.length === 0) requireRange(wanted[0] ?? 'x/attacks', range)
  for (const key of chosen) requireRange(key, range)
  const asked = chosen.map((key) => ({ key, destinations: destinationsOf(access, key, options.destination ?? []) }))
  for (const { key, destinations } of asked) {
    const replay: Replay = { id, destinations, askedAt }
    const hole = { ...(range ?? { from: null, to: null }), replay }
    const add = (state: PollState): PollState => ({ ...state, holes: [...state.holes, roomFor(key, state, hole)] })
    await changeState(access.store, key, add, terminal.signal)
    if (!options.json) terminal.print(`${id}: ${key}, ${showRange(range)}, to ${destinations.join(', ')}`)
  }
  if (options.json) terminal.print(JSON.stringify({ id, streams: asked, ...range }))
  if (!options.wait) return 0
  return (await followReplays(access, id, chosen, terminal)) ? 0 : 1
}

export async function listBackfills(options: BackfillOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const found = await Promise.all(
    (await chooseStreams(access, options)).map(async (key) => {
      const state = parseState((await access.store.peek(key)).state)
      return [...progressOf(key, state)]
    }),
  )
  const rows = found.flat()
  if (options.json) terminal.print(JSON.stringify(rows, null, 2))
  else if (rows.length === 0) terminal.print('No back-fill is under way, and none has ended lately.')
  else terminal.print(table(['id', 'stream', 'range', 'to', 'state', 'events', 'share'], rows.map(lineOf)))
  return 0
}

function lineOf(row: ReturnType<typeof progressOf>[number]): string[] {
  const share = row.share === null ? '-' : `${Math.floor(row.share * 100)} %`
  const range = row.range === null ? '-' : showRange(row.range)
  return [row.id, row.stream, range, row.destinations.join(', '), row.state, String(row.events), share]
}

export async function stopBackfill(id: string, options: BackfillOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const keys = await chooseStreams(access, {})
  let stopped = 0
  for (const key of keys) {
    const { holes } = parseState((await access.store.peek(key)).state)
    if (!holes.some(({ replay }) => replay?.id === id)) continue
    await changeState(access.store, key, (state) => without(state, id), terminal.signal)
    terminal.print(`${key}: stopped; what has been read is still delivered`)
    stopped += 1
  }
  if (stopped === 0) throw misuse(`No back-fill ${id} is under way; \`tailrace backfill list\` shows what is.`)
  return 0
}

function without(state: PollState, id: string): PollState {
  const { live, deep } = state
  const holes = state.holes.filter(({ replay }) => replay?.id !== id)
  return {
    ...state,
    holes,
    // An inventory goes on: what it finds missing is found all the same.
    live: live?.replay?.id === id ? { ...live, replay: null } : live,
    deep: deep?.replay?.id !== id ? deep : deep.purpose === 'inventory' ? { ...deep, replay: null } : null,
  }
}

/** Each stays in the state until it is read. */
const holesMax = 50

function roomFor<T>(key: StreamKey, { holes }: PollState, hole: T): T {
  if (holes.length >= holesMax)
    throw misuse(`${key} has ${holesMax} back-fills waiting: let it read some of them first.`)
  return hole
}

function rangeOf({ from, to }: BackfillOptions, nowMs: number): TimeRange | null {
  if (from === undefined) {
    if (to !== undefined) throw misuse('--to needs a --from')
    return null
  }
  const range = { from: readMoment(from, '--from', nowMs), to: readMoment(to ?? '0s', '--to', nowMs) }
  if (range.from >= range.to) throw misuse('--from must be before --to')
  return range
}

function hasRanges(key: StreamKey): boolean {
  return streams.find(({ name }) => name === refOf(key).stream)?.ranges ?? false
}

function requireRange(key: StreamKey, range: TimeRange | null): void {
  const { stream } = refOf(key)
  if (hasRanges(key) && range === null) throw misuse(`Say from when on: --from 24h (of ${stream})`)
  if (!hasRanges(key) && range !== null)
    throw misuse(
      `${stream} can only be read as a whole: leave out --from and --to, and all that exist are delivered again.`,
    )
}

/** Names, all of which take the stream. */
function destinationsOf({ config }: RedisAccess, key: StreamKey, named: readonly string[]): readonly string[] {
  const { tenant, stream } = refOf(key)
  const owner = config.tenants.find(({ name }) => name === tenant)
  const takers = owner ? takersOf(config, owner, stream) : []
  const strangers = named.filter((name) => !takers.includes(name))
  if (strangers.length > 0)
    throw misuse(`${strangers.join(', ')} does not take ${key}. There are: ${takers.join(', ') || 'none'}`)
  if (takers.length === 0) throw misuse(`No destination takes ${key}.`)
  return named.length > 0 ? named : takers
}

function showRange(range: TimeRange | null): string {
  return range === null || range.from === null ? 'all' : `${showMoment(range.from)} to ${showMoment(range.to)}`
}
