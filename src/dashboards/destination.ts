// One destination: does it take events, how fast, and what waits for it?

import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard'
import type { Board } from './board.ts'
import { series, stat, table } from './panel.ts'
import { backlogShare, certificateDays, deadLetters } from './thresholds.ts'

const own = '{job=~"$job", destination="$destination"}'
const share = `max(tailrace_backlog_bytes${own}) / max(tailrace_backlog_bound_bytes${own})`

export const destination: Board = {
  uid: 'tailrace-destination',
  title: 'Tailrace / Destination',
  says: 'One destination: does it take events, how fast, and what waits for it?',
  chosen: { label: 'destination', of: 'tailrace_destination_confirms{job=~"$job"}' },
  rows: [
    ['At a glance', glance()],
    ['Delivery', delivery()],
    ['Trouble', trouble()],
  ],
}

function glance(): Builder<Panel>[] {
  return [
    stat({
      title: 'State',
      says: 'Whether it takes events, for the replica that fares worst. Halted: it has stopped until a person acts.',
      unit: 'short',
      query: `min(tailrace_destination_up${own}) - max(tailrace_destination_halted${own})`,
      words: { [-1]: ['halted', 'red'], 0: ['down', 'orange'], 1: ['up', 'green'] },
      width: 4,
    }),
    stat({
      title: 'Confirms',
      says: 'Whether the receiver confirms what it got. If not, what counts as delivered has only been sent.',
      unit: 'short',
      query: `min(tailrace_destination_confirms${own})`,
      words: { 0: ['nothing', 'orange'], 1: ['yes', 'green'] },
      width: 4,
    }),
    stat({
      title: 'Backlog',
      says: 'Share of its bound. When it is full, the streams that feed it are not read any more.',
      unit: 'percentunit',
      query: share,
      alarm: backlogShare,
      width: 4,
    }),
    stat({
      title: 'Full in',
      says: 'When the backlog is full if it grows on as in the last 15 minutes. Empty: it does not grow.',
      unit: 's',
      query: `(max(tailrace_backlog_bound_bytes${own}) - max(tailrace_backlog_bytes${own})) / (max(deriv(tailrace_backlog_bytes${own}[15m])) > 0)`,
      alarm: { warning: 14_400, critical: 3_600, falling: true },
      width: 4,
    }),
    stat({
      title: 'Dead letters',
      says: 'Events that it refused for good, kept until somebody requeues or discards them.',
      unit: 'short',
      query: `max(tailrace_dead_letters${own})`,
      alarm: deadLetters,
      width: 4,
    }),
    stat({
      title: 'Certificate',
      says: 'Days until the certificate ends that it showed last. Empty: not encrypted, or nothing was sent yet.',
      unit: 'd',
      query: `(min(tailrace_destination_certificate_expiry_timestamp_seconds${own}) - time()) / 86400`,
      alarm: certificateDays,
      width: 4,
    }),
  ]
}

function delivery(): Builder<Panel>[] {
  const quantile = (metric: string, q: number): string =>
    `histogram_quantile(${q}, sum by (le) (rate(${metric}_bucket${own}[$__rate_interval])))`
  return [
    series({
      title: 'Events shipped',
      says: 'Events a second that were confirmed, by stream.',
      unit: 'cps',
      stacked: true,
      queries: [[`sum by (stream) (rate(tailrace_events_shipped_total${own}[$__rate_interval]))`, '{{stream}}']],
    }),
    series({
      title: 'Bytes shipped',
      says: 'Of confirmed events, before framing and compression.',
      unit: 'Bps',
      queries: [[`sum(rate(tailrace_shipped_bytes_total${own}[$__rate_interval]))`, 'bytes']],
    }),
    series({
      title: 'Time to the confirmation',
      says: 'From sending a batch to its confirmation: how fast the receiver is.',
      unit: 's',
      queries: [0.5, 0.95, 0.99].map((q) => [quantile('tailrace_ship_duration_seconds', q), `p${q * 100}`]),
    }),
    series({
      title: 'Delay of delivery',
      says: 'From the time of an event to its confirmation, of the oldest event in each send.',
      unit: 's',
      queries: [0.5, 0.95, 0.99].map((q) => [quantile('tailrace_delivery_delay_seconds', q), `p${q * 100}`]),
    }),
    series({
      title: 'Backlog',
      says: 'Bytes that wait, compressed, and how many may.',
      unit: 'bytes',
      queries: [
        [`max(tailrace_backlog_bytes${own})`, 'waits'],
        [`max(tailrace_backlog_bound_bytes${own})`, 'bound'],
      ],
    }),
    series({
      title: 'Batches that wait',
      says: 'Batches that are not confirmed. A few come and go when all is well.',
      unit: 'short',
      queries: [[`max(tailrace_backlog_batches${own})`, 'batches']],
    }),
  ]
}

function trouble(): Builder<Panel>[] {
  return [
    series({
      title: 'Failed sends',
      says: 'By code. What it means and what to do is in config/reference.md.',
      unit: 'cps',
      queries: [[`sum by (code) (rate(tailrace_batches_retried_total${own}[$__rate_interval]))`, '{{code}}']],
    }),
    series({
      title: 'New dead letters',
      says: 'Events that were set aside, by code.',
      unit: 'cps',
      queries: [[`sum by (code) (rate(tailrace_events_dead_total${own}[$__rate_interval]))`, '{{code}}']],
    }),
    table({
      title: 'Who sends most',
      says: 'Events of the last hour by tenant. A tenant leads to its dashboard.',
      labels: ['tenant'],
      columns: [[`topk(20, sum by (tenant) (increase(tailrace_events_shipped_total${own}[1h])))`, 'Events', 'short']],
      leadsTo: ['tailrace-tenant', 'tenant'],
      sortBy: 'Events',
    }),
    series({
      title: 'Streams that pause for it',
      says: 'Streams that are not read because its backlog is full.',
      unit: 'short',
      queries: [[`sum(max by (job, tenant, stream) (tailrace_stream_paused${own})) or vector(0)`, 'streams']],
    }),
  ]
}
