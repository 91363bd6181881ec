// What attacks and incidents share: an incident is an attack, chosen by another filter.

import type { AttackBody, ServiceRecord } from '../event.ts'
import type { Stream } from './stream.ts'
import { millisecondsOf, numberOf, numbersOf, recordsOf, secondsOf, textOf, textsOf } from './fields.ts'

export const attackRecord = {
  operation: 'attack',
  reading: 'timeline',
  ranges: true,
  gone: 'closed',
  keys: [
    'id',
    'attackid',
    'clientid',
    'domain',
    'poolid',
    'method',
    'parameter',
    'path',
    'point',
    'type',
    'first_time',
    'last_time',
    'hits',
    'ip_count',
    'ip_top',
    'country_top',
    'statuscodes',
    'vulnid',
    'threat',
    'target',
    'experimental',
    'recheck_status',
    'vectors_count',
    'block_status',
    'state',
    'tor',
    'sid',
    'datacenter',
    'session_count',
    'last_request_id',
  ],
  identity: attackIdentity,
  time: (record) => secondsOf(record, 'last_time') ?? secondsOf(record, 'first_time'),
  threat: (record) => numberOf(record, 'threat'),
  client: (record) => numberOf(record, 'clientid'),
  body: attackBody,
} as const satisfies Partial<Stream>

/** `attackid` (text `index:raw`, in some versions an array of two), else `id` (array of two). */
function attackIdentity(record: ServiceRecord): string | undefined {
  for (const value of [record['attackid'], record['id']]) {
    if (typeof value === 'string' && value !== '') return value
    if (typeof value === 'number') return String(value)
    if (Array.isArray(value) && value.length > 0) return value.join(':')
  }
  return undefined
}

function attackBody(record: ServiceRecord): AttackBody {
  const vulnerability = record['vulnid']
  return {
    type: textOf(record, 'type'),
    domain: textOf(record, 'domain'),
    path: textOf(record, 'path'),
    method: textOf(record, 'method'),
    parameter: textOf(record, 'parameter'),
    point: textsOf(record, 'point'),
    target: textOf(record, 'target'),
    threat: numberOf(record, 'threat'),
    blockStatus: textOf(record, 'block_status'),
    state: textOf(record, 'state'),
    hits: numberOf(record, 'hits'),
    sourceCount: numberOf(record, 'ip_count'),
    sources: recordsOf(record, 'ip_top').map(attackSource),
    statusCodes: numbersOf(record, 'statuscodes'),
    firstTime: millisecondsOf(record, 'first_time'),
    lastTime: millisecondsOf(record, 'last_time'),
    application: numberOf(record, 'poolid'),
    vulnerability: typeof vulnerability === 'number' || typeof vulnerability === 'string' ? vulnerability : null,
  }
}

function attackSource(source: ServiceRecord): AttackBody['sources'][number] {
  return { ip: textOf(source, 'ip') ?? '', country: textOf(source, 'country'), count: numberOf(source, 'count') }
}
