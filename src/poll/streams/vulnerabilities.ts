import type { ServiceRecord, VulnerabilityBody } from '../../event.ts'
import type { Stream } from '../stream.ts'
import { millisecondsOf, numberOf, secondsOf, textOf } from '../fields.ts'

export const vulnerabilities: Stream = {
  name: 'vulnerabilities',
  kind: 'vulnerability',
  summary: 'Active vulnerabilities: opened, changed and closed.',
  operation: 'vuln',
  reading: 'inventory',
  ranges: false,
  gone: 'closed',
  keys: [],
  query: (clients) => ({ filter: { clientid: clients, testrun_id: null, validated: true } }),
  identity: (record) => textOf(record, 'id') ?? textOf(record, 'wid') ?? undefined,
  time: (record) => secondsOf(record, 'validate_time') ?? secondsOf(record, 'last_check'),
  threat: (record) => numberOf(record, 'threat'),
  client: (record) => numberOf(record, 'clientid'),
  body: vulnerabilityBody,
}

function vulnerabilityBody(record: ServiceRecord): VulnerabilityBody {
  return {
    humanId: textOf(record, 'wid'),
    status: textOf(record, 'status'),
    type: textOf(record, 'type'),
    title: textOf(record, 'title'),
    description: textOf(record, 'description'),
    domain: textOf(record, 'domain'),
    path: textOf(record, 'path'),
    method: textOf(record, 'method'),
    parameter: textOf(record, 'parameter'),
    target: textOf(record, 'target'),
    threat: numberOf(record, 'threat'),
    validateTime: millisecondsOf(record, 'validate_time'),
    invalidateTime: millisecondsOf(record, 'invalidate_time'),
    lastCheck: millisecondsOf(record, 'last_check'),
  }
}
