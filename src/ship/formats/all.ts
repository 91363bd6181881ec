// Every format. A new one is its file and its line here.

import type { Format } from '../format.ts'
import { cef } from './cef.ts'
import { ecs } from './ecs.ts'
import { json } from './json.ts'
import { leef } from './leef.ts'
import { ocsf } from './ocsf.ts'
import { udm } from './udm.ts'

export const formats: readonly Format[] = [cef, ecs, json, leef, ocsf, udm]
