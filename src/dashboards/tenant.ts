// One tenant: are its streams read, and do its events arrive?

import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard'
import type { Board } from './board.ts'
import { rise, series, stat } from './panel.ts'
import { watermarkAge } from './thresholds.ts'

const own = '{job=~"$job", tenant="$tenant"}'
const ages = `min by (stream) (tailrace_watermark_age_seconds${own})`

export const tenant: Board = {
  uid: 'tailrace-tenant',
  title: 'Tailrace / Tenant',
  says: 'One tenant: are its streams read, and do its events arrive?',
  chosen: {
    label: 'tenant',
    // One whose credentials were never right has failures, and nothing else.
    of: '{__name__=~"tailrace_watermark_age_seconds|tailrace_turns_failed_total", job=~"$job"}',
  },
  rows: [
    ['At a glance', glance()],
    ['Reading', reading()],
    ['Trouble', trouble()],
  ],
}

function glance(): Builder<Panel>[] {
  return [
    stat({
      title: 'Oldest watermark',
      says: 'How far the stream that is furthest behind is known to be complete.',
      unit: 's',
      query: `max(${ages})`,
      alarm: watermarkAge,
      width: 6,
    }),
    stat({
      title: 'Events in an hour',
      says: 'Made of new or changed records.',
      unit: 'short',
      query: `sum(increase(tailrace_events_read_total${own}[1h]))`,
      width: 6,
    }),
    stat({
      title: 'Failed turns in an hour',
      says: 'Requests and commits that failed and were tried again.',
      unit: 'short',
      query: `sum(${rise(`tailrace_turns_failed_total${own}`, '1h')}) or vector(0)`,
      width: 6,
    }),
    stat({
      title: 'Streams that pause',
      says: 'Not read because a backlog, or the memory of Redis, is full.',
      unit: 'short',
      query: `sum(max by (stream, destination) (tailrace_stream_paused${own})) or vector(0)`,
      alarm: { warning: 0 },
      width: 6,
    }),
  ]
}

function reading(): Builder<Panel>[] {
  return [
    series({
      title: 'Age of watermarks',
      says: 'How far behind the clock of the service each stream is known to be complete: near its interval when all is well.',
      unit: 's',
      alarm: watermarkAge,
      queries: [[ages, '{{stream}}']],
    }),
    series({
      title: 'Events read',
      says: 'New events a second, by stream and what happened to the record.',
      unit: 'cps',
      stacked: true,
      queries: [
        [`sum by (stream, action) (rate(tailrace_events_read_total${own}[$__rate_interval]))`, '{{stream}} {{action}}'],
      ],
    }),
    series({
      title: 'Records that were known',
      says: 'Read again within the overlap, and not new. They cost requests and nothing else.',
      unit: 'cps',
      queries: [[`sum by (stream) (rate(tailrace_records_known_total${own}[$__rate_interval]))`, '{{stream}}']],
    }),
    series({
      title: 'Events shipped',
      says: 'Events a second that were confirmed, by destination.',
      unit: 'cps',
      stacked: true,
      queries: [
        [`sum by (destination) (rate(tailrace_events_shipped_total${own}[$__rate_interval]))`, '{{destination}}'],
      ],
    }),
  ]
}

function trouble(): Builder<Panel>[] {
  return [
    series({
      title: 'Failed turns',
      says: 'By code. service_refused: its credentials or permissions; tried again every 5 minutes.',
      unit: 'cps',
      queries: [
        [`sum by (stream, code) (rate(tailrace_turns_failed_total${own}[$__rate_interval]))`, '{{stream}} {{code}}'],
      ],
    }),
    series({
      title: 'Pauses',
      says: '1 while a stream is not read because the backlog of that destination, or the memory of Redis, is full.',
      unit: 'short',
      max: 1,
      queries: [[`max by (stream, destination) (tailrace_stream_paused${own})`, '{{stream}}, for {{destination}}']],
    }),
    series({
      title: 'Gaps',
      says: 'Declared since the replicas started: records that could not be read, which the destinations were told.',
      unit: 'short',
      queries: [[`sum by (stream) (tailrace_gaps_total${own})`, '{{stream}}']],
    }),
    series({
      title: 'Passes given up',
      says: 'Begun again from the start, because the list changed faster than it could be read. More than a few: raise pageSize.',
      unit: 'cps',
      queries: [[`sum(rate(tailrace_passes_given_up_total${own}[$__rate_interval])) or vector(0)`, 'passes']],
    }),
  ]
}
