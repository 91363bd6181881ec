// Every sink. A new one is its file and its line here.

import type { SinkType } from '../sink.ts'
import { elasticsearch } from './elasticsearch.ts'
import { file } from './file.ts'
import { googleSecOps } from './google-secops.ts'
import { kafka } from './kafka.ts'
import { otlp } from './otlp.ts'
import { s3 } from './s3.ts'
import { sentinel } from './sentinel.ts'
import { splunkHec } from './splunk-hec.ts'
import { stdout } from './stdout.ts'
import { syslog } from './syslog.ts'
import { webhook } from './webhook.ts'

export const sinkTypes: readonly SinkType[] = [
  elasticsearch,
  file,
  googleSecOps,
  kafka,
  otlp,
  s3,
  sentinel,
  splunkHec,
  stdout,
  syslog,
  webhook,
]
