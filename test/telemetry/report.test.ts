import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import { createReport } from '../../src/telemetry/create-report.ts'
import { boundedLabel, createMetrics } from '../../src/telemetry/metrics.ts'
import { scrub } from '../../src/telemetry/scrub.ts'
import { destination, logInMemory, reportNormal, reportTrouble, stream, unreachable } from './facts.ts'

const secret = 'x7Kq9-hunter2-Zz'

function setUp(level: 'trace' | 'debug' | 'info' | 'warn' = 'debug') {
  const clock = { ms: 1_700_000_000_000 }
  const now = () => clock.ms
  const metrics = createMetrics({ version: '1.2.3', now })
  const memory = logInMemory(level)
  const value = async (name: string) => {
    const lines = (await metrics.registry.metrics()).split('\n')
    return lines.find((line) => line.startsWith(`tailrace_${name}`))?.replace(/.* /, '')
  }
  return { clock, now, metrics, value, ...memory, report: createReport({ metrics, log: memory.log, now }) }
}

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

test.skipIf(!hasPromtool)('promtool finds nothing to object to', async () => {
  const { metrics, report } = setUp()
  reportNormal(report)
  reportTrouble(report)
  const found = spawnSync('promtool', ['check', 'metrics'], {
    input: await metrics.registry.metrics(),
    encoding: 'utf8',
  })
  expect(found).toMatchObject({ status: 0, stdout: '', stderr: '' })
})

test('every metric has a help, the prefix, and what the design asks for is there', async () => {
  const { metrics, report } = setUp()
  reportNormal(report)
  reportTrouble(report)
  for (const { name, help } of metrics.registry.getMetricsAsArray()) {
    expect(name).toMatch(/^tailrace_[a-z0-9_]+$/)
    expect(help).toMatch(/\S{3}/)
  }
  const text = await metrics.registry.metrics()
  for (const sample of [
    'events_read_total{tenant="acme",stream="attacks",action="created"} 3',
    'records_known_total{tenant="acme",stream="attacks"} 10',
    'events_shipped_total{tenant="acme",stream="attacks",destination="soc"} 5',
    'batches_retried_total{destination="soc",code="sink_unreachable"} 1',
    'dead_letters{destination="soc"} 0',
    'backlog_batches{destination="soc"} 1',
    'backlog_bytes{destination="soc"} 400',
    'destination_up{destination="soc"} 0',
    'watermark_age_seconds{tenant="acme",stream="attacks"} ',
    'pass_duration_seconds_count{stream="attacks",purpose="live"} 1',
    'late_arrival_seconds_sum{stream="attacks"} 7',
    'service_requests_total{service_instance="eu",operation="readAttacks",status="200"} 1',
    'service_request_duration_seconds_count{service_instance="eu",operation="readAttacks"} 2',
    'service_requests_per_second_max{service_instance="eu"} 500',
    'service_throttled_total{service_instance="eu"} 1',
    'turns_failed_total{tenant="acme",stream="attacks",code="service_timeout"} 1',
    'backlog_bound_bytes{destination="soc"} 1000',
    'destination_halted{destination="soc"} 1',
    'destination_certificate_expiry_timestamp_seconds{destination="soc"} ',
    'redis_memory_used_ratio 0.25',
    'errors_total{code="redis_full"} 0',
    'ship_duration_seconds_sum{destination="soc"} 0.012',
    'delivery_delay_seconds_sum{destination="soc"} 6',
    'errors_total{code="service_timeout"} 1',
    'build_info{version="1.2.3",',
    'process_cpu_seconds_total ',
  ]) {
    expect(text).toContain(`\ntailrace_${sample}`)
  }
})

test('the age of a watermark grows by itself, by the clock of the service', async () => {
  const { clock, report, value } = setUp()
  // The service is 60 s ahead of us, and complete up to 10 s before its now.
  report.watermarkMoved({ ...stream, completeAt: clock.ms + 60_000 - 10_000, clockSkewMs: 60_000 })
  expect(await value('watermark_age_seconds{')).toBe('10')
  clock.ms += 5_000
  expect(await value('watermark_age_seconds{')).toBe('15')
})

test('normal operation logs nothing above info, and says little of that', () => {
  const { report, lines } = setUp('info')
  reportNormal(report)
  expect(lines().map(({ level }) => level)).toEqual(Array<string>(7).fill('info'))
})

test('each trouble is logged at the level of what a person must do', () => {
  const { report, lines } = setUp('info')
  reportTrouble(report)
  const levels = Object.fromEntries(lines().map(({ msg, level }) => [msg.split(':')[0], level]))
  expect(levels).toEqual({
    'paused by a person': 'info',
    'reading failed': 'warn',
    'reading pauses': 'warn',
    'records could not be read; a gap is declared': 'error',
    'sending failed': 'warn',
    'event set aside as a dead letter': 'error',
    'the configuration was refused': 'error',
    'the destination has stopped; someone must look': 'error',
    'the destination is no longer configured': 'info',
    'the stream is no longer configured': 'info',
    'Redis does not answer; everything waits': 'warn',
    'something failed': 'error',
  })
})

test('the same failure is told once, then summed up each minute, and anew after it was over', () => {
  const { clock, report, lines } = setUp('info')
  const fail = (error = unreachable) => report.sendFailed({ destination, error, events: 1, retryMs: 100 })
  for (let times = 0; times < 590; times++, clock.ms += 100) fail()
  expect(lines()).toHaveLength(1)
  fail(new TailraceError('sink_timeout', 'another failure'))
  expect(lines()).toHaveLength(2)
  clock.ms += 1_000
  fail()
  expect(lines()[2]).toMatchObject({ level: 'warn', repeated: 589, msg: expect.stringContaining('589 more times') })
  fail()
  expect(lines()).toHaveLength(3)
  report.destinationChanged({ destination, state: 'up', reason: null })
  fail()
  expect(lines()[4]).toMatchObject({ level: 'warn', error: { code: 'sink_unreachable' } })
})

test('a secret in a cause, a message or a field is not logged', () => {
  const { report, log, text } = setUp('trace')
  const cause = Object.assign(new Error(`AUTH tailrace ${secret}`), {
    command: { name: 'auth', args: [secret] },
    headers: { authorization: secret },
    code: 'ECONNRESET',
  })
  const wrapped = new Error('outer', { cause })
  report.failed({ error: new TailraceError('internal', 'refused', { cause: wrapped }), during: 'start' })
  report.failed({ error: new TailraceError('redis_unreachable', 'no answer', { cause }), during: 'start' })
  for (const leak of [`Authorization: Bearer ${secret}`, `redis://user:${secret}@host`, `{"token":"${secret}"}`]) {
    report.turnFailed({ ...stream, error: new TailraceError('internal', leak), failures: 1, retryMs: 1 })
    report.destinationChanged({ destination, state: 'down', reason: leak })
  }
  log.info({ password: secret, options: { token: secret }, request: { headers: { cookie: secret } } }, 'redacted')
  expect(text()).toContain('ECONNRESET')
  expect(text()).not.toContain(secret)
})

test('what the configuration knows as secret is hidden wherever it turns up', () => {
  const { log, text, lines } = logInMemory('info', { secrets: () => [`quo"te ${secret}`] })
  log.info({ anything: `before quo"te ${secret} after` }, `quo"te ${secret}`)
  expect(text()).not.toContain(secret)
  expect(lines()[0]).toMatchObject({ anything: 'before *** after', msg: '***' })
})

test.for([
  ['connect ECONNREFUSED 127.0.0.1:6379', 'connect ECONNREFUSED 127.0.0.1:6379'],
  ['rediss://tailrace:pw@redis:6379/0 is gone', 'rediss://***@redis:6379/0 is gone'],
  ['X-Api-Secret: abc, next', 'X-Api-Secret: ***, next'],
  ['{"password":"a b","user":"me"}', '{"password":***,"user":"me"}'],
  ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: Basic ***'],
  ['token=abc&x=1', 'token=***'],
] as const)('scrubs %s', ([text, clean], { expect }) => {
  expect(scrub(text)).toBe(clean)
  expect(scrub(clean)).toBe(clean)
})

test.for(['a', 'a.', 'a://', 'token', 'token=', '"'])('scrubs a long run of %s quickly', (part, { expect }) => {
  const begun = performance.now()
  expect(scrub(part.repeat(100_000)).length).toBeLessThanOrEqual(2_001)
  expect(performance.now() - begun).toBeLessThan(100)
})

test('no fact throws, whatever the numbers', () => {
  const { report, lines } = setUp()
  report.pageCommitted({ ...stream, created: NaN, updated: -1, closed: 0, known: NaN, late: [Infinity, NaN] })
  report.eventsShipped({ ...stream, destination, events: NaN, bytes: -1, ms: NaN, delayMs: -5 })
  report.gapDeclared({ ...stream, from: NaN, to: 1e99, reason: '' })
  report.watermarkMoved({ ...stream, completeAt: NaN, clockSkewMs: 0 })
  expect(lines()).toHaveLength(3)
})

test('labels from outside are bounded', () => {
  const label = boundedLabel(2)
  expect(['a', 'b', 'c', 'a'].map(label)).toEqual(['a', 'b', 'other', 'a'])
})

test('writes JSON to stdout, all of it before the process ends', () => {
  const file = join(import.meta.dirname, '../../src/telemetry/log.ts')
  const code = `import { createLog } from ${JSON.stringify(file)}
    const log = createLog({ level: 'info' }); log.info('first'); log.warn('last')`
  const out = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' })
  expect(
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  ).toMatchObject([
    { level: 'info', msg: 'first' },
    { level: 'warn', msg: 'last' },
  ])
})
