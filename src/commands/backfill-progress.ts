// How far back-fills are, from the state of their streams; and what is shown of it while somebody waits.

import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamKey } from '../event.ts'
import type { Pass } from '../poll/pass.ts'
import type { Hole } from '../poll/replay.ts'
import { parseState } from '../poll/state.ts'
import type { PollState } from '../poll/state.ts'
import type { TimeRange } from '../poll/stream.ts'
import type { Terminal } from './command.ts'
import { showSpan } from './moment.ts'
import type { RedisAccess } from './redis-access.ts'

export interface ReplayProgress {
  readonly id: string
  readonly stream: StreamKey
  /** Unix seconds; null: it has ended, and only its outcome is kept. */
  readonly range: TimeRange | null
  readonly destinations: readonly string[]
  /** `gap`: part of it could not be read, and was declared. */
  readonly state: 'waiting' | 'reading' | 'done' | 'gap'
  /** Delivered again so far. */
  readonly events: number
  /** Of the range that has been walked, 0 to 1; null where that cannot be told. */
  readonly share: number | null
}

/** Back-fills that were asked for and not stopped, with the last that have ended. */
export function progressOf(key: StreamKey, state: PollState): ReplayProgress[] {
  const passes = [state.live, state.deep].filter((pass) => pass !== null)
  const waiting = state.holes.flatMap((hole): ReplayProgress[] => {
    const { replay, from, to } = hole
    if (!replay) return []
    const { id, destinations } = replay
    const pass = passes.find((one) => one.replay?.id === id)
    const known = { id, stream: key, range: { from, to }, destinations }
    if (!pass) return [{ ...known, state: 'waiting', events: 0, share: 0 }]
    return [{ ...known, state: 'reading', events: pass.replay?.events ?? 0, share: shareOf(pass, hole) }]
  })
  const ended = state.replays.map(({ id, destinations, outcome, events }): ReplayProgress => {
    return { id, stream: key, range: null, destinations, state: outcome, events, share: 1 }
  })
  return [...ended, ...waiting]
}

/** It is walked from the newest to the oldest. */
function shareOf({ oldest }: Pass, { from, to }: Hole): number | null {
  if (from === null || to === null || oldest === null) return null
  return Math.min(1, Math.max(0, (to - oldest) / (to - from)))
}

const lookEveryMs = 500
const tellEveryMs = 5_000

/** Resolves to whether all was read, once nothing of it is left to read; the deliveries may still be under way. */
export async function followReplays(
  access: RedisAccess,
  id: string,
  keys: readonly StreamKey[],
  terminal: Terminal,
): Promise<boolean> {
  const startedAt = Date.now()
  let toldAt = 0
  for (;;) {
    const rows = (await Promise.all(keys.map(async (key) => ownProgress(access, key, id)))).filter(
      (row) => row !== null,
    )
    const left = rows.filter(({ state }) => state === 'waiting' || state === 'reading')
    const now = Date.now()
    if (terminal.progress) terminal.progress(barOf(rows, now - startedAt))
    else if (now - toldAt >= tellEveryMs || left.length === 0) {
      toldAt = now
      terminal.complain(lineOf(rows, now - startedAt))
    }
    if (left.length === 0) {
      terminal.progress?.('')
      const complete = rows.length === keys.length && rows.every(({ state }) => state === 'done')
      for (const { stream, state, events } of rows) terminal.print(`${stream}: ${state}, ${events} events`)
      if (rows.length < keys.length) terminal.print('It was stopped, or its stream was reset.')
      return complete
    }
    await sleep(lookEveryMs, undefined, { signal: terminal.signal })
  }
}

async function ownProgress(access: RedisAccess, key: StreamKey, id: string): Promise<ReplayProgress | null> {
  const state = parseState((await access.store.peek(key)).state)
  return progressOf(key, state).find((row) => row.id === id) ?? null
}

const barWidth = 24

function barOf(rows: readonly ReplayProgress[], ms: number): string {
  const filled = Math.round(totalShare(rows) * barWidth)
  return `[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${lineOf(rows, ms)}`
}

/** `42 %, 12000 events, 800/s, 15 s left`. */
function lineOf(rows: readonly ReplayProgress[], ms: number): string {
  const share = totalShare(rows)
  const events = rows.reduce((sum, row) => sum + row.events, 0)
  const left = share > 0.01 && share < 1 ? `, ${showSpan((ms / 1000) * (1 / share - 1))} left` : ''
  const rate = events === 0 ? 'waiting for its turn' : `${events} events, ${Math.round(events / (ms / 1000))}/s`
  return `${Math.floor(share * 100)} %, ${rate}${left}`
}

function totalShare(rows: readonly ReplayProgress[]): number {
  return rows.length === 0 ? 1 : rows.reduce((sum, { share }) => sum + (share ?? 0), 0) / rows.length
}
