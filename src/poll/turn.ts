// One turn: at most one request to the service, and one commit of what it brought.

import { randomBytes } from 'node:crypto'
import { backoffMs } from '../backoff.ts'
import type { TailraceError } from '../errors.ts'
import { nameOf, turnOf } from './held.ts'
import type { Held } from './held.ts'
import { scanMissing } from './missing-turn.ts'
import { readPage } from './page-turn.ts'
import type { Lease, NextTurn, PollPorts } from './ports.ts'
import { beginLive, parseState, parseTroubles } from './state.ts'
import type { PollState, Trouble } from './state.ts'

// Short, as a stream rests for so long after its reader was killed.
const leaseMs = 6_000
const renewMs = 2_000
/** A lane that finds the other one at work comes back after so long. */
const busyMs = 100
const retry = { firstMs: 1_000, highestMs: 60_000 }
/** Credentials that were refused, requests that were rejected: looked at again this often. */
const haltedMs = 300_000

/**
 * Runs a turn. Never rejects for what the service or Redis did: that is reported, and tried again later.
 * Rejects with the signal's reason.
 */
export async function runTurn<L extends Lease, B>(
  turn: NextTurn,
  ports: PollPorts<L, B>,
  signal: AbortSignal,
): Promise<void> {
  const sub = ports.subscription(turn.key)
  if (!sub) return
  try {
    const lane = turn.lane === 'deep' ? 'deep' : 'live'
    const lease = await ports.store.begin(turn.key, randomBytes(9).toString('base64url'), leaseMs, lane)
    if ('key' in lease) return await runHeld(turn, { sub, lease, ports }, signal)
    // A tick that finds the live lane at work has nothing to add.
    if (turn.lane === 'tick' && lease.lane === 'live') return
    await ports.next(turn, Math.min(lease.waitMs, busyMs), Date.now())
  } catch (thrown) {
    signal.throwIfAborted()
    // Redis is away or full: there is no lease to give back. The rhythm tries again.
    const error = ports.coded(thrown)
    ports.report.turnFailed({ ...nameOf(sub), error, failures: 1, retryMs: sub.rhythm.everyMs })
  }
}

async function runHeld<L extends Lease, B>(
  turn: NextTurn,
  given: Pick<Held<L, B>, 'sub' | 'lease' | 'ports'>,
  signal: AbortSignal,
): Promise<void> {
  const { ports, lease, sub } = given
  const troubles = parseTroubles(lease.trouble)
  const state = parseState(lease.state)
  const lane = ports.blockedBy(sub) === null ? laneOf(turn, state) : null
  const trouble = lane === null ? undefined : troubles[lane]
  if (lane === null || (trouble && trouble.notBefore > lease.now))
    return await ports.store.release(lease, lease.trouble)

  const held = { ...given, state, troubles, lane }
  const stop = new AbortController()
  const renewing = setInterval(() => {
    ports.store.renew(lease, leaseMs).then(
      (mine) => mine || stop.abort(new Error('the lease was taken over')),
      () => undefined, // Redis is away; the commit will tell
    )
  }, renewMs)
  try {
    const after = await work(held, AbortSignal.any([signal, stop.signal]))
    if (trouble) ports.report.turnRecovered({ ...nameOf(sub), failures: trouble.failures })
    await follow(turn, held, after)
  } catch (thrown) {
    await fail(turn, held, thrown)
    signal.throwIfAborted()
  } finally {
    clearInterval(renewing)
  }
}

/**
 * The lane to work on; null: the turn is outdated. A tick goes on with a pass that is under way: its own chain
 * of turns may have been lost, and if not, its next turn finds itself outdated and ends.
 */
function laneOf(turn: NextTurn, state: PollState): 'live' | 'deep' | null {
  if (turn.lane === 'tick') return 'live'
  const pass = state[turn.lane]
  return pass !== null && pass.id === turn.pass && pass.step === turn.step ? turn.lane : null
}

/** Returns the state that was committed. */
async function work<L extends Lease, B>(held: Held<L, B>, signal: AbortSignal): Promise<PollState> {
  const { state, sub, lease, lane } = held
  const pass = state[lane] ?? beginLive(sub.reader.stream, sub.rhythm, state, lease.now)
  if (pass.missing !== null) return await scanMissing(held, pass)
  return await readPage({ ...held, state: { ...state, [lane]: pass } }, pass, signal)
}

async function follow<L extends Lease, B>(turn: NextTurn, held: Held<L, B>, after: PollState): Promise<void> {
  const { ports, lane, lease, state } = held
  const same = after[lane]
  if (same) await ports.next(turnOf(turn.key, lane, same), 0, 0)
  if (lane === 'deep' || !after.deep) return
  // One that was under way before has its own chain, which a tick takes up in case it was lost.
  const attempt = after.deep.id === state.deep?.id ? lease.now : 0
  if (attempt === 0 || turn.lane === 'tick') await ports.next(turnOf(turn.key, 'deep', after.deep), 0, attempt)
}

async function fail<L extends Lease, B>(turn: NextTurn, held: Held<L, B>, thrown: unknown): Promise<void> {
  const { ports, sub, lease, lane, troubles } = held
  const error = ports.coded(thrown)
  if (error.code === 'lease_lost') return
  const failures = (troubles[lane]?.failures ?? 0) + 1
  const retryMs = retryAfter(error, failures)
  ports.report.turnFailed({ ...nameOf(sub), error, failures, retryMs })
  try {
    if (error.code === 'service_throttled') await ports.pause(sub.instance, retryMs)
    const trouble: Trouble = { failures, notBefore: lease.now + retryMs, code: error.code, message: error.message }
    await ports.store.release(lease, JSON.stringify({ ...troubles, [lane]: trouble }))
    await ports.next(turn, retryMs, failures)
  } catch (second) {
    ports.report.failed({ error: ports.coded(second), during: `giving back ${sub.key}` })
  }
}

function retryAfter(error: TailraceError, failures: number): number {
  if (error.remedy === 'halt' || error.remedy === 'stop') return haltedMs
  if (error.remedy === 'wait') return (error.waitMs ?? 5_000) + Math.round(Math.random() * 250)
  return Math.max(backoffMs(failures, retry), error.waitMs ?? 0)
}
