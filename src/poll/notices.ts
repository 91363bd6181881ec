// Events about the stream itself that are due when a page has been read: a heartbeat, and what somebody has skipped.

import type { EventBody, SecurityEvent } from '../event.ts'
import { streamEvent } from './changes.ts'
import type { ChangeContext } from './changes.ts'
import type { PollState } from './state.ts'

export interface Noticed {
  readonly events: readonly SecurityEvent[]
  /** The state with these events counted. */
  readonly state: PollState
}

/** `state`: as it is to be committed, its sequence that of the last event so far. */
export function noticesOf(state: PollState, heartbeatMs: number, context: ChangeContext): Noticed {
  const now = context.observedTime
  const events: SecurityEvent[] = []
  const add = (what: { action: 'gap' | 'heartbeat'; body: EventBody; severity: number }): number => {
    const event = streamEvent(what, { ...context, sequence: state.sequence + events.length })
    events.push(event)
    return event.sequence
  }
  for (const body of state.gaps) add({ action: 'gap', severity: 7, body })
  let { heartbeat } = state
  if (heartbeatMs > 0 && (heartbeat === null || now - heartbeat.at >= heartbeatMs)) {
    const lastSequence = state.sequence + events.length
    const watermark = state.completeAt === null ? null : state.completeAt * 1000
    const body = { watermark, lastSequence, events: lastSequence - (heartbeat?.sequence ?? 0) }
    heartbeat = { at: now, sequence: add({ action: 'heartbeat', severity: 0, body }) }
  }
  return { events, state: { ...state, sequence: state.sequence + events.length, gaps: [], heartbeat } }
}
