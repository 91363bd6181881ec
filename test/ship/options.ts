// Options as the daemon would read them: defaults and checks of the sink's own schema.

import convict from 'convict'
import '../../src/config-formats.ts'
import type { Sink, SinkType } from '../../src/ship/sink.ts'

export function optionsOf<Options extends object>(type: SinkType<Options>, values: object): Options {
  const config = convict(type.options)
  config.load(values)
  config.validate({ allowed: 'strict' })
  return config.getProperties()
}

export function openSink<Options extends object>(type: SinkType<Options>, values: object): Sink {
  return type.open(optionsOf(type, values))
}

export const batch = { sendId: 'batch-1', contentType: 'application/x-ndjson' }

/** A signal that never fires. */
export const patient = new AbortController().signal
