import type { Stream } from '../stream.ts'
import { timeFilter } from '../stream.ts'
import { attackRecord } from '../attack-record.ts'

export const incidents: Stream = {
  ...attackRecord,
  name: 'incidents',
  kind: 'incident',
  summary: 'Incidents: what the service returns for the filter `"!vulnid": null`, exactly as documented.',
  query: (clients, range) => ({
    filter: { clientid: clients, '!vulnid': null, ...timeFilter(range) },
    order_by: 'last_time',
    order_desc: true,
  }),
}
