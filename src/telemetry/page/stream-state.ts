// What a stream's figures come to, in one word.

import type { StatusPicture, StreamStatus } from '../status-picture.ts'

/** In the order of urgency. */
export const streamStates = ['failing', 'behind', 'full', 'paused', 'starting', 'fine'] as const
export type StreamState = (typeof streamStates)[number]

export const streamStateWords: Readonly<Record<StreamState, string>> = {
  failing: 'Failing',
  behind: 'Behind',
  full: 'Waits for room',
  paused: 'Paused by hand',
  starting: 'Starting',
  fine: 'Fine',
}

/** A stream that is read rarely is behind when it has missed several of its own looks. */
const looksMissed = 4
const behindMinSeconds = 300
/** Where nobody says how often it is read: as rarely as the usual ones are. */
const everyUsualSeconds = 300

/** `paused`: names of what a person has paused, as in the picture. */
export function streamState(stream: StreamStatus, paused: ReadonlySet<string>): StreamState {
  if (isPaused(stream, paused)) return 'paused'
  if (stream.failures > 0) return 'failing'
  if (stream.pausedBy.length > 0) return 'full'
  if (stream.watermarkAgeSeconds === null) return 'starting'
  return stream.watermarkAgeSeconds > behindAfter(stream.everySeconds) ? 'behind' : 'fine'
}

export function pausedIn({ paused }: Pick<StatusPicture, 'paused'>): ReadonlySet<string> {
  return new Set(paused.map(({ name }) => name))
}

export function isPaused({ tenant, stream }: StreamStatus, paused: ReadonlySet<string>): boolean {
  return paused.has(`tenant:${tenant}`) || paused.has(`stream:${tenant}/${stream}`)
}

/** From which age on a watermark is old, in seconds. */
export function behindAfter(everySeconds: number | null): number {
  return Math.max(behindMinSeconds, looksMissed * (everySeconds ?? everyUsualSeconds))
}

export function rankOf(state: StreamState): number {
  return streamStates.indexOf(state)
}
