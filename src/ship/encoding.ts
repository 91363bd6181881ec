// How a destination's events become the bytes that it is sent: its format, in its sink's envelope.

import { hash } from 'node:crypto'
import type { Encoding, StreamName } from '../event.ts'
import type { Format } from './format.ts'
import type { SinkType } from './sink.ts'

/** Destinations for which all of this is alike share their bytes. */
export function encodingOf<Options extends object>(
  format: Format,
  sink: SinkType<Options>,
  options: Options,
  streams: ReadonlySet<StreamName>,
): Encoding {
  const { frame } = sink
  const frameKey = frame ? `${sink.name} ${sink.frameKey?.(options) ?? JSON.stringify(options)}` : ''
  const key = hash('sha256', [format.name, frameKey, [...streams].toSorted().join()].join('\n'), 'base64url')
  return {
    key: key.slice(0, 16),
    encode(event) {
      if (!streams.has(event.stream)) return undefined
      const encoded = format.encode(event)
      return frame ? frame(options, event, encoded) : encoded
    },
  }
}
