// What each format costs: a typical attack as bytes, on one core. Best of some rounds, for figures of a shared machine
// are never too good.

import { Buffer } from 'node:buffer'
import convict from 'convict'
import '../../src/config-formats.ts'
import { changesOf, createReader } from '../../src/poll/changes.ts'
import { attacks } from '../../src/poll/streams/attacks.ts'
import { formats } from '../../src/ship/formats/all.ts'
import type { Format } from '../../src/ship/format.ts'
import type { SecurityEvent, ServiceRecord } from '../../src/event.ts'

const count = 1000
const rounds = 30

/** As the service has it, and different each time. */
function recordOf(n: number): ServiceRecord {
  const raw = `AM5CP50BU-M_02Qx${n.toString(36).padStart(4, '0')}`
  return {
    id: ['attacks_eu_4711_202611_v_1', raw],
    attackid: `attacks_eu_4711_202611_v_1:${raw}`,
    clientid: 4711,
    domain: 'shop.example.com',
    poolid: 12,
    method: 'GET',
    parameter: 'GET_filename_value',
    path: '/log/view',
    point: ['get', 'filename'],
    type: ['sqli', 'ptrav', 'xss'][n % 3],
    hits: 111 + n,
    ip_count: 1,
    first_time: 1_774_882_806,
    last_time: 1_774_892_699 + n,
    statuscodes: [200, 404],
    vulnid: null,
    ip_top: [{ ip: `203.0.113.${n % 256}`, count: 111 + n, country: 'FR' }],
    threat: n % 101,
    target: 'server',
    experimental: null,
    recheck_status: 'unrecheckable',
    vectors_count: 43,
    block_status: 'monitored',
    state: null,
  }
}

function eventsOf(records: readonly ServiceRecord[]): readonly SecurityEvent[] {
  const reader = createReader(attacks)
  const borders = { medium: 34, high: 67, critical: 90 }
  const context = { tenant: 'bench', reader, borders, sequence: 0, observedTime: 1_774_892_700_000, inventory: null }
  return changesOf(reader.read(records, 0), [], context).events
}

function measure({ name, options, compile }: Format, events: readonly SecurityEvent[]): string {
  const encode = compile(convict<object>(options).getProperties())
  let best = Infinity
  let bytes = 0
  for (let round = 0; round < rounds; round++) {
    bytes = 0
    const begin = performance.now()
    for (const event of events) bytes += Buffer.byteLength(encode(event))
    best = Math.min(best, performance.now() - begin)
  }
  const rate = Math.round((events.length / best) * 1000)
  return `format ${name}: ${rate} events/s, ${Math.round(bytes / events.length)} bytes an event`
}

const events = eventsOf(Array.from({ length: count }, (_, n) => recordOf(n)))
for (const format of formats) console.log(measure(format, events))
