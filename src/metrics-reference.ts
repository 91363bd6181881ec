// Renders the reference of the metrics from their declarations: `config/metrics.md`.

import { code, table } from './markdown.ts'
import { createMetrics } from './telemetry/metrics.ts'

/** As prom-client keeps what was declared; its own type of a metric does not tell the labels and the type. */
interface Declared {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly labelNames: readonly string[]
}

/** Every metric that a daemon can export, in the order of declaration. */
export function declaredMetrics(): readonly Declared[] {
  return createMetrics({ version: '' }).registry.getMetricsAsArray() as unknown as readonly Declared[]
}

/** Of the process and of Node.js, as prom-client has them. */
const ofProcess = /^tailrace_(process|nodejs)_/

/** Markdown. What there is of the process depends on the system; on Linux it is the same everywhere. */
export function renderMetrics(): string {
  const all = declaredMetrics()
  const parts = [
    introduction,
    table(['metric', 'type', 'labels', 'what it tells'], all.filter(({ name }) => !ofProcess.test(name)).map(row)),
    '## Of the process',
    'As the library prom-client has them, on Linux.',
    table(['metric', 'type', 'labels', 'what it tells'], all.filter(({ name }) => ofProcess.test(name)).map(row)),
  ]
  return `${parts.join('\n\n')}\n`
}

const introduction = `# Metrics

<!-- Rendered from the declarations by \`npm run reference\`. Do not edit. -->

Served at \`/metrics\` for Prometheus. The dashboards in \`deploy/grafana\` show them, and the alerts in
\`deploy/prometheus\` watch them.

- A **counter** counts from the start of a replica: use \`rate()\` or \`increase()\`, and sum over the replicas.
- A **gauge** is as it is now. Those of a destination's backlog and dead letters, and of Redis, are the same on every
  replica: use \`max\`. Of \`tailrace_watermark_age_seconds\` the youngest counts, for each replica knows only the
  passes that it has completed itself: use \`min\`. Of \`tailrace_destination_up\` use \`min\`: each replica sends.
- A **histogram** has the series \`_bucket\`, \`_sum\` and \`_count\`.
- What is no longer configured is no longer exported. Values of \`operation\` and \`purpose\` are bounded in number; what
  comes beyond counts as \`other\`.
- The label \`code\` has the codes of [reference.md](reference.md#errors).`

function row({ name, type, labelNames, help }: Declared): string[] {
  return [code(name), type, labelNames.map(code).join(', '), help]
}
