// Whether a destination may be sent to, and how many sends at once. While it does not answer, one probe at
// a time is let through; everything else waits here, and no attempt of anything is spent.

import { once, setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TailraceError } from '../errors.ts'
import type { DestinationState, Report } from '../telemetry/report.ts'
import { backoffMs } from '../backoff.ts'

export interface GateOptions {
  readonly destination: string
  /** Most sends at once. */
  readonly concurrencyMax: number
  /** A halted destination is looked at again this often, milliseconds. */
  readonly haltedProbeMs: number
  readonly report: Pick<Report, 'destinationChanged'>
  /** Nobody enters any more: sends under way are the last ones. */
  readonly draining: AbortSignal
}

export interface Gate {
  /** Resolves when a send may start; the caller then calls `succeeded`, `failed` or `left` once. */
  enter(signal: AbortSignal): Promise<void>
  succeeded(): void
  /** Closes the gate. Returns for how long, milliseconds. */
  failed(error: TailraceError): number
  /** The send was given up without an answer about the destination. */
  left(): void
  /** A person has paused the destination, or not: nobody enters while it is held. */
  hold(held: boolean): void
  /** For how long it has been closed, milliseconds; 0: it is open. */
  closedMs(): number
}

/** So many failures in a row, and the destination counts as down. */
const failuresUntilDown = 3
const retry = { firstMs: 250, highestMs: 30_000 }

export function createGate(options: GateOptions): Gate {
  const { destination, concurrencyMax, report } = options
  const changed = new EventTarget()
  setMaxListeners(0, changed)
  let limit = Math.min(2, concurrencyMax)
  let inside = 0
  let failures = 0
  let closedAt = 0
  let opensAt = 0
  let held = false
  // Nothing is known until the first answer, which is reported even where it is good.
  let state: DestinationState | 'unknown' = 'unknown'

  const wake = (): void => {
    changed.dispatchEvent(new Event('changed'))
  }
  const become = (next: DestinationState, reason: string | null): void => {
    if (next === state) return
    state = next
    report.destinationChanged({ destination, state, reason })
  }
  const leave = (): void => {
    inside -= 1
    wake()
  }
  return {
    async enter(caller) {
      const signal = AbortSignal.any([caller, options.draining])
      for (;;) {
        signal.throwIfAborted()
        const wait = failures > 0 ? opensAt - Date.now() : 0
        if (!held && wait <= 0 && inside < (failures > 0 ? 1 : Math.floor(limit))) {
          inside += 1
          return
        }
        await newsOf(changed, held ? 0 : wait, signal)
      }
    },
    succeeded() {
      failures = 0
      closedAt = 0
      limit = Math.min(concurrencyMax, limit + 1 / limit)
      become('up', null)
      leave()
    },
    failed(error) {
      failures += 1
      closedAt ||= Date.now()
      limit = Math.max(1, limit / 2)
      const closedMs = closedFor(error, failures, options.haltedProbeMs)
      opensAt = Date.now() + closedMs
      if (error.remedy === 'halt') become('halted', error.message)
      else if (failures >= failuresUntilDown || error.remedy === 'wait') become('down', error.message)
      leave()
      return closedMs
    },
    left: leave,
    hold(now) {
      if (now === held) return
      held = now
      wake()
    },
    closedMs: () => (closedAt === 0 ? 0 : Date.now() - closedAt),
  }
}

/** Until something has changed, or so many milliseconds have passed; 0: however long that takes. */
async function newsOf(changed: EventTarget, waitMs: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const news = once(changed, 'changed', { signal: either })
  const waits = waitMs > 0 ? [news, sleep(waitMs, undefined, { signal: either })] : [news]
  try {
    await Promise.race(waits)
  } catch (thrown) {
    // What was waited for wraps the reason in an error of its own.
    signal.throwIfAborted()
    throw thrown
  } finally {
    over.abort()
    await Promise.allSettled(waits)
  }
}

function closedFor(error: TailraceError, failures: number, haltedProbeMs: number): number {
  if (error.remedy === 'halt') return haltedProbeMs
  const wait = backoffMs(failures, retry)
  return error.remedy === 'wait' ? Math.max(error.waitMs ?? 0, wait) : wait
}
