// A bound that a transport has for a single message: what is above it can never be sent, and must not stop the rest.

import { TailraceError } from '../../errors.ts'
import type { Untaken } from '../sink.ts'

export type SendMessages = (records: readonly Uint8Array[], signal: AbortSignal) => Promise<readonly Untaken[]>

/**
 * Sends what is at most so long; the rest is returned as untaken, for good. Messages are cut when they are made, but
 * what waits may have been made with other options.
 */
export function withLargest(bytesMax: number, where: string, send: SendMessages): SendMessages {
  return async (records, signal) => {
    const places = records.flatMap((record, place) => (record.length <= bytesMax ? [place] : []))
    if (places.length === records.length) return send(records, signal)
    const tooLong = records.flatMap((record, index) =>
      record.length <= bytesMax ? [] : [{ index, error: tooLarge(record.length, bytesMax, where) }],
    )
    if (places.length === 0) return tooLong
    const untaken = await send(
      places.flatMap((place) => records[place] ?? []),
      signal,
    )
    return [...tooLong, ...untaken.map(({ index, error }) => ({ index: places[index] ?? index, error }))]
  }
}

function tooLarge(bytes: number, bytesMax: number, where: string): TailraceError {
  const message = `${where}: a message of ${bytes} bytes is more than the transport carries (${bytesMax})`
  return new TailraceError('sink_refused_event', message)
}
