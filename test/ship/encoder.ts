// A format as the daemon compiles it: defaults and checks of its own schema.

import convict from 'convict'
import '../../src/config-formats.ts'
import type { Encode, Format } from '../../src/ship/format.ts'

export function encoderOf<Options extends object>(format: Format<Options>, values: object = {}): Encode {
  const config = convict(format.options)
  config.load(values)
  config.validate({ allowed: 'strict' })
  return format.compile(config.getProperties())
}
