// What Tailrace depends on, and itself: the security service and its limit, Redis, the processes.

import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard'
import type { Board } from './board.ts'
import { series, stat } from './panel.ts'
import { redisMemoryShare, requestShare } from './thresholds.ts'

const all = '{job=~"$job"}'
const requests = `sum by (service_instance) (rate(tailrace_service_requests_total${all}[$__rate_interval]))`
const requestsMax = `max by (service_instance) (tailrace_service_requests_per_second_max${all})`

export const service: Board = {
  uid: 'tailrace-service',
  title: 'Tailrace / Service, Redis and processes',
  says: 'What Tailrace depends on, and itself: the security service and its limit, Redis, the processes.',
  rows: [
    ['Requests to the service', requesting()],
    ['Passes', passes()],
    ['Redis', redis()],
    ['Processes', processes()],
  ],
}

function requesting(): Builder<Panel>[] {
  return [
    series({
      title: 'Requests a second',
      says: 'By instance of the service, and how many it allows. All replicas behind one source address share the limit.',
      unit: 'reqps',
      queries: [
        [requests, '{{service_instance}}'],
        [requestsMax, '{{service_instance}}: limit'],
      ],
    }),
    series({
      title: 'Share of the limit',
      says: 'At the limit reading goes no faster: watermarks fall behind when there is more to read.',
      unit: 'percentunit',
      alarm: requestShare,
      queries: [[`${requests} / ${requestsMax}`, '{{service_instance}}']],
    }),
    series({
      title: 'Answers by status',
      says: 'Status 0: no answer.',
      unit: 'reqps',
      stacked: true,
      queries: [[`sum by (status) (rate(tailrace_service_requests_total${all}[$__rate_interval]))`, '{{status}}']],
    }),
    series({
      title: 'Requests by operation',
      says: 'What is asked for.',
      unit: 'reqps',
      stacked: true,
      queries: [
        [`sum by (operation) (rate(tailrace_service_requests_total${all}[$__rate_interval]))`, '{{operation}}'],
      ],
    }),
    series({
      title: 'Time to the answer',
      says: 'p95 by operation.',
      unit: 's',
      queries: [
        [
          `histogram_quantile(0.95, sum by (le, operation) (rate(tailrace_service_request_duration_seconds_bucket${all}[$__rate_interval])))`,
          '{{operation}}',
        ],
      ],
    }),
    series({
      title: 'Throttled',
      says: 'Times a second that the service asked us to slow down. More than now and then: somebody else shares our source address.',
      unit: 'cps',
      queries: [
        [
          `sum by (service_instance) (rate(tailrace_service_throttled_total${all}[$__rate_interval]))`,
          '{{service_instance}}',
        ],
      ],
    }),
  ]
}

function passes(): Builder<Panel>[] {
  return [
    series({
      title: 'Duration of passes',
      says: 'p95 from the first page of a pass to its end, by stream and purpose. Longer than the interval of the stream: it falls behind.',
      unit: 's',
      queries: [
        [
          `histogram_quantile(0.95, sum by (le, stream, purpose) (rate(tailrace_pass_duration_seconds_bucket${all}[$__rate_interval])))`,
          '{{stream}} {{purpose}}',
        ],
      ],
    }),
    series({
      title: 'Lateness of records',
      says: 'p99 of by how much records came later than newer ones, of those that did. It should be below three quarters of overlap.',
      unit: 's',
      queries: [
        [
          `histogram_quantile(0.99, sum by (le, stream) (rate(tailrace_late_arrival_seconds_bucket${all}[$__rate_interval])))`,
          '{{stream}}',
        ],
      ],
    }),
    series({
      title: 'Late records',
      says: 'Records a second that came later than newer ones.',
      unit: 'cps',
      queries: [[`sum by (stream) (rate(tailrace_late_arrival_seconds_count${all}[$__rate_interval]))`, '{{stream}}']],
    }),
    series({
      title: 'Failed turns',
      says: 'Requests and commits that failed and are tried again, by code.',
      unit: 'cps',
      queries: [[`sum by (code) (rate(tailrace_turns_failed_total${all}[$__rate_interval]))`, '{{code}}']],
    }),
  ]
}

function redis(): Builder<Panel>[] {
  return [
    stat({
      title: 'Redis',
      says: 'Whether it answers every replica.',
      unit: 'short',
      query: `min(tailrace_redis_up${all})`,
      words: { 0: ['down', 'red'], 1: ['up', 'green'] },
      width: 4,
    }),
    series({
      title: 'Memory of Redis',
      says: 'Share of its maxmemory. Reading pauses at 80 %, so that shipping has room to work in. 0: it has no bound.',
      unit: 'percentunit',
      alarm: redisMemoryShare,
      max: 1,
      width: 10,
      queries: [[`max by (job) (tailrace_redis_memory_used_ratio${all})`, '{{job}}']],
    }),
    series({
      title: 'What waits in Redis',
      says: 'Bytes of batches that some destination still owes, as each destination counts them.',
      unit: 'bytes',
      stacked: true,
      width: 10,
      queries: [[`max by (destination) (tailrace_backlog_bytes${all})`, '{{destination}}']],
    }),
  ]
}

function processes(): Builder<Panel>[] {
  return [
    series({
      title: 'Memory',
      says: 'Resident, and the heap of JavaScript. 350 to 400 MB under full load.',
      unit: 'bytes',
      queries: [
        [`tailrace_process_resident_memory_bytes${all}`, '{{instance}}'],
        [`tailrace_nodejs_heap_size_used_bytes${all}`, '{{instance}}: heap'],
      ],
    }),
    series({
      title: 'Lag of the event loop',
      says: 'p99 of what a timer is late. Above 0.1 s for long: the process has more to do than one processor can.',
      unit: 's',
      queries: [[`tailrace_nodejs_eventloop_lag_p99_seconds${all}`, '{{instance}}']],
    }),
    series({
      title: 'Processor',
      says: 'Seconds of processor a second. One replica uses little more than one.',
      unit: 'short',
      queries: [[`rate(tailrace_process_cpu_seconds_total${all}[$__rate_interval])`, '{{instance}}']],
    }),
    series({
      title: 'Age of processes',
      says: 'Since the start. A saw: it restarts again and again.',
      unit: 's',
      queries: [[`time() - tailrace_process_start_time_seconds${all}`, '{{instance}}']],
    }),
  ]
}
