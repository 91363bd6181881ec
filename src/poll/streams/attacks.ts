import type { Stream } from '../stream.ts'
import { timeFilter } from '../stream.ts'
import { attackRecord } from '../attack-record.ts'

export const attacks: Stream = {
  ...attackRecord,
  name: 'attacks',
  kind: 'attack',
  summary: 'Attacks: aggregates of malicious requests. Each change of one is an event.',
  query: (clients, range) => ({
    filter: { clientid: clients, ...timeFilter(range) },
    order_by: 'last_time',
    order_desc: true,
  }),
}
