// The alert rules, by Prometheus' own tool: each fires when it should and is silent when it should be.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import * as thresholds from '../../src/dashboards/thresholds.ts'
import type { Threshold } from '../../src/dashboards/thresholds.ts'
import { declaredMetrics } from '../../src/metrics-reference.ts'

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

const file = fileURLToPath(new URL('../../deploy/prometheus/tailrace.rules.yaml', import.meta.url))
const { groups } = parse(readFileSync(file, 'utf8')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const alerts = rules.filter(({ alert }) => alert !== undefined)
const runbook = readFileSync(new URL('../../deploy/runbook.md', import.meta.url), 'utf8')
const hasPromtool = spawnSync('promtool', ['--version']).status === 0

/** Series as promtool writes them, one value each minute: `0+1x10` begins with 0, and adds 1 ten times. */
type Step = '1m' | '30m'
type Series = Readonly<Record<string, string>>

interface Scene {
  readonly alert: string
  readonly fires: Series
  readonly quiet: Series
  /** When it is looked at. */
  readonly at?: string
  /** From one value to the next. Default: a minute. */
  readonly step?: Step
}

const acme = 'job="t",tenant="acme",stream="attacks"'
const soc = 'job="t",destination="soc"'
const well: Series = { 'tailrace_build_info{job="t"}': '1x600' }

const scenes: readonly Scene[] = [
  { alert: 'TailraceDown', fires: { 'up{job="t"}': '0x600' }, quiet: well },
  {
    alert: 'TailraceConfigRefused',
    fires: {
      'tailrace_config_valid{job="t",instance="a"}': '1x600',
      'tailrace_config_valid{job="t",instance="b"}': '0x600',
    },
    quiet: { 'tailrace_config_valid{job="t",instance="a"}': '1x600' },
  },
  {
    alert: 'TailraceTenantBroken',
    fires: { 'tailrace_tenants_broken{job="t"}': '2x600' },
    quiet: { 'tailrace_tenants_broken{job="t"}': '0x600' },
  },
  {
    alert: 'TailracePausedForLong',
    fires: { 'tailrace_paused{job="t",name="tenant:acme"}': '1x100' },
    quiet: { 'tailrace_paused{job="t",name="tenant:acme"}': '1x40 0x60' },
    at: '1500m',
    step: '30m',
  },
  {
    alert: 'TailraceRedisDown',
    fires: { 'tailrace_redis_up{job="t"}': '0x600' },
    quiet: { 'tailrace_redis_up{job="t"}': '1x600' },
  },
  {
    alert: 'TailraceRedisFilling',
    fires: { 'tailrace_redis_memory_used_ratio{job="t"}': '0.75x600' },
    quiet: { 'tailrace_redis_memory_used_ratio{job="t"}': '0.69x600' },
  },
  {
    alert: 'TailraceRedisFull',
    fires: { 'tailrace_redis_memory_used_ratio{job="t"}': '0.81x600' },
    quiet: { 'tailrace_redis_memory_used_ratio{job="t"}': '0.79x600' },
  },
  {
    alert: 'TailraceWatermarkOld',
    fires: { [`tailrace_watermark_age_seconds{${acme}}`]: '1000x600' },
    // Another replica has completed a pass lately.
    quiet: {
      [`tailrace_watermark_age_seconds{${acme},instance="a"}`]: '9000x600',
      [`tailrace_watermark_age_seconds{${acme},instance="b"}`]: '20x600',
    },
  },
  {
    alert: 'TailraceWatermarkVeryOld',
    fires: { [`tailrace_watermark_age_seconds{${acme}}`]: '4000x600' },
    quiet: { [`tailrace_watermark_age_seconds{${acme}}`]: '3500x600' },
  },
  {
    alert: 'TailraceReadingFails',
    fires: { [`tailrace_turns_failed_total{${acme},code="service_timeout"}`]: '0+1x600' },
    quiet: {
      [`tailrace_turns_failed_total{${acme},code="service_timeout"}`]: '3x600',
      [`tailrace_turns_failed_total{${acme},code="service_refused"}`]: '0+1x600',
    },
  },
  {
    alert: 'TailraceServiceRefused',
    // The first time ever, too: the counter begins with 1.
    fires: { [`tailrace_turns_failed_total{${acme},code="service_refused"}`]: '_x55 1x600' },
    quiet: {
      [`tailrace_turns_failed_total{${acme},code="service_refused"}`]: '7x600',
      [`tailrace_turns_failed_total{${acme},code="service_timeout"}`]: '0+1x600',
    },
  },
  {
    alert: 'TailraceGapDeclared',
    fires: { [`tailrace_gaps_total{${acme}}`]: '_x85 1x600' },
    quiet: { [`tailrace_gaps_total{${acme}}`]: '2x600' },
    at: '90m',
  },
  {
    alert: 'TailraceTenantSilent',
    fires: { [`tailrace_events_read_total{${acme},action="created"}`]: '0+30x170 5100x30' },
    // As silent, but it always is; and one that is not silent.
    quiet: {
      [`tailrace_events_read_total{${acme},action="created"}`]: '5x200',
      'tailrace_events_read_total{job="t",tenant="bolt",stream="attacks",action="created"}': '0+30x200',
    },
    at: '5700m',
    step: '30m',
  },
  {
    alert: 'TailraceRateLimitHit',
    // Two replicas share one limit.
    fires: {
      'tailrace_service_requests_total{job="t",service_instance="eu",instance="a"}': '0+15000x600',
      'tailrace_service_requests_total{job="t",service_instance="eu",instance="b"}': '0+14000x600',
      'tailrace_service_requests_per_second_max{job="t",service_instance="eu",instance="a"}': '500x600',
      'tailrace_service_requests_per_second_max{job="t",service_instance="eu",instance="b"}': '500x600',
    },
    quiet: {
      'tailrace_service_requests_total{job="t",service_instance="eu"}': '0+15000x600',
      'tailrace_service_requests_per_second_max{job="t",service_instance="eu"}': '500x600',
    },
  },
  {
    alert: 'TailraceServiceThrottles',
    fires: { 'tailrace_service_throttled_total{job="t",service_instance="eu"}': '0+1x600' },
    quiet: { 'tailrace_service_throttled_total{job="t",service_instance="eu"}': '5x600' },
  },
  {
    alert: 'TailraceDestinationDown',
    fires: { [`tailrace_destination_up{${soc}}`]: '0x600', [`tailrace_destination_halted{${soc}}`]: '0x600' },
    // One that has halted has an alert of its own.
    quiet: { [`tailrace_destination_up{${soc}}`]: '0x600', [`tailrace_destination_halted{${soc}}`]: '1x600' },
  },
  {
    alert: 'TailraceDestinationHalted',
    fires: { [`tailrace_destination_halted{${soc}}`]: '1x600' },
    quiet: { [`tailrace_destination_halted{${soc}}`]: '0x600' },
  },
  {
    alert: 'TailraceDestinationRefusesUs',
    fires: { [`tailrace_batches_retried_total{${soc},code="sink_credentials"}`]: '0x50 1x600' },
    quiet: {
      [`tailrace_batches_retried_total{${soc},code="sink_credentials"}`]: '0x600',
      [`tailrace_batches_retried_total{${soc},code="sink_timeout"}`]: '0+1x600',
    },
  },
  {
    alert: 'TailraceDeliveryStalls',
    fires: {
      [`tailrace_backlog_batches{${soc}}`]: '3x600',
      [`tailrace_destination_up{${soc}}`]: '1x600',
      [`tailrace_events_shipped_total{${soc},tenant="acme",stream="attacks"}`]: '7x600',
    },
    quiet: {
      [`tailrace_backlog_batches{${soc}}`]: '3x600',
      [`tailrace_events_shipped_total{${soc},tenant="acme",stream="attacks"}`]: '0+1x600',
      // What is down has an alert of its own, and what a person has paused needs none.
      'tailrace_backlog_batches{job="t",destination="down"}': '3x600',
      'tailrace_destination_up{job="t",destination="down"}': '0x600',
      'tailrace_backlog_batches{job="t",destination="paused"}': '3x600',
      'tailrace_paused{job="t",name="destination:paused"}': '1x600',
    },
  },
  ...(['TailraceBacklogFilling', 'TailraceBacklogFull'] as const).map((alert) => ({
    alert,
    fires: { [`tailrace_backlog_bytes{${soc}}`]: '950x600', [`tailrace_backlog_bound_bytes{${soc}}`]: '1000x600' },
    quiet: { [`tailrace_backlog_bytes{${soc}}`]: '650x600', [`tailrace_backlog_bound_bytes{${soc}}`]: '1000x600' },
  })),
  {
    alert: 'TailraceDeadLetters',
    fires: { [`tailrace_dead_letters{${soc}}`]: '1x600' },
    quiet: { [`tailrace_dead_letters{${soc}}`]: '0x600' },
  },
  ...(
    [
      ['TailraceCertificateExpires', 20],
      ['TailraceCertificateExpiresSoon', 6],
    ] as const
  ).map(([alert, days]) => ({
    alert,
    // Time begins with 0 there.
    fires: { [`tailrace_destination_certificate_expiry_timestamp_seconds{${soc}}`]: `${days * 86_400}x600` },
    quiet: { [`tailrace_destination_certificate_expiry_timestamp_seconds{${soc}}`]: `${(days + 2) * 86_400}x600` },
    at: '70m',
  })),
]

function testOf(input: Series, { alert, at = '60m', step = '1m' }: Scene, firing: boolean): object {
  return {
    interval: step,
    input_series: Object.entries(input).map(([series, values]) => ({ series, values })),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
        eval_time: at,
        exp_samples: firing ? [{ labels: '{}', value: 1 }] : [],
      },
    ],
  }
}

test.skipIf(!hasPromtool)('promtool finds nothing to object to', () => {
  const checked = spawnSync('promtool', ['check', 'rules', '--lint-fatal', file], { encoding: 'utf8' })
  expect(checked).toMatchObject({ status: 0, stderr: '' })
  const config = fileURLToPath(new URL('../../deploy/prometheus/prometheus.yml', import.meta.url))
  expect(spawnSync('promtool', ['check', 'config', config], { encoding: 'utf8' })).toMatchObject({ status: 0 })
})

test.skipIf(!hasPromtool)(
  'each alert fires when it should, and is silent when it should be',
  { timeout: 60_000 },
  async () => {
    expect(new Set(scenes.map(({ alert }) => alert))).toEqual(new Set(alerts.map(({ alert }) => alert)))
    const folder = await mkdtemp(join(tmpdir(), 'tailrace-alerts-'))
    try {
      for (const step of ['1m', '30m'] as const) {
        const some = scenes.filter((scene) => (scene.step ?? '1m') === step)
        const tests = some.flatMap((scene) => [testOf(scene.fires, scene, true), testOf(scene.quiet, scene, false)])
        const path = join(folder, 'tests.yaml')
        // Evaluated every 5 minutes: promtool takes its time for each.
        await writeFile(
          path,
          JSON.stringify({ rule_files: [file], evaluation_interval: step === '1m' ? '5m' : step, tests }),
        )
        const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', path], { encoding: 'utf8' })
        expect({ status, stdout, stderr }).toMatchObject({ status: 0, stderr: '' })
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)

test('each alert says what it means, how bad it is, and where to read on', () => {
  for (const { labels, annotations = {} } of alerts) {
    expect(['warning', 'critical']).toContain(labels?.['severity'])
    expect(Object.keys(annotations)).toEqual(['summary', 'impact', 'runbook'])
    const [, anchor = ''] = /^deploy\/runbook\.md#([a-z]+)$/.exec(annotations['runbook'] ?? '') ?? []
    const headings = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name.toLowerCase())
    expect(headings).toContain(anchor)
  }
})

test('the metrics that they ask for exist', () => {
  const known = new Set(declaredMetrics().map(({ name }) => name))
  const recorded = new Set(rules.map(({ record }) => record))
  for (const { expr } of rules) {
    const names = expr.match(/(?:tenant:)?tailrace_\w+(?::\w+)?/g) ?? []
    expect(names.filter((name) => !known.has(name) && !recorded.has(name))).toEqual([])
  }
})

test('the dashboards draw their lines where the alerts fire', () => {
  const bounds = (name: string): number => Number(/[<>] (?<bound>[\d.]+)\s*$/.exec(exprOf(name))?.groups?.['bound'])
  const pairs: [Threshold, string, string?][] = [
    [thresholds.watermarkAge, 'TailraceWatermarkOld', 'TailraceWatermarkVeryOld'],
    [thresholds.backlogShare, 'TailraceBacklogFilling', 'TailraceBacklogFull'],
    [thresholds.redisMemoryShare, 'TailraceRedisFilling', 'TailraceRedisFull'],
    [thresholds.requestShare, 'TailraceRateLimitHit'],
    [thresholds.certificateDays, 'TailraceCertificateExpires', 'TailraceCertificateExpiresSoon'],
    [thresholds.deadLetters, 'TailraceDeadLetters'],
  ]
  expect(new Set(pairs.map(([threshold]) => threshold))).toEqual(new Set(Object.values(thresholds)))
  for (const [{ warning, critical }, warns, wakes] of pairs) {
    expect([bounds(warns), wakes && bounds(wakes)]).toEqual([warning, critical])
  }
})

function exprOf(name: string): string {
  return alerts.find(({ alert }) => alert === name)?.expr ?? ''
}
