// All tenants and destinations at a glance: is everything well, and if not, where to look.

import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard'
import type { Board } from './board.ts'
import { rise, series, stat, table } from './panel.ts'
import { backlogShare, certificateDays, deadLetters, redisMemoryShare, watermarkAge } from './thresholds.ts'

// Each replica tells the watermarks that it has moved itself: the youngest counts.
const ages = 'min by (job, tenant, stream) (tailrace_watermark_age_seconds{job=~"$job"})'
const backlog =
  'max by (job, destination) (tailrace_backlog_bytes{job=~"$job"}) / max by (job, destination) (tailrace_backlog_bound_bytes{job=~"$job"})'
const good = 'green'
const bad = 'red'

export const overview: Board = {
  uid: 'tailrace-overview',
  title: 'Tailrace / Overview',
  says: 'Is everything read, and does everything arrive? Tables lead on to one tenant or destination.',
  rows: [
    ['At a glance', glance()],
    ['Events', events()],
    ['Who is behind', behind()],
    ['What fails', failures()],
  ],
}

function glance(): Builder<Panel>[] {
  return [
    stat({
      title: 'Oldest watermark',
      says: 'How far the stream that is furthest behind is known to be complete. Near its interval when all is well.',
      unit: 's',
      query: `max(${ages})`,
      alarm: watermarkAge,
    }),
    stat({
      title: 'Destinations not up',
      says: 'Down or halted: their events wait.',
      unit: 'short',
      query: 'sum(1 - min by (job, destination) (tailrace_destination_up{job=~"$job"}))',
      alarm: { warning: 0 },
    }),
    stat({
      title: 'Fullest backlog',
      says: 'Share of the bound. When it is full, the streams that feed it are not read any more.',
      unit: 'percentunit',
      query: `max(${backlog})`,
      alarm: backlogShare,
    }),
    stat({
      title: 'Dead letters',
      says: 'Events that a destination refused for good, kept until somebody sees to them.',
      unit: 'short',
      query: 'sum(max by (job, destination) (tailrace_dead_letters{job=~"$job"}))',
      alarm: deadLetters,
    }),
    stat({
      title: 'Configuration',
      says: 'Whether the files as they are now are in force.',
      unit: 'short',
      query: 'min(tailrace_config_valid{job=~"$job"})',
      words: { 0: ['refused', bad], 1: ['in force', good] },
    }),
    stat({
      title: 'Broken tenants',
      says: 'Tenants whose files are wrong.',
      unit: 'short',
      query: 'max(tailrace_tenants_broken{job=~"$job"})',
      alarm: { warning: 0 },
    }),
    stat({
      title: 'Redis',
      says: 'Whether it answers every replica.',
      unit: 'short',
      query: 'min(tailrace_redis_up{job=~"$job"})',
      words: { 0: ['down', bad], 1: ['up', good] },
    }),
    stat({
      title: 'Memory of Redis',
      says: 'Share of its maxmemory. Reading pauses at 80 %. 0: it has no bound.',
      unit: 'percentunit',
      query: 'max(tailrace_redis_memory_used_ratio{job=~"$job"})',
      alarm: redisMemoryShare,
    }),
  ]
}

function events(): Builder<Panel>[] {
  return [
    series({
      title: 'Read',
      says: 'New events a second, by what happened to the record.',
      unit: 'cps',
      stacked: true,
      queries: [['sum by (action) (rate(tailrace_events_read_total{job=~"$job"}[$__rate_interval]))', '{{action}}']],
    }),
    series({
      title: 'Shipped',
      says: 'Events a second that were confirmed, by destination. In the long run each gets what is read for it.',
      unit: 'cps',
      stacked: true,
      queries: [
        [
          'sum by (destination) (rate(tailrace_events_shipped_total{job=~"$job"}[$__rate_interval]))',
          '{{destination}}',
        ],
      ],
    }),
    series({
      title: 'Delay of delivery',
      says: 'From the time of an event to its confirmation, of the oldest event in each send. A back-fill delivers old events: it shows here, too.',
      unit: 's',
      queries: [0.5, 0.95, 0.99].map((share) => [
        `histogram_quantile(${share}, sum by (le) (rate(tailrace_delivery_delay_seconds_bucket{job=~"$job"}[$__rate_interval])))`,
        `p${share * 100}`,
      ]),
    }),
    series({
      title: 'Age of watermarks',
      says: 'The ten streams that are furthest behind.',
      unit: 's',
      alarm: watermarkAge,
      queries: [[`topk(10, ${ages})`, '{{tenant}}/{{stream}}']],
    }),
    series({
      title: 'Backlog',
      says: 'Share of the bound of each destination.',
      unit: 'percentunit',
      alarm: backlogShare,
      max: 1,
      queries: [[backlog, '{{destination}}']],
    }),
    series({
      title: 'Streams that pause',
      says: 'Streams that are not read because a backlog, or the memory of Redis, is full, by what is full.',
      unit: 'short',
      queries: [
        [
          'sum by (destination) (max by (job, tenant, stream, destination) (tailrace_stream_paused{job=~"$job"}))',
          '{{destination}}',
        ],
      ],
    }),
  ]
}

function behind(): Builder<Panel>[] {
  return [
    table({
      title: 'Streams that are furthest behind',
      says: 'The twenty oldest watermarks. A tenant leads to its dashboard.',
      labels: ['tenant', 'stream'],
      columns: [[`topk(20, ${ages})`, 'Watermark age', 's', watermarkAge]],
      leadsTo: ['tailrace-tenant', 'tenant'],
      sortBy: 'Watermark age',
    }),
    table({
      title: 'Destinations',
      says: 'What waits, and what was set aside. A destination leads to its dashboard.',
      labels: ['destination'],
      columns: [
        ['min by (destination) (tailrace_destination_up{job=~"$job"})', 'Up', 'bool_on_off'],
        [`max by (destination) (${backlog})`, 'Backlog', 'percentunit', backlogShare],
        ['max by (destination) (tailrace_backlog_batches{job=~"$job"})', 'Batches', 'short'],
        ['max by (destination) (tailrace_dead_letters{job=~"$job"})', 'Dead letters', 'short', deadLetters],
      ],
      leadsTo: ['tailrace-destination', 'destination'],
      sortBy: 'Backlog',
    }),
  ]
}

function failures(): Builder<Panel>[] {
  return [
    series({
      title: 'Errors',
      says: 'Failures a second by code. config/reference.md says of each code what it means and what to do.',
      unit: 'cps',
      queries: [['sum by (code) (rate(tailrace_errors_total{job=~"$job"}[$__rate_interval])) > 0', '{{code}}']],
    }),
    table({
      title: 'Tenants whose reading fails',
      says: 'Failed turns of the last hour, by code. service_refused: its credentials. A tenant leads to its dashboard.',
      labels: ['tenant', 'stream', 'code'],
      columns: [
        [
          `topk(20, sum by (tenant, stream, code) (${rise('tailrace_turns_failed_total{job=~"$job"}', '1h')}))`,
          'Failures',
          'short',
        ],
      ],
      leadsTo: ['tailrace-tenant', 'tenant'],
      sortBy: 'Failures',
    }),
    stat({
      title: 'Gaps',
      says: 'Declared since the replicas started: records that could not be read.',
      unit: 'short',
      query: 'sum(tailrace_errors_total{job=~"$job", code="stream_gap"})',
      alarm: { warning: 0 },
    }),
    stat({
      title: 'Paused by a person',
      says: 'Tenants, streams and destinations. `tailrace pause list` says since when and why.',
      unit: 'short',
      query: 'sum(max by (job, name) (tailrace_paused{job=~"$job"})) or vector(0)',
      alarm: { warning: 0 },
    }),
    stat({
      title: 'Replicas',
      says: 'That Prometheus reaches.',
      unit: 'short',
      query: 'count(tailrace_build_info{job=~"$job"})',
    }),
    stat({
      title: 'Without confirmation',
      says: 'Destinations whose receivers confirm nothing: what counts as delivered there has only been sent.',
      unit: 'short',
      query: 'sum(1 - min by (job, destination) (tailrace_destination_confirms{job=~"$job"}))',
      words: { 0: ['none', good] },
      alarm: { warning: 0 },
    }),
    stat({
      title: 'Certificates',
      says: 'Days until the first certificate of a destination ends.',
      unit: 'd',
      query: '(min(tailrace_destination_certificate_expiry_timestamp_seconds{job=~"$job"}) - time()) / 86400',
      alarm: certificateDays,
    }),
  ]
}
