// Changes the state of a stream from outside of its turns: under its lease, and only if nobody has committed since.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { TailraceError } from '../errors.ts'
import type { StreamKey } from '../event.ts'
import { parseState } from '../poll/state.ts'
import type { PollState } from '../poll/state.ts'
import type { Lease, Store } from '../queue/store.ts'

/** Longer than any page takes that is not stuck. */
const patienceMs = 60_000
const leaseMs = 6_000

/** `change` may throw: then nothing is changed. Returns the state after it. */
export async function changeState(
  store: Store,
  key: StreamKey,
  change: (state: PollState, now: number) => PollState,
  signal: AbortSignal,
): Promise<PollState> {
  await store.register([key])
  for (const until = Date.now() + patienceMs; Date.now() < until;) {
    signal.throwIfAborted()
    const lease = await store.begin(key, randomBytes(9).toString('base64url'), leaseMs, 'live')
    if (!('key' in lease)) {
      await sleep(Math.min(lease.waitMs, 50), undefined, { signal })
      continue
    }
    const after = await changeHeld(store, lease, change)
    if (after) return after
  }
  throw new TailraceError('lease_lost', `${key} is being read without a pause. Nothing was changed; try again.`)
}

/** Undefined where the stream was taken over meanwhile. */
async function changeHeld(
  store: Store,
  lease: Lease,
  change: (state: PollState, now: number) => PollState,
): Promise<PollState | undefined> {
  const { trouble } = lease
  try {
    const after = change(parseState(lease.state), lease.now)
    await store.commit(lease, { state: JSON.stringify(after), trouble, seen: [], last: [], batches: [] })
    return after
  } catch (thrown) {
    if (thrown instanceof TailraceError && thrown.code === 'lease_lost') return undefined
    await store.release(lease, trouble)
    throw thrown
  }
}
