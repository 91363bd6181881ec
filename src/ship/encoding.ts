// How a destination's events become the bytes that it is sent: those that it wants, without what it must not see, in
// its format, in its sink's envelope.

import { createHmac, hash } from 'node:crypto'
import type { Encoding, SecurityEvent, StreamName } from '../event.ts'
import { compileFilter, type Filter } from './select/filter.ts'
import type { Format } from './format.ts'
import { compileRedaction, type Redaction } from './select/redaction.ts'
import type { SinkType } from './sink.ts'

/** Everything that makes one destination's bytes differ from another's. */
export interface Wanted {
  readonly sink: SinkType
  readonly options: object
  readonly format: Format
  readonly formatOptions: object
  readonly streams: readonly StreamName[]
  readonly labels: Readonly<Record<string, string>>
  /** Left out: all events of the streams. */
  readonly filter?: Filter
  /** Left out: nothing is taken out. */
  readonly redaction?: Redaction
}

/** Destinations for which all of this is alike share their bytes. */
export function encodingOf(wants: Wanted): Encoding {
  const { sink, options, format, formatOptions, streams, labels, filter = {}, redaction } = wants
  const passes = compileFilter(filter)
  const redact = redaction && compileRedaction(redaction)
  const encode = format.compile(formatOptions)
  const frame = sink.frame?.(options, format)
  const frameKey = frame ? [sink.name, sink.frameKey?.(options) ?? JSON.stringify(options)] : []
  const wanted = new Set(streams)
  const alike = [format.name, formatOptions, frameKey, [...wanted].toSorted(), labels, filter, redactionKey(redaction)]
  const labelled = Object.keys(labels).length > 0

  return {
    key: hash('sha256', JSON.stringify(alike), 'base64url').slice(0, 16),
    encode(event) {
      if (!wanted.has(event.stream)) return undefined
      if (passes !== undefined && !passes(event)) return undefined
      const shown = redact === undefined ? event : redact(event)
      const own: SecurityEvent = labelled ? { ...shown, labels } : shown
      const encoded = encode(own)
      return frame ? frame(own, encoded) : encoded
    },
  }
}

/** What the bytes depend on, without the key itself. */
function redactionKey({ fields, key }: Redaction = { fields: [], key: '' }): unknown {
  return fields.length === 0 ? [] : [fields, createHmac('sha256', key).update('tailrace encoding').digest('base64url')]
}
