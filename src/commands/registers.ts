// What destinations can be made of, as the configuration wants to know it.

import type { Registers } from '../config.ts'
import { formats } from '../ship/formats/all.ts'
import { sinkTypes } from '../ship/sinks/all.ts'

export const registers: Registers = { sinkTypes, formats }
