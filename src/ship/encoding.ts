// How a destination's events become the bytes that it is sent: those that it wants, in its format, in its sink's
// envelope.

import { hash } from 'node:crypto'
import type { Encoding, SecurityEvent, StreamName } from '../event.ts'
import type { Format } from './format.ts'
import type { SinkType } from './sink.ts'

/** Everything that makes one destination's bytes differ from another's. */
export interface Wanted {
  readonly sink: SinkType
  readonly options: object
  readonly format: Format
  readonly formatOptions: object
  readonly streams: readonly StreamName[]
  readonly labels: Readonly<Record<string, string>>
}

/** Destinations for which all of this is alike share their bytes. */
export function encodingOf({ sink, options, format, formatOptions, streams, labels }: Wanted): Encoding {
  const encode = format.compile(formatOptions)
  const frame = sink.frame?.(options, format)
  const frameKey = frame ? [sink.name, sink.frameKey?.(options) ?? JSON.stringify(options)] : []
  const wanted = new Set(streams)
  const alike = [format.name, formatOptions, frameKey, [...wanted].toSorted(), labels]
  const labelled = Object.keys(labels).length > 0

  return {
    key: hash('sha256', JSON.stringify(alike), 'base64url').slice(0, 16),
    encode(event) {
      if (!wanted.has(event.stream)) return undefined
      const own: SecurityEvent = labelled ? { ...event, labels } : event
      const encoded = encode(own)
      return frame ? frame(own, encoded) : encoded
    },
  }
}
