// Every format. A new one is its file and its line here.

import type { Format } from '../format.ts'
import { json } from './json.ts'

export const formats: readonly Format[] = [json]
