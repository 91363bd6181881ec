// Every sink. A new one is its file and its line here.

import type { SinkType } from '../sink.ts'
import { file } from './file.ts'
import { http } from './http.ts'
import { stdout } from './stdout.ts'
import { syslog } from './syslog.ts'

export const sinkTypes: readonly SinkType[] = [file, http, stdout, syslog]
