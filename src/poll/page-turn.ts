// The turn that reads a page: ask, compare with what is known, commit, and say where the pass goes on.

import { TailraceError } from '../errors.ts'
import type { SecurityEvent } from '../event.ts'
import { changesOf, entriesOf, streamEvent } from './changes.ts'
import type { ChangeContext, Changes, ReadRecord } from './changes.ts'
import { commit, nameOf, relay, withDeep } from './held.ts'
import type { Held } from './held.ts'
import { advance, isFull, watermarkAfter, withLimit, withoutRanges } from './pass.ts'
import type { Outcome, Pass } from './pass.ts'
import type { Answer, Lease } from './ports.ts'
import { noticesOf } from './notices.ts'
import { endReplay, termsOf, walkOn } from './replay.ts'
import { bornAt, forgetBelow } from './state.ts'
import type { PollState } from './state.ts'

/** What a page is taken to be at the least, bytes. */
const pageBytesMin = 65_536
/** While it is worked on (text, objects, events, encodings), a page takes about so many times its bytes. */
const pageWeight = 8

/** Returns the state that was committed. */
export async function readPage<L extends Lease, B>(
  held: Held<L, B>,
  pass: Pass,
  signal: AbortSignal,
): Promise<PollState> {
  const { ports, sub, state } = held
  const timeline = sub.reader.stream.reading !== 'inventory'
  if (timeline && state.watermark === null) return await learnClock(held, signal)
  const free = await ports.reserve(Math.max(pageBytesMin, pass.bytes) * pageWeight, signal)
  try {
    const answer = await ask(held, pass, signal)
    return answer instanceof TailraceError ? await goRound(held, pass, answer) : await takePage(held, pass, answer)
  } finally {
    free()
  }
}

/** The first turn of a timeline asks for one record, for the service's clock alone. */
async function learnClock<L extends Lease, B>(held: Held<L, B>, signal: AbortSignal): Promise<PollState> {
  const { ports, sub, lease, state } = held
  const { stream } = sub.reader
  const range = { from: Math.floor(lease.now / 1000), to: null }
  const query = { ...stream.query(sub.clients, range), offset: 0, limit: 1 }
  const answer = await ports.list(sub, stream.operation, query, signal)
  const born = bornAt({ ...state, live: null }, Math.floor((answer.date ?? lease.now) / 1000), {
    stream,
    rhythm: sub.rhythm,
  })
  const next = { ...born, live: beginAfterBirth(held, born) }
  await commit(held, next)
  return next
}

function beginAfterBirth<L extends Lease, B>({ state }: Held<L, B>, born: PollState): Pass | null {
  // The pass that was about to begin did not know the clock; it begins now, from where the stream was born.
  return state.live && { ...state.live, from: born.watermark, step: 1 }
}

/** The page, or the service's refusal of something that we can do without. */
async function ask<L extends Lease, B>(
  { ports, sub }: Held<L, B>,
  pass: Pass,
  signal: AbortSignal,
): Promise<Answer | TailraceError> {
  const { stream } = sub.reader
  const range = { from: pass.purpose === 'inventory' ? null : pass.from, to: pass.cursor.to }
  const query = { ...stream.query(sub.clients, range), offset: pass.cursor.offset, limit: pass.limit }
  try {
    return await ports.list(sub, stream.operation, query, signal)
  } catch (thrown) {
    const error = ports.coded(thrown)
    if (error.code === 'service_too_large' && pass.limit > 1) return error
    if (error.code === 'service_rejected' && (pass.cursor.to !== null || pass.cursor.offset > 0)) return error
    throw error
  }
}

/** Goes on without what was refused: with smaller pages, without closed ranges, or with a declared gap. */
async function goRound<L extends Lease, B>(held: Held<L, B>, pass: Pass, error: TailraceError): Promise<PollState> {
  const { state, lane } = held
  if (error.code === 'service_rejected' && pass.cursor.to === null) return await declareGap(held, pass, error.message)
  const again = error.code === 'service_too_large' ? withLimit(pass, pass.limit >> 1) : withoutRanges(pass)
  const refused = again.pager !== pass.pager ? rangesRefused(state) : {}
  const next: PollState = { ...state, ...refused, [lane]: { ...again, step: pass.step + 1 } }
  await commit(held, next)
  return next
}

/** What lies beyond cannot be read by any means: that is said to the destinations, and holds up nothing. */
async function declareGap<L extends Lease, B>(held: Held<L, B>, pass: Pass, reason: string): Promise<PollState> {
  const { ports, sub, lease, state } = held
  const from = (pass.from ?? 0) * 1000
  const to = (pass.oldest ?? pass.start ?? 0) * 1000
  const context = contextOf(held, lease.now)
  const event = streamEvent({ action: 'gap', severity: 7, body: { from, to, reason } }, context)
  const batches = await ports.encode(sub, [event])
  const told = { ...state, sequence: event.sequence }
  // What an inventory could not list must not be taken for missing.
  const after =
    pass.purpose === 'inventory'
      ? { ...replayEnded(held, told, pass), [held.lane]: null }
      : completed(held, told, { ...pass, step: pass.step + 1 })
  const replays = after.replays.map((one) => (one.id === pass.replay?.id ? { ...one, outcome: 'gap' as const } : one))
  const done = { ...after, replays }
  await commit(held, done, { batches })
  ports.report.gapDeclared({ ...nameOf(sub), from, to, reason })
  await relay(held, batches)
  return done
}

async function takePage<L extends Lease, B>(held: Held<L, B>, pass: Pass, answer: Answer): Promise<PollState> {
  const { ports, sub, lease, state, lane } = held
  const startedAt = Date.now()
  const date = Math.floor((answer.date ?? lease.now) / 1000)
  const records = sub.reader.read(answer.body, date)
  const known = await ports.store.lookup(
    sub.key,
    records.map((record) => record.key),
  )
  const walk = pass.replay ?? null
  const forgottenBelow = forgetBelow(sub.rhythm, state)
  const context = contextOf(held, lease.now)
  const changes = changesOf(records, known, { ...context, replay: termsOf(walk, pass, forgottenBelow) })
  const entries = entriesOf(records, pass.purpose === 'inventory')
  const allKnown = changes.events.length === 0
  const walked = { ...pass, replay: walkOn(walk, changes.replayed) }
  const outcome = advance(walked, { entries, allKnown, date, bytes: answer.bytes }, state)
  const next = afterPage(held, pass, { records, outcome, sequence: state.sequence + changes.events.length })
  const notices = lane === 'live' ? noticesOf(next, sub.rhythm.heartbeatMs ?? 0, context) : { events: [], state: next }
  const batches = await encodeAll(held, [...changes.events, ...notices.events], changes.replayed, walk?.destinations)
  const late = pass.purpose === 'live' ? latenessOf(changes, state) : []
  const committed = { ...notices.state, latest: Math.max(next.latest, ...late) }
  await commit(held, committed, { seen: changes.seen, last: changes.last, batches })
  ports.report.pageCommitted({ ...nameOf(sub), ...changes.counts, late })
  for (const gap of next.gaps) if (lane === 'live') ports.report.gapDeclared({ ...nameOf(sub), ...gap })
  tell(held, pass, outcome, Date.now() - startedAt)
  await relay(held, batches)
  return committed
}

async function encodeAll<L extends Lease, B>(
  { ports, sub }: Held<L, B>,
  events: readonly SecurityEvent[],
  replayed: readonly SecurityEvent[],
  destinations: readonly string[] | undefined,
): Promise<B[]> {
  const fresh = events.length === 0 ? [] : await ports.encode(sub, events)
  if (replayed.length === 0) return fresh
  return [...fresh, ...(await ports.encode(sub, replayed, destinations))]
}

function contextOf<L extends Lease, B>({ sub, state }: Held<L, B>, now: number): ChangeContext {
  // An identity is marked with the inventory that is under way, or with the next one.
  const inventory = sub.reader.stream.reading === 'timeline' ? null : state.inventories + 1
  const { tenant, reader, borders } = sub
  return { tenant, reader, borders, sequence: state.sequence, observedTime: now, inventory }
}

/** By how many seconds each new record came later than the pass that should have met it. */
function latenessOf(changes: Changes, state: PollState): number[] {
  const { completeAt } = state
  if (completeAt === null) return []
  return changes.createdTimes.filter((time) => time < completeAt).map((time) => completeAt - time)
}

function afterPage<L extends Lease, B>(
  held: Held<L, B>,
  pass: Pass,
  page: { readonly records: readonly ReadRecord[]; readonly outcome: Outcome; readonly sequence: number },
): PollState {
  const { outcome } = page
  const learned: PollState = {
    ...held.state,
    sequence: page.sequence,
    longestPage: Math.max(held.state.longestPage, page.records.length),
    ...(pass.cursor.to === null || pass.purpose === 'backfill' ? {} : { closedRanges: true }),
  }
  switch (outcome.kind) {
    case 'next': {
      const refused = outcome.pass.pager !== pass.pager ? rangesRefused(learned) : {}
      return { ...learned, ...refused, [held.lane]: outcome.pass }
    }
    case 'broken':
      return { ...learned, [held.lane]: null }
    case 'complete':
      return completed(held, learned, outcome.pass, outcome.early)
  }
}

/** The state after a pass that has reached its end. */
export function completed<L extends Lease, B>(
  held: Pick<Held<L, B>, 'lane' | 'sub' | 'lease'>,
  state: PollState,
  pass: Pass,
  early = false,
): PollState {
  const { lane, lease, sub } = held
  const start = pass.start ?? state.completeAt
  const idle = { ...state, [lane]: null }
  switch (pass.purpose) {
    case 'inventory':
      // Its first half: everything was listed. The second looks for what is missing.
      return { ...idle, [lane]: { ...pass, missing: '0' } }
    case 'backfill':
      return withDeep(sub, holeRead(held, idle, pass), lease.now)
    case 'reconcile':
      return { ...idle, reconciledAt: start, [lane]: { ...pass, missing: '0' } }
    case 'live': {
      const watermark = watermarkAfter(pass, state.watermark ?? 0)
      const fullAt = isFull(pass) && !early ? start : state.fullAt
      return withDeep(sub, { ...idle, watermark, completeAt: start, fullAt }, lease.now)
    }
  }
}

function holeRead<L extends Lease, B>(held: Pick<Held<L, B>, 'lease'>, state: PollState, pass: Pass): PollState {
  if (pass.replay) return replayEnded(held, state, pass)
  const past = state.holes.findIndex((hole) => hole.replay === undefined)
  return { ...state, holes: state.holes.filter((_, index) => index !== past) }
}

/** The state once what the pass was to deliver again has been, or cannot be read. */
export function replayEnded<L extends Lease, B>(
  { lease }: Pick<Held<L, B>, 'lease'>,
  state: PollState,
  { replay }: Pick<Pass, 'replay'>,
): PollState {
  return replay ? { ...state, ...endReplay(state, replay, lease.now) } : state
}

function rangesRefused(state: PollState): Pick<PollState, 'closedRanges' | 'rangesRefusedAt'> {
  return { closedRanges: false, rangesRefusedAt: state.completeAt ?? 0 }
}

function tell<L extends Lease, B>({ ports, sub, lease }: Held<L, B>, pass: Pass, outcome: Outcome, ms: number): void {
  const { report } = ports
  const what = { ...nameOf(sub), purpose: pass.purpose }
  if (outcome.kind === 'broken') report.passGivenUp({ ...what, reason: outcome.reason })
  if (outcome.kind !== 'complete') return
  const done = outcome.pass
  report.passCompleted({ ...what, pages: done.step, records: done.records, ms: lease.now - done.begunAt + ms })
  if (done.start === null || pass.purpose === 'backfill' || pass.purpose === 'reconcile') return
  const completeAt = done.start * 1000
  if (pass.purpose === 'live')
    report.watermarkMoved({ ...nameOf(sub), completeAt, clockSkewMs: completeAt - done.begunAt })
}
