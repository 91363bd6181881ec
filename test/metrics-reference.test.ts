import { expect, test } from 'vitest'
import { declaredMetrics, renderMetrics } from '../src/metrics-reference.ts'
import { createReport } from '../src/telemetry/create-report.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { logInMemory, reportNormal, reportTrouble } from './telemetry/facts.ts'

test.skipIf(process.platform !== 'linux')(
  'the reference of the metrics is the one that is rendered: run vitest -u to write it anew',
  async () => {
    await expect(renderMetrics()).toMatchFileSnapshot('../config/metrics.md')
  },
)

test('every series that comes of any fact has its metric and all of its labels there', async () => {
  const metrics = createMetrics({ version: '1' })
  const report = createReport({ metrics, log: logInMemory('silent').log })
  reportNormal(report)
  reportTrouble(report)
  const labels = new Map(declaredMetrics().map(({ name, labelNames }) => [name, new Set<string>(labelNames)]))
  const text = renderMetrics()
  for (const { name, values } of await metrics.registry.getMetricsAsJSON()) {
    expect(text).toContain(`| \`${name}\` |`)
    for (const value of values) {
      const own = Object.keys(value.labels).filter((label) => label !== 'le' && label !== 'quantile')
      expect(own.filter((label) => labels.get(name)?.has(label) !== true && !name.includes('nodejs'))).toEqual([])
    }
  }
})
