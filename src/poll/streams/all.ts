// The list of streams: to add one, write its file and name it here.

import type { Stream } from '../stream.ts'
import { attacks } from './attacks.ts'
import { conditions } from './conditions.ts'
import { incidents } from './incidents.ts'
import { rules } from './rules.ts'
import { vulnerabilities } from './vulnerabilities.ts'

export const streams: readonly Stream[] = [attacks, conditions, incidents, rules, vulnerabilities]
