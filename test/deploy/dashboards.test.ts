// The dashboards: rendered as they are declared, sound, and each query answered by a real Prometheus that watches a
// daemon to which everything happens that the panels show.

import { readdirSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { dashboards, textOf } from '../../src/dashboards/all.ts'
import { declaredMetrics, renderMetrics } from '../../src/metrics-reference.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { fileDestination, openFolder, startProcess, syslogDestination, tenantOf } from '../acceptance/stage.ts'
import type { DaemonProcess } from '../acceptance/stage.ts'
import { startRedis } from '../redis.ts'
import { makeCertificates } from '../ship/certificates.ts'
import { startHttpServer } from '../ship/http-server.ts'
import { hasPrometheus, startPrometheus } from './prometheus.ts'

const folder = new URL('../../deploy/grafana/dashboards/', import.meta.url)
const rulesFile = fileURLToPath(new URL('../../deploy/prometheus/tailrace.rules.yaml', import.meta.url))
const boards = [...dashboards()]

interface Asked {
  readonly board: string
  readonly panel: string
  readonly expr: string
}

/** Every query of every panel. */
const asked: Asked[] = boards.flatMap(([board, { panels = [] }]) =>
  panels.flatMap((panel) =>
    'targets' in panel
      ? (panel.targets ?? []).map((target) => ({
          board,
          panel: panel.title ?? '',
          expr: String(Reflect.get(target, 'expr')),
        }))
      : [],
  ),
)

test('the rendered dashboards are the ones that are declared: npm run dashboards writes them anew', async () => {
  expect(readdirSync(folder).toSorted()).toEqual(boards.map(([name]) => name).toSorted())
  for (const [name, board] of boards) {
    await expect(textOf(board)).toMatchFileSnapshot(fileURLToPath(new URL(name, folder)))
  }
})

test('dashboards can be found, linked to and understood', () => {
  const uids = boards.map(([, { uid }]) => uid)
  expect(uids).toEqual(['tailrace-overview', 'tailrace-tenant', 'tailrace-destination', 'tailrace-service'])
  for (const [, board] of boards) {
    const variables = (board.templating?.list ?? []).map((variable) => String(variable.name))
    expect(variables.slice(0, 2)).toEqual(['datasource', 'job'])
    expect(board.links).toMatchObject([{ tags: board.tags }])
    const panels = board.panels ?? []
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    for (const panel of panels) {
      if (!('targets' in panel)) continue
      expect(panel.description).toMatch(/\w{3}/)
      const text = JSON.stringify(panel)
      expect(panel.type === 'table' || panel.fieldConfig?.defaults.unit).toBeTruthy()
      expect(panel.datasource?.uid).toBe('${datasource}')
      expect(new Set(panel.targets?.map((target) => String(Reflect.get(target, 'refId')))).size).toBe(
        panel.targets?.length,
      )
      for (const [, uid] of text.matchAll(/"\/d\/([\w-]+)\?/g)) expect(uids).toContain(uid)
      const used = [...text.matchAll(/=~?\\"\$(\w+)/g)].map(([, variable = '']) => variable)
      expect(used.filter((variable) => !variables.includes(variable))).toEqual([])
      for (const { expr } of asked.filter((one) => one.panel === panel.title)) expect(expr).toContain('job=~"$job"')
    }
  }
})

test('the metrics that they ask for exist', () => {
  const known = declaredMetrics().flatMap(({ name, type }) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
  )
  for (const { expr } of asked) {
    const names = expr.match(/tailrace_\w+/g) ?? []
    expect(names.filter((name) => !known.includes(name))).toEqual([])
  }
})

test('the provisioning leads to them', () => {
  const read = (name: string): unknown => parse(readFileSync(new URL(`../provisioning/${name}`, folder), 'utf8'))
  expect(read('dashboards/tailrace.yaml')).toMatchObject({
    providers: [{ type: 'file', options: { path: '/var/lib/grafana/dashboards' } }],
  })
  expect(read('datasources/prometheus.yaml')).toMatchObject({ datasources: [{ type: 'prometheus', isDefault: true }] })
})

const tenants = ['acme', 'gap', 'refused', 'stuck']
const destinations = ['out', 'tls', 'down', 'halted']

/** As Grafana asks: with each tenant, or each destination. */
function filledIn({ expr }: Asked): string[] {
  const usual = expr.replaceAll('$job', '.+').replaceAll('$__rate_interval', '10s')
  const names = usual.includes('$tenant') ? tenants : usual.includes('$destination') ? destinations : ['']
  return names.map((name) => usual.replaceAll(/\$(tenant|destination)/g, name))
}

interface Scene extends AsyncDisposable {
  readonly daemon: DaemonProcess
}

/** One daemon to which everything happens at once. */
async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const own = stack.use(await openFolder())
  const redis = stack.use(await startRedis('--maxmemory', '200mb', '--maxmemory-policy', 'noeviction'))
  const certificates = stack.use(await makeCertificates())
  const history = { attacks: 300, spanSeconds: 300 }
  const lateness = { minSeconds: 0, maxSeconds: 2, rareShare: 0.5, rareSeconds: 10 }
  const world = { attacksPerSecond: 20, removalsPerMinute: 600, lateness, history, vulnerabilities: 5 }
  const simulator = stack.use(await startSimulator({ clients: [1, 3], world, closedRanges: 'ignored' }))
  const odd = stack.use(
    await startSimulator({ clients: [2], world: { history }, offsetMax: 50, closedRanges: 'refused' }),
  )
  simulator.faults.inject({ kind: '429', count: 3, retryAfterSeconds: 0 })
  // Takes batches, but for events of one type, which it refuses for good.
  const picky = stack.use(
    await startHttpServer(certificates.server, (response, _request, body) => {
      response.writeHead(body.includes('sqli') ? 400 : 204).end()
    }),
  )
  const closed = stack.use(await startHttpServer(undefined, (response) => response.writeHead(401).end()))
  const streams = { attacks: { every: '1s', overlap: '1m', start: '10m', pageSize: 20 } }
  await mkdir(own.file('tenants'))
  await own.write('tenants/broken.yaml', 'clients: none')
  const config = await own.write('tailrace.yaml', {
    redis: { url: redis.url },
    http: { port: 0 },
    tenants: 'tenants',
    destinations: [
      fileDestination('out', own.file('out')),
      { name: 'tls', sink: 'webhook', url: `https://localhost:${picky.port}/`, tls: { ca: certificates.ca } },
      { ...syslogDestination('down', 1), backlogBytes: '20kb' },
      { name: 'halted', sink: 'webhook', url: `${closed.origin}/` },
    ],
    inlineTenants: [
      {
        ...tenantOf(simulator, { name: 'acme', client: 1, streams: { ...streams, vulnerabilities: { every: '1s' } } }),
        destinations: ['out', 'tls', 'halted'],
      },
      tenantOf(odd, { name: 'gap', client: 2, streams, destinations: ['out'] }),
      tenantOf(simulator, { name: 'refused', client: 1, streams, destinations: ['out'], secret: 'not-the-secret' }),
      tenantOf(simulator, { name: 'stuck', client: 3, streams, destinations: ['down'] }),
    ],
  })
  const daemon = stack.use(startProcess(['run', '--config', config]))
  const kept = stack.move()
  return { daemon, [Symbol.asyncDispose]: async () => kept.disposeAsync() }
}

interface Alert {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** What the scene has in it; the others need hours. */
const provoked = [
  'TailraceTenantBroken',
  'TailraceServiceRefused',
  'TailraceGapDeclared',
  'TailraceDestinationDown',
  'TailraceDestinationHalted',
  'TailraceDestinationRefusesUs',
  'TailraceBacklogFilling',
  'TailraceBacklogFull',
  'TailraceDeadLetters',
]

test.skipIf(!hasPrometheus)(
  'every query is answered by what a daemon exports, and every metric is documented',
  { timeout: 60_000 },
  async () => {
    await using scene = await openScene()
    const url = await scene.daemon.url()
    await using prometheus = await startPrometheus(new URL(url).host, rulesFile)

    let open: readonly Asked[] = asked
    let silent: readonly string[] = provoked
    const alerts = async (): Promise<readonly Alert[]> =>
      ((await prometheus.get('/api/v1/alerts')) as { alerts: Alert[] }).alerts
    for (const until = Date.now() + 40_000; open.length + silent.length > 0 && Date.now() < until; await delay(500)) {
      const still = await Promise.all(
        open.map(async (one) => {
          const counts = await Promise.all(filledIn(one).map(async (expr) => prometheus.count(expr)))
          return counts.every((count) => count === 0)
        }),
      )
      open = open.filter((_, index) => still[index])
      const names = new Set((await alerts()).map(({ labels }) => labels['alertname']))
      silent = silent.filter((name) => !names.has(name))
    }
    expect(open).toEqual([])
    expect(silent).toEqual([])
    for (const { annotations } of await alerts()) {
      expect(Object.values(annotations).join(' ')).not.toMatch(/<no value>|<error|\{\{|NaN/)
    }

    const { groups } = (await prometheus.get('/api/v1/rules')) as { groups: { rules: { health: string }[] }[] }
    // Those of a long interval are still to be evaluated.
    expect(groups.flatMap(({ rules }) => rules.filter(({ health }) => health === 'err'))).toEqual([])
    const exported = (await (await fetch(`${url}/metrics`)).text()).matchAll(/^# HELP (\S+)/gm)
    const documented = renderMetrics()
    for (const [, name = ''] of exported) expect(documented).toContain(`| \`${name}\` |`)
  },
)
