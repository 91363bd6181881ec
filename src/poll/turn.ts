// One turn: at most one request to the service, and one commit of what it brought.

import { randomBytes } from 'node:crypto'
import type { TailraceError } from '../errors.ts'
import type { StreamKey } from '../event.ts'
import { nameOf, turnOf } from './held.ts'
import type { Held } from './held.ts'
import { scanMissing } from './missing-turn.ts'
import { readPage } from './page-turn.ts'
import type { Lease, NextTurn, PollPorts } from './ports.ts'
import { beginLive, parseState, parseTrouble } from './state.ts'
import type { PollState, Trouble } from './state.ts'

const leaseMs = 20_000
const renewMs = 6_000
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
    const lease = await ports.store.begin(turn.key, randomBytes(9).toString('base64url'), leaseMs)
    if (typeof lease !== 'number') return await runHeld(turn, { sub, lease, ports }, signal)
    if (turn.lane !== 'tick') await ports.next(turn, Math.min(lease, busyMs), Date.now())
  } catch (thrown) {
    signal.throwIfAborted()
    // Redis is away or full: there is no lease to give back. The rhythm tries again.
    const error = ports.coded(thrown)
    ports.report.turnFailed({ ...nameOf(sub), error, failures: 1, retryMs: sub.rhythm.everyMs })
  }
}

async function runHeld<L extends Lease, B>(
  turn: NextTurn,
  held: Pick<Held<L, B>, 'sub' | 'lease' | 'ports'>,
  signal: AbortSignal,
): Promise<void> {
  const { ports, lease, sub } = held
  const trouble = parseTrouble(lease.trouble)
  const state = parseState(lease.state)
  const blocked = ports.blockedBy(sub)
  const lane = blocked === null ? laneOf(turn, state, trouble, lease.now) : null
  if (lane === null) {
    await ports.store.release(lease, lease.trouble)
    const resting = trouble !== null && trouble.notBefore > lease.now
    if (blocked === null && !resting && turn.lane === 'tick') await revive(turn.key, state, ports)
    return
  }
  const stop = new AbortController()
  const renewing = setInterval(() => {
    ports.store.renew(lease, leaseMs).then(
      (mine) => mine || stop.abort(new Error('the lease was taken over')),
      () => undefined, // Redis is away; the commit will tell
    )
  }, renewMs)
  try {
    const either = AbortSignal.any([signal, stop.signal])
    const followers = await work(turn, { ...held, state, trouble, lane }, either)
    if (trouble) ports.report.turnRecovered({ ...nameOf(sub), failures: trouble.failures })
    for (const next of followers) await ports.next(next, 0, 0)
  } catch (thrown) {
    await fail(turn, { ...held, state, trouble, lane }, thrown)
    signal.throwIfAborted()
  } finally {
    clearInterval(renewing)
  }
}

/** Which lane has something to do; null: none, or not yet. */
function laneOf(turn: NextTurn, state: PollState, trouble: Trouble | null, now: number): 'live' | 'deep' | null {
  if (trouble && trouble.notBefore > now) return null
  if (turn.lane === 'tick') return state.live === null ? 'live' : null
  const pass = state[turn.lane]
  return pass !== null && pass.id === turn.pass && pass.step === turn.step ? turn.lane : null
}

/** A chain of turns that was lost (a queue rolled back, say) is taken up where its pass stands. */
async function revive<L extends Lease, B>(key: StreamKey, state: PollState, ports: PollPorts<L, B>): Promise<void> {
  for (const lane of ['live', 'deep'] as const) {
    const pass = state[lane]
    if (pass) await ports.next(turnOf(key, lane, pass), 0, 0)
  }
}

/** Returns the turns to add. */
async function work<L extends Lease, B>(turn: NextTurn, held: Held<L, B>, signal: AbortSignal): Promise<NextTurn[]> {
  const { state, sub, lease, lane } = held
  const { stream } = sub.reader
  const pass = state[lane] ?? beginLive(stream, sub.rhythm, state, lease.now)
  const after =
    pass.missing === null
      ? await readPage({ ...held, state: { ...state, [lane]: pass } }, pass, signal)
      : await scanMissing(held, pass)
  const next: NextTurn[] = []
  const same = after[lane]
  if (same) next.push(turnOf(turn.key, lane, same))
  // Only when it has just begun: else its chain is on its way.
  if (lane === 'live' && after.deep && after.deep.step === 0) next.push(turnOf(turn.key, 'deep', after.deep))
  return next
}

async function fail<L extends Lease, B>(turn: NextTurn, held: Held<L, B>, thrown: unknown): Promise<void> {
  const { ports, sub, lease, trouble } = held
  const error = ports.coded(thrown)
  if (error.code === 'lease_lost') return
  const failures = (trouble?.failures ?? 0) + 1
  const retryMs = retryAfter(error, failures)
  ports.report.turnFailed({ ...nameOf(sub), error, failures, retryMs })
  try {
    if (error.code === 'service_throttled') await ports.pause(sub.instance, retryMs)
    const told: Trouble = { failures, notBefore: lease.now + retryMs, code: error.code, message: error.message }
    await ports.store.release(lease, JSON.stringify(told))
    await ports.next(turn, retryMs, failures)
  } catch (second) {
    ports.report.failed({ error: ports.coded(second), during: `giving back ${sub.key}` })
  }
}

function retryAfter(error: TailraceError, failures: number): number {
  if (error.remedy === 'halt' || error.remedy === 'stop') return haltedMs
  const bound = Math.min(retry.highestMs, retry.firstMs * 2 ** Math.min(failures - 1, 20))
  const wait = Math.round(bound * (0.1 + 0.9 * Math.random()))
  return error.remedy === 'wait' ? (error.waitMs ?? 5_000) + Math.round(Math.random() * 250) : wait
}
