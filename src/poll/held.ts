// A turn under its lease.

import type { StreamKey } from '../event.ts'
import type { Changes } from './changes.ts'
import type { Pass } from './pass.ts'
import type { Lease, NextTurn, PollPorts, Subscription } from './ports.ts'
import { beginDeep } from './state.ts'
import type { PollState, Troubles } from './state.ts'

export interface Held<L extends Lease, B> {
  readonly ports: PollPorts<L, B>
  readonly sub: Subscription
  readonly lease: L
  readonly state: PollState
  readonly troubles: Troubles
  readonly lane: 'live' | 'deep'
}

/** What a turn has brought, besides the state. */
export interface Brought<B> {
  readonly seen?: Changes['seen']
  readonly last?: Changes['last']
  readonly batches?: readonly B[]
}

/** Ends a turn that has succeeded: its lane's trouble is over, and all that it brought is kept with the state. */
export async function commit<L extends Lease, B>(
  held: Held<L, B>,
  state: PollState,
  { seen = [], last = [], batches = [] }: Brought<B> = {},
): Promise<void> {
  const { ports, lease, lane } = held
  const walk = held.state[lane]
  const pass = walk === null ? '' : `${walk.purpose} ${walk.id}, page ${walk.step + 1}`
  await ports.store.commit(lease, { state: JSON.stringify(state), trouble: remaining(held), seen, last, batches, pass })
}

/** What cannot be queued now stays in the outbox; the sweep queues it. */
export async function relay<L extends Lease, B>(
  { ports, sub, lane }: Held<L, B>,
  batches: readonly B[],
): Promise<void> {
  try {
    await ports.relay(sub.key, batches, lane)
  } catch (thrown) {
    ports.report.failed({ error: ports.coded(thrown), during: `queuing batches of ${sub.key}` })
  }
}

/** The troubles that remain when a turn of this lane has succeeded, as text. */
function remaining({ troubles, lane }: Pick<Held<Lease, unknown>, 'troubles' | 'lane'>): string {
  const { [lane]: _over, ...others } = troubles
  return Object.keys(others).length === 0 ? '' : JSON.stringify(others)
}

/** The state to commit after a turn: with a deep pass begun, if one is due and none is under way. */
export function withDeep(sub: Subscription, state: PollState, now: number): PollState {
  return state.deep ? state : { ...state, deep: beginDeep(sub.reader.stream, sub.rhythm, state, now) }
}

export function turnOf(key: StreamKey, lane: 'live' | 'deep', pass: Pass): NextTurn {
  return { key, lane, pass: pass.id, step: pass.step }
}

export function nameOf(sub: Subscription): { tenant: string; stream: Subscription['stream'] } {
  return { tenant: sub.tenant, stream: sub.stream }
}
