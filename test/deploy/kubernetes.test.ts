// deploy/kubernetes against the schemas of Kubernetes, and what it promises beyond them. Objects are taken from the
// files; where kubectl is installed, what Kustomize makes of them is judged as well.

import { execFile, spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Namespace, Service, ServiceAccount } from 'kubernetes-models/v1'
import type { IPodSpec } from 'kubernetes-models/v1'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { registers } from '../../src/commands/registers.ts'
import { loadConfig } from '../../src/config.ts'
import { startRedis } from '../redis.ts'

const root = new URL('../../deploy/kubernetes', import.meta.url).pathname
const project = resolve(root, '../..')
const example = join(root, 'overlays/example')

/** Kinds whose schema is known: module of kubernetes-models, and the class that validates. */
const models = {
  ConfigMap: ['v1', ConfigMap],
  Deployment: ['apps/v1', Deployment],
  Namespace: ['v1', Namespace],
  NetworkPolicy: ['networking.k8s.io/v1', NetworkPolicy],
  PodDisruptionBudget: ['policy/v1', PodDisruptionBudget],
  Service: ['v1', Service],
  ServiceAccount: ['v1', ServiceAccount],
  StatefulSet: ['apps/v1', StatefulSet],
} as const

/** Those that are not Kubernetes' own: see below for what is asked of them. */
const custom = ['ScaledObject', 'ServiceMonitor']

interface Resource {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> }
  readonly spec?: {
    readonly template?: { readonly metadata: object; readonly spec: IPodSpec }
    [option: string]: unknown
  }
}

interface Kustomization {
  readonly kind: string
  readonly resources?: readonly string[]
  readonly components?: readonly string[]
  readonly configMapGenerator?: readonly { readonly name: string; readonly files: readonly string[] }[]
  readonly patches?: readonly {
    readonly path?: string
    readonly target: { readonly kind: string; readonly name: string }
  }[]
}

function resourcesIn(text: string): Resource[] {
  return parseAllDocuments(text, { uniqueKeys: true, schema: 'core' }).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS() as Resource
  })
}

const kustomizations = await Promise.all(
  globSync(join(root, '**/kustomization.yaml')).map(async (file) => ({
    folder: dirname(file),
    content: parse(await readFile(file, 'utf8')) as Kustomization,
  })),
)

const sources = kustomizations.flatMap(({ folder, content }) =>
  (content.resources ?? []).filter((name) => name.endsWith('.yaml')).map((name) => join(folder, name)),
)
const resources = (await Promise.all(sources.map(async (file) => resourcesIn(await readFile(file, 'utf8'))))).flat()

function find(kind: string, name = 'tailrace'): Resource {
  const found = resources.find((one) => one.kind === kind && one.metadata.name === name)
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`)
  return found
}

const pods = resources.flatMap(({ kind, metadata, spec }) =>
  spec?.template === undefined ? [] : [{ name: `${kind} ${metadata.name}`, template: spec.template }],
)

function isKnown(kind: string): kind is keyof typeof models {
  return Object.hasOwn(models, kind)
}

function validate(resource: Resource): void {
  expect([...Object.keys(models), ...custom]).toContain(resource.kind)
  if (!isKnown(resource.kind)) return
  const [version, Model] = models[resource.kind]
  expect(resource.apiVersion).toBe(version)
  // The classes fill in kind and version; the data are checked against the schema of OpenAPI.
  new Model(resource as never).validate()
}

test('every file belongs to something, and everything that is named exists', () => {
  const used = new Set(sources)
  for (const { folder, content } of kustomizations) {
    used.add(join(folder, 'kustomization.yaml'))
    const named = [
      ...(content.resources ?? []),
      ...(content.patches ?? []).flatMap(({ path }) => path ?? []),
      ...(content.configMapGenerator ?? []).flatMap(({ files }) => files),
    ]
    for (const name of named.filter((one) => /\.\w+$/.test(one))) used.add(join(folder, name))
    const folders = [...(content.resources ?? []), ...(content.components ?? [])].filter((one) => !/\.\w+$/.test(one))
    for (const name of folders) expect(kustomizations.map((one) => one.folder)).toContain(resolve(folder, name))
    for (const { target } of content.patches ?? []) find(target.kind, target.name)
  }
  const there = globSync(join(root, '**/*.yaml'))
  expect([...used].map((file) => relative(root, file)).toSorted()).toEqual(
    there.map((file) => relative(root, file)).toSorted(),
  )
})

test('the objects are as the schemas of Kubernetes want them', () => {
  expect(resources.length).toBeGreaterThan(8)
  for (const resource of resources) validate(resource)
})

// The schemas let unknown fields pass, and so would a cluster, with a warning. The types do not.
test('no object has a field that Kubernetes does not know', async () => {
  await mkdir(join(project, 'node_modules/.cache'), { recursive: true })
  const folder = await mkdtemp(join(project, 'node_modules/.cache/tailrace-kubernetes-'))
  try {
    const known = resources.filter(({ kind }) => isKnown(kind))
    const lines = known.flatMap((resource, index) => {
      const [version] = isKnown(resource.kind) ? models[resource.kind] : ['']
      return [
        `import type { I${resource.kind} as T${index} } from 'kubernetes-models/${version}'`,
        `export const o${index}: T${index} = ${JSON.stringify(resource)}`,
      ]
    })
    await writeFile(join(folder, 'objects.ts'), lines.join('\n'))
    const options = { module: 'nodenext', noEmit: true, strict: true, skipLibCheck: true, target: 'esnext', types: [] }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['objects.ts'] }))
    const tsc = join(project, 'node_modules/.bin/tsc')
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '--project', folder]).catch(
      (error: { stdout: string }) => error,
    )
    expect(stdout).toBe('')
  } finally {
    await rm(folder, { recursive: true })
  }
}, 60_000)

describe.each(pods)('$name', ({ template }) => {
  const { spec } = template

  test('fits the restricted Pod Security Standard', () => {
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(spec.hostNetwork ?? spec.hostPID ?? spec.hostIPC ?? false).toBe(false)
    for (const container of spec.containers) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        privileged: false,
        capabilities: { drop: ['ALL'] },
      })
      expect(container.ports?.every(({ hostPort }) => hostPort === undefined)).toBe(true)
    }
    const allowed = ['configMap', 'secret', 'emptyDir', 'name', 'persistentVolumeClaim', 'projected']
    expect(
      (spec.volumes ?? []).flatMap((volume) => Object.keys(volume)).filter((key) => !allowed.includes(key)),
    ).toEqual([])
  })

  test('has neither a token nor the variables of services', () => {
    expect(spec.automountServiceAccountToken).toBe(false)
    expect(spec.enableServiceLinks).toBe(false)
  })

  test('has bounds, probes and a pinned image', () => {
    for (const { image, resources: bounds, livenessProbe, readinessProbe, startupProbe } of spec.containers) {
      expect(image).toMatch(/:\d+\.\d+\.\d+/)
      expect(bounds?.requests).toMatchObject({ cpu: expect.anything(), memory: expect.anything() })
      expect(bounds?.limits).toMatchObject({ memory: expect.anything() })
      for (const probe of [livenessProbe, readinessProbe, startupProbe]) expect(probe).toBeDefined()
    }
    const unbounded = (spec.volumes ?? []).filter(({ emptyDir }) => emptyDir !== undefined && !emptyDir.sizeLimit)
    expect(unbounded).toEqual([])
  })

  test('has secrets as files of folders, so that changed ones arrive', () => {
    for (const { env, envFrom, volumeMounts } of spec.containers) {
      expect(envFrom).toBeUndefined()
      expect(env?.filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined) ?? []).toEqual([])
      expect(volumeMounts?.filter(({ subPath }) => subPath !== undefined)).toEqual([])
    }
    const volumes = new Set((spec.volumes ?? []).map(({ name }) => name))
    const mounted = spec.containers.flatMap(({ volumeMounts }) => (volumeMounts ?? []).map(({ name }) => name))
    expect(mounted.filter((name) => name !== 'data' && !volumes.has(name))).toEqual([])
  })
})

test('the daemon is probed where it answers, and has the time that it needs to end', async () => {
  const { spec } = find('Deployment')
  const pod = spec?.template?.spec
  const [container] = pod?.containers ?? []
  expect(container).toMatchObject({
    startupProbe: { httpGet: { path: '/healthz', port: 'http' } },
    livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
    readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
    ports: [{ name: 'http', containerPort: 9464 }],
  })
  await using right = await installation()
  const config = await loadConfig(right.file, {}, registers)
  expect((pod?.terminationGracePeriodSeconds ?? 0) * 1000).toBeGreaterThanOrEqual(config.shutdown.grace + 10_000)
  expect(config.http.port).toBe(9464)
})

/** The example's files where its pod would have them. */
async function installation(): Promise<AsyncDisposable & { file: string }> {
  await mkdir(join(project, 'node_modules/.cache'), { recursive: true })
  const folder = await mkdtemp(join(project, 'node_modules/.cache/tailrace-example-'))
  await mkdir(join(folder, 'tenants'))
  const move = async (name: string, to: string) => {
    const text = await readFile(join(example, name), 'utf8')
    await writeFile(join(folder, to), text.replaceAll('/run/secrets/tailrace', folder))
  }
  await move('tailrace.yaml', 'tailrace.yaml')
  await move('tenants/acme.yaml', 'tenants/acme.yaml')
  for (const name of ['redis', 'acme-uuid', 'acme-secret']) {
    await writeFile(join(folder, name), '11111111-1111-4111-8111-111111111111\n')
  }
  return { file: join(folder, 'tailrace.yaml'), [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }) }
}

test("the example's configuration is right, and goes where the network policy lets it", async () => {
  await using right = await installation()
  const config = await loadConfig(right.file, { TAILRACE_TENANTS: join(dirname(right.file), 'tenants') }, registers)
  expect(config.brokenTenants).toEqual([])
  expect(config.tenants.map(({ name }) => name)).toEqual(['acme'])
  expect(config.redis.url).toBe('redis://tailrace-redis:6379')
  const patch = parse(await readFile(join(example, 'network-policy.yaml'), 'utf8')) as {
    path: string
    value: { ports: { port: number }[] }
  }[]
  expect(patch.flatMap(({ value }) => value.ports.map(({ port }) => port))).toEqual([443, 6514])
  // The patch replaces what is open to everywhere, and nothing else.
  const egress = find('NetworkPolicy').spec?.['egress'] as { to: { ipBlock?: object }[] }[]
  expect(patch.map(({ path }) => path)).toEqual([
    `/spec/egress/${egress.findIndex(({ to }) => to[0]?.ipBlock)}`,
    '/spec/egress/-',
  ])
})

test('labels and ports agree from object to object', () => {
  const labels = (resource: Resource): unknown => resource.spec?.template?.metadata
  for (const [kind, name] of [
    ['Deployment', 'tailrace'],
    ['StatefulSet', 'tailrace-redis'],
  ] as const) {
    const own = { 'app.kubernetes.io/name': name }
    expect(labels(find(kind, name))).toEqual({ labels: own })
    expect(find(kind, name).spec?.['selector']).toEqual({ matchLabels: own })
    expect(find('Service', name).spec?.['selector']).toEqual(own)
    expect(find('NetworkPolicy', name).spec?.['podSelector']).toEqual({ matchLabels: own })
  }
  expect(find('PodDisruptionBudget').spec?.['selector']).toEqual(find('Deployment').spec?.['selector'])
  const spread = find('Deployment').spec?.template?.spec.topologySpreadConstraints
  expect(spread?.map(({ labelSelector }) => labelSelector)).toEqual(
    spread?.map(() => find('Deployment').spec?.['selector']),
  )
})

test('the ServiceMonitor finds the Service', () => {
  const { apiVersion, spec } = find('ServiceMonitor')
  expect(apiVersion).toBe('monitoring.coreos.com/v1')
  expect(spec).toEqual({
    selector: { matchLabels: find('Service').metadata.labels },
    jobLabel: 'app.kubernetes.io/name',
    endpoints: [{ port: 'http', path: '/metrics', interval: '15s', scrapeTimeout: '10s' }],
  })
  expect(find('Service').spec?.['ports']).toMatchObject([{ name: 'http', port: 9464 }])
})

const promtool = spawnSync('promtool', ['--version']).status === 0

test('the ScaledObject scales the Deployment by metrics that there are', async () => {
  const { apiVersion, spec } = find('ScaledObject')
  expect(apiVersion).toBe('keda.sh/v1alpha1')
  const options = 'scaleTargetRef minReplicaCount maxReplicaCount pollingInterval cooldownPeriod fallback triggers'
  expect(Object.keys(spec ?? {})).toEqual(options.split(' '))
  const { kind, metadata } = find('Deployment')
  expect(spec?.['scaleTargetRef']).toEqual({ apiVersion: 'apps/v1', kind, name: metadata.name })
  expect(spec?.['minReplicaCount']).toBe(find('Deployment').spec?.['replicas'])
  const [trigger] = (spec?.['triggers'] ?? []) as { type: string; metadata: Record<string, string> }[]
  expect(trigger?.type).toBe('prometheus')
  // KEDA takes texts only.
  for (const value of Object.values(trigger?.metadata ?? {})) expect(value).toEqual(expect.any(String))
  const query = trigger?.metadata['query'] ?? ''
  const declared = await readFile(join(project, 'src/telemetry/metrics.ts'), 'utf8')
  for (const [, name] of query.matchAll(/tailrace_(\w+)/g)) expect(declared).toContain(`'${name}'`)
  if (!promtool) return
  const folder = await mkdtemp(join(project, 'node_modules/.cache/tailrace-scale-'))
  try {
    const series = (name: string, labels: string, value: number) => ({
      series: `tailrace_${name}{${labels}}`,
      values: `${value}`,
    })
    // Two replicas tell the same of both destinations; what the second one owes must not count, for it is down.
    const both = ['a', 'b'].flatMap((instance) => [
      series('backlog_batches', `instance="${instance}",destination="up"`, 300),
      series('backlog_batches', `instance="${instance}",destination="down"`, 9000),
      series('destination_up', `instance="${instance}",destination="up"`, 1),
      series('destination_up', `instance="${instance}",destination="down"`, 0),
    ])
    const asked = (value: number) => [{ expr: query, eval_time: '1m', exp_samples: [{ labels: '{}', value }] }]
    const tests = [
      { interval: '1m', input_series: both, promql_expr_test: asked(300) },
      { interval: '1m', input_series: [], promql_expr_test: asked(0) },
    ]
    await writeFile(join(folder, 'test.yaml'), JSON.stringify({ rule_files: [], tests }))
    const { stdout, stderr, status } = spawnSync('promtool', ['test', 'rules', join(folder, 'test.yaml')], {
      encoding: 'utf8',
    })
    expect(`${stdout}${stderr}`).toContain('SUCCESS')
    expect(status).toBe(0)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('nothing is a Secret, and no value looks like one', async () => {
  for (const file of globSync(join(root, '**/*.yaml'))) {
    expect(await readFile(file, 'utf8')).not.toMatch(
      /^kind: Secret$|(password|secret|token):\s*(?!\$\{file:)['"]?\w{8,}/m,
    )
  }
})

test('the Redis of the component starts with its arguments, and wants its password', async () => {
  const [container] = find('StatefulSet', 'tailrace-redis').spec?.template?.spec.containers ?? []
  const script = container?.args?.[0] ?? ''
  await using redis = await startRedis() // for a folder, and to know that there is a redis-server
  await writeFile(join(redis.folder, 'redis'), 'a-pass phrase\n')
  const moved = script
    .replaceAll(/\/(run\/secrets\/redis|tmp|data)\b/g, redis.folder)
    .replace('--dir', `--port 0 --unixsocket ${redis.folder}/second.sock --daemonize yes --dir`)
  expect(spawnSync('sh', ['-c', moved], { cwd: redis.folder }).status).toBe(0)
  const client = (env: object, ...words: string[]): string =>
    spawnSync('redis-cli', ['-s', `${redis.folder}/second.sock`, ...words], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    }).stdout
  const ask = (...words: string[]): string => client({ REDISCLI_AUTH: 'a-pass phrase' }, ...words)
  try {
    await expect.poll(() => ask('ping'), { timeout: 20_000 }).toBe('PONG\n')
    expect(ask('config', 'get', 'maxmemory-policy')).toContain('noeviction')
    expect(ask('config', 'get', 'appendonly')).toContain('yes')
    expect(client({}, 'ping')).toContain('NOAUTH')
  } finally {
    ask('shutdown', 'nosave')
  }
})

const kubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0

test.skipIf(!kubectl)('Kustomize makes valid objects of the example', async () => {
  const { stdout } = await promisify(execFile)('kubectl', ['kustomize', example])
  const made = resourcesIn(stdout)
  for (const resource of made) validate(resource)
  const elsewhere = made.filter(({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace !== 'tailrace')
  expect(elsewhere).toEqual([])
  const volumes = made.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec.volumes ?? []
  const maps = made.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name)
  expect(volumes.flatMap(({ configMap }) => configMap?.name ?? [])).toEqual(maps)
  // Replicas are KEDA's.
  expect(made.find(({ kind }) => kind === 'Deployment')?.spec).not.toHaveProperty('replicas')
})
