// The turn that asks the service nothing: it looks through what is known. After an inventory, for what is
// missing; after a reconciliation, for what is too old to be met again.

import { goneOf } from './changes.ts'
import { commit, nameOf, relay, withDeep } from './held.ts'
import type { Held } from './held.ts'
import { replayEnded } from './page-turn.ts'
import type { Pass } from './pass.ts'
import type { Lease } from './ports.ts'
import { forgetBelow } from './state.ts'
import type { PollState } from './state.ts'

/** Inventories for which a closed identity is remembered, so that its return is a new revision. */
const tombstoneInventories = 8_640

/** Returns the state that was committed. */
export async function scanMissing<L extends Lease, B>(held: Held<L, B>, pass: Pass): Promise<PollState> {
  return pass.purpose === 'inventory' ? await closeMissing(held, pass) : await prune(held, pass)
}

async function closeMissing<L extends Lease, B>(held: Held<L, B>, pass: Pass): Promise<PollState> {
  const { ports, sub, lease, state, lane } = held
  const current = state.inventories + 1
  const scanned = await ports.store.scan(lease, {
    cursor: pass.missing ?? '0',
    mode: 'missing',
    // Seen neither by this inventory nor by the one before it.
    below: current - 1,
    closedBelow: current - tombstoneInventories,
  })
  const { tenant, reader, borders } = sub
  const context = { tenant, reader, borders, sequence: state.sequence, observedTime: lease.now, inventory: current }
  const gone = goneOf(scanned.found, context)
  const batches = gone.events.length === 0 ? [] : await ports.encode(sub, gone.events)
  const counted = { ...state, sequence: state.sequence + gone.events.length }
  const more = scanned.cursor !== '0'
  const next = more
    ? { ...counted, [lane]: { ...pass, missing: scanned.cursor, step: pass.step + 1 } }
    : inventoryDone(held, counted, pass)
  await commit(held, next, { seen: gone.seen, last: gone.last, batches })
  ports.report.pageCommitted({ ...nameOf(sub), created: 0, updated: 0, closed: gone.events.length, known: 0, late: [] })
  if (!more && pass.start !== null && lane === 'live') {
    const completeAt = pass.start * 1000
    ports.report.watermarkMoved({ ...nameOf(sub), completeAt, clockSkewMs: completeAt - pass.begunAt })
  }
  await relay(held, batches)
  return next
}

function inventoryDone<L extends Lease, B>(held: Held<L, B>, state: PollState, pass: Pass): PollState {
  const { lane, sub, lease } = held
  const counted = {
    ...replayEnded(held, state, pass),
    inventories: state.inventories + 1,
    [lane]: null,
    reconciledAt: pass.start,
  }
  return lane === 'live' ? { ...counted, completeAt: pass.start } : withDeep(sub, counted, lease.now)
}

async function prune<L extends Lease, B>(held: Held<L, B>, pass: Pass): Promise<PollState> {
  const { ports, sub, lease, state, lane } = held
  const below = forgetBelow(sub.rhythm, state)
  const scanned = await ports.store.scan(lease, { cursor: pass.missing ?? '0', mode: 'prune', below, closedBelow: 0 })
  const more = scanned.cursor !== '0'
  const goOn = { ...pass, missing: scanned.cursor, step: pass.step + 1 }
  const next = more ? { ...state, [lane]: goOn } : withDeep(sub, { ...state, [lane]: null }, lease.now)
  await commit(held, next)
  return next
}
