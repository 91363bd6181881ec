// What a stream's figures come to, in one word.

import type { StreamStatus } from '../status.ts'

/** In the order of urgency. */
export const streamStates = ['failing', 'behind', 'paused', 'starting', 'fine'] as const
export type StreamState = (typeof streamStates)[number]

export const streamStateWords: Readonly<Record<StreamState, string>> = {
  failing: 'Failing',
  behind: 'Behind',
  paused: 'Paused',
  starting: 'Starting',
  fine: 'Fine',
}

/** A stream that is read rarely is behind when it has missed several of its own looks. */
const looksMissed = 4
const behindMinSeconds = 300
/** Where nobody says how often it is read: as rarely as the usual ones are. */
const everyUsualSeconds = 300

export function streamState(stream: StreamStatus): StreamState {
  if (stream.failures > 0) return 'failing'
  if (stream.pausedBy.length > 0) return 'paused'
  if (stream.watermarkAgeSeconds === null) return 'starting'
  return stream.watermarkAgeSeconds > behindAfter(stream.everySeconds) ? 'behind' : 'fine'
}

/** From which age on a watermark is old, in seconds. */
export function behindAfter(everySeconds: number | null): number {
  return Math.max(behindMinSeconds, looksMissed * (everySeconds ?? everyUsualSeconds))
}

export function rankOf(state: StreamState): number {
  return streamStates.indexOf(state)
}
