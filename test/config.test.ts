import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { loadConfig, type Config } from '../src/config.ts'
import { parseDuration, parseSize, showDuration, showSize } from '../src/quantity.ts'
import { TailraceError } from '../src/errors.ts'
import { json } from '../src/ship/formats/json.ts'
import { defineSink, type Sink } from '../src/ship/sink.ts'

interface PipeOptions {
  readonly address: string
  readonly token: string
  readonly port: number
  readonly loud: boolean
  readonly mode: string
  readonly tls: { readonly ca: string; readonly key: string }
}

const pipe = defineSink<PipeOptions>({
  name: 'pipe',
  summary: 'A sink for this test.',
  confirms: 'Nothing.',
  options: {
    address: {
      doc: 'Where to.',
      default: '',
      format: (value: unknown) => {
        if (value === '' || value === 'bad') throw new Error('must be an address')
      },
    },
    token: {
      doc: 'A secret.',
      default: '',
      sensitive: true,
      format: (value: unknown) => {
        if (value === 'hunter2-short') throw new Error(`cannot be ${String(value)}`)
      },
    },
    port: { doc: 'Port.', default: 514, format: 'port' },
    loud: { doc: 'Loud.', default: false, format: Boolean },
    mode: { doc: 'Mode.', default: 'fast', format: ['fast', 'slow'] },
    tls: {
      ca: { doc: 'CA.', default: '', format: String },
      key: { doc: 'Key.', default: '', format: String, sensitive: true },
    },
  },
  limits: () => ({ events: 1, bytes: 1 }),
  open: (): Sink => {
    throw new Error('not opened here')
  },
})
const registers = { sinkTypes: [pipe], formats: [json] }

interface Folder extends AsyncDisposable {
  readonly path: string
  load(env?: Record<string, string>): Promise<Config>
}

/** A folder with these files; `main.yaml` is loaded. */
async function folderWith(files: Record<string, string>): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'tailrace-config-'))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true })
    await writeFile(join(path, name), text)
  }
  return {
    path,
    load: async (env = {}) => loadConfig(join(path, 'main.yaml'), env, registers),
    [Symbol.asyncDispose]: async () => rm(path, { recursive: true }),
  }
}

async function failureOf(promise: Promise<unknown>): Promise<TailraceError> {
  const thrown: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(thrown instanceof TailraceError)) throw new Error('expected a TailraceError', { cause: thrown })
  return thrown
}

const destinations = `
destinations:
  - { name: soc, sink: pipe, address: here }
  - { name: lake, sink: pipe, address: there, streams: [rules, attacks], backlogBytes: 2mb, concurrency: 3 }
`
const main = `
service: { instances: { eu: "https://eu.example.org/" } }
tenants: tenants
${destinations}`
const tenant = `
instance: eu
credentials: { uuid: u-1, secret: s-1 }
clients: [4711]
`

test('an empty file is the defaults', async () => {
  await using folder = await folderWith({ 'main.yaml': '' })
  const config = await folder.load()
  expect(config).toMatchObject({
    file: join(folder.path, 'main.yaml'),
    redis: { url: '', prefix: 'tailrace', data: join(process.cwd(), 'data') },
    service: {
      requestsPerSecond: 500,
      egress: 'default',
      instances: {},
      headerPrefix: 'X-ServiceAPI-',
      connectTimeout: 10_000,
      headersTimeout: 60_000,
      bodyTimeout: 60_000,
      maxAnswerBytes: 64 * 1024 ** 2,
      concurrency: 64,
    },
    http: { host: '127.0.0.1', port: 9464 },
    log: { level: 'info', pretty: false },
    shutdown: { grace: 30_000 },
    queue: { batchBytes: 2 * 1024 ** 2, backlogBytes: 256 * 1024 ** 2, memoryBytes: 32 * 1024 ** 2 },
    simulator: { enabled: false },
    receiver: { enabled: false },
    destinations: [],
    tenants: [],
    brokenTenants: [],
  })
  expect(Object.keys(config.redis)).toEqual(['url', 'data', 'prefix'])
})

test('durations and sizes are in milliseconds and bytes', async () => {
  const text = 'shutdown: { grace: 1.5m }\nqueue: { batchBytes: 512kb, memoryBytes: 2097152, backlogBytes: 1GB }'
  await using folder = await folderWith({ 'main.yaml': text })
  const config = await folder.load()
  expect(config.shutdown.grace).toBe(90_000)
  expect(config.queue).toEqual({ batchBytes: 524_288, trail: 5000, memoryBytes: 2_097_152, backlogBytes: 1024 ** 3 })
  expect(['15s', '10 m', '24h', '7d', '250ms', '15', 'x', '-1s', '1e3s'].map(parseDuration)).toEqual([
    15_000,
    600_000,
    86_400_000,
    604_800_000,
    250,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  expect(['1', '1kb', '1.5mb', '2gb', '1tb'].map(parseSize)).toEqual([1, 1024, 1_572_864, 2 * 1024 ** 3, undefined])
  expect([0, 1500, 90_000, 3_600_000].map(showDuration)).toEqual(['0s', '1500ms', '90s', '1h'])
  expect([0, 1500, 65_536, 1024 ** 3].map(showSize)).toEqual(['0b', '1500b', '64kb', '1gb'])
})

test('destinations are checked by their sinks, and inherit the backlog', async () => {
  await using folder = await folderWith({ 'main.yaml': destinations })
  const [soc, lake] = (await folder.load()).destinations
  expect(soc).toMatchObject({
    name: 'soc',
    sink: pipe,
    format: json,
    backlogBytes: 256 * 1024 ** 2,
    concurrency: 8,
    streams: ['attacks', 'incidents', 'vulnerabilities', 'rules', 'conditions'],
  })
  expect(soc?.options).toEqual({
    address: 'here',
    token: '',
    port: 514,
    loud: false,
    mode: 'fast',
    tls: { ca: '', key: '' },
  })
  expect(lake).toMatchObject({ backlogBytes: 2 * 1024 ** 2, concurrency: 3, streams: ['attacks', 'rules'] })
})

test('tenants have the documented defaults', async () => {
  await using folder = await folderWith({ 'main.yaml': main, 'tenants/acme.yaml': tenant })
  const [acme] = (await folder.load()).tenants
  const timeline = {
    overlapMs: 600_000,
    startMs: 86_400_000,
    reconcileEveryMs: 3_600_000,
    reconcileWindowMs: 86_400_000,
    heartbeatMs: 0,
  }
  const none = { overlapMs: 0, startMs: 0, reconcileEveryMs: 0, reconcileWindowMs: 0, heartbeatMs: 0 }
  expect(acme).toEqual({
    name: 'acme',
    file: join(folder.path, 'tenants/acme.yaml'),
    instance: 'eu',
    baseUrl: 'https://eu.example.org',
    credentials: { uuid: 'u-1', secret: 's-1' },
    clients: [4711],
    streams: [
      { stream: 'attacks', everyMs: 15_000, pageSize: 1000, ...timeline },
      { stream: 'incidents', everyMs: 15_000, pageSize: 1000, ...timeline },
      { stream: 'vulnerabilities', everyMs: 300_000, pageSize: 1000, ...none },
    ],
    destinations: ['soc', 'lake'],
    severity: { medium: 34, high: 67, critical: 90 },
  })
})

test('naming a stream enables it, and only it', async () => {
  const streams = `
streams:
  rules:
  attacks: { every: 1m, start: 90d }
  incidents: { enabled: false }
destinations: [lake]
`
  await using folder = await folderWith({ 'main.yaml': main, 'tenants/acme.yaml': tenant + streams })
  const [acme] = (await folder.load()).tenants
  expect(acme?.streams).toMatchObject([
    { stream: 'attacks', everyMs: 60_000, startMs: 90 * 86_400_000, overlapMs: 600_000 },
    { stream: 'rules', everyMs: 60_000 },
  ])
  expect(acme?.destinations).toEqual(['lake'])
})

test('a base URL names its instance by host; the simulator is an instance when it is enabled', async () => {
  const text = `
${destinations}
simulator: { enabled: true, port: 9999 }
inlineTenants:
  - { name: one, baseUrl: "http://127.0.0.1:8080/api/", credentials: { uuid: u, secret: s }, clients: [1] }
  - { name: two, instance: simulator, credentials: { uuid: u, secret: s }, clients: [1, 2] }
`
  await using folder = await folderWith({ 'main.yaml': text })
  expect((await folder.load()).tenants).toMatchObject([
    { name: 'one', instance: '127.0.0.1:8080', baseUrl: 'http://127.0.0.1:8080/api' },
    { name: 'two', instance: 'simulator', baseUrl: 'http://127.0.0.1:9999' },
  ])
})

test('variables override the file; empty ones do not', async () => {
  const text = 'http: { port: 1, host: "::1" }\nlog: { pretty: true }\nredis: { prefix: mine }'
  await using folder = await folderWith({ 'main.yaml': text, 'password.txt': 'pw-1\n' })
  const config = await folder.load({
    TAILRACE_HTTP_PORT: '9000',
    TAILRACE_HTTP_HOST: '',
    TAILRACE_LOG_PRETTY: 'false',
    TAILRACE_REDIS_URL: 'redis+sentinel://user:pass@h1:1,h2:2/master',
    // oxlint-disable-next-line no-template-curly-in-string
    TAILRACE_REDIS_PASSWORD: '${file:password.txt}',
    TAILRACE_SERVICE_HEADERS_TIMEOUT: '5s',
    TAILRACE_SERVICE_INSTANCES: 'eu=https://eu.example.org,ru=https://ru.example.org/x',
    TAILRACE_QUEUE_BATCH_BYTES: '2mb',
  })
  expect(config.http).toEqual({ port: 9000, host: '::1', token: '' })
  expect(config.log.pretty).toBe(false)
  expect(config.redis).toMatchObject({ prefix: 'mine', password: 'pw-1' })
  expect(config.redis.url).toContain('h1:1,h2:2')
  expect(config.service.headersTimeout).toBe(5000)
  expect(config.service.instances).toEqual({ eu: 'https://eu.example.org', ru: 'https://ru.example.org/x' })
  expect(config.queue.batchBytes).toBe(2 * 1024 ** 2)
})

test('references are replaced anywhere in a text; what they give is not looked at again', async () => {
  const text = `
redis: { prefix: "a-\${env:PART}-\${file:secrets/part}", username: "$\${env:PART}", password: "\${env:TRICK}" }
`
  await using folder = await folderWith({ 'main.yaml': text, 'secrets/part': 'two\r\n' })
  // oxlint-disable-next-line no-template-curly-in-string
  const { redis } = await folder.load({ PART: 'one', TRICK: '${env:PART}' })
  // oxlint-disable-next-line no-template-curly-in-string
  expect(redis).toMatchObject({ prefix: 'a-one-two', username: '${env:PART}', password: '${env:PART}' })
})

test('PEM files are read relative to the configuration', async () => {
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  const text = 'redis: { url: "rediss://h", tls: { ca: certs/ca.pem } }\nservice: { ca: certs/ca.pem }'
  await using folder = await folderWith({ 'main.yaml': text, 'certs/ca.pem': pem })
  const config = await folder.load()
  expect(config.redis.tls).toEqual({ ca: pem })
  expect(config.service.ca).toBe(pem)
})

test('every mistake of a file is told, with its line and what to do', async () => {
  const text = `redis:
  url: http://localhost
  urll: x
servcie: { egress: a }
http: { port: 99999, host: 1 }
log:
  level: inof
  pretty: no
shutdown: { grace: 30 }
queue: [1]
service: { requestsPerSecond: 12x, maxAnswerBytes: 1tb, instances: { eu: "ftp://x" }, headersTimeout: 0s }
simulator: { port: }
destinations:
  - { name: SOC, sink: pipe, address: bad, mode: fsat, loud: yes, port: 12x }
  - { name: a, sink: pipes }
  - { name: b, sink: pipe, colour: red, format: jsno, streams: attacks }
  - { name: c, sink: pipe, address: x, streams: [attack] }
  - { name: c, sink: pipe, address: x, tls: on }
  - nothing
inlineTenants:
  - { name: "a/b", instance: us, clients: [], credentials: { uuid: "a b" } }
`
  await using folder = await folderWith({ 'main.yaml': text })
  const error = await failureOf(folder.load())
  expect(error.code).toBe('config_invalid')
  expect(error.message.split('\n').map((line) => line.replace(folder.path, ''))).toMatchInlineSnapshot(`
    [
      "/main.yaml has 33 mistakes:",
      "  redis.urll (line 3): is not an option; did you mean url?",
      "  servcie (line 4): is not an option; did you mean service?",
      "  http.host (line 5): must be text: write it in quotes",
      "  log.pretty (line 8): must be true or false",
      "  shutdown.grace (line 9): needs a unit, such as 500ms, 15s, 10m, 24h",
      "  queue (line 10): must have options: batchBytes, backlogBytes, trail, memoryBytes",
      "  service.requestsPerSecond (line 11): must be a number",
      "  simulator.port (line 12): is empty: give it a value, or remove it",
      "  redis.url (line 2): it is not of a known form. Write redis://host:6379, rediss://…, unix:///path, redis+sentinel://h1,h2/master or redis+cluster://h1,h2; special characters in a password percent-encoded.",
      "  service.instances (line 11): eu must begin with https:// or http://",
      "  service.headersTimeout (line 11): must be at least 1ms, not "0s"",
      "  service.maxAnswerBytes (line 11): must be a size, such as 512kb, 64mb or 1gb, not "1tb"",
      "  http.port (line 5): ports must be within range 0 - 65535, not 99999",
      "  log.level (line 7): must be one of fatal, error, warn, info, debug, trace, silent, not "inof"; did you mean info?",
      "  destinations[0].loud (line 14): must be true or false",
      "  destinations[0].port (line 14): must be a number",
      "  destinations[0].address (line 14): must be an address, not "bad"",
      "  destinations[0].mode (line 14): must be one of fast, slow, not "fsat"; did you mean fast?",
      "  destinations[0].name (line 14): must be 1 to 48 letters a-z, digits and hyphens, not "SOC"",
      "  destinations[1].sink (line 15): is not a sink; did you mean pipe?; there are: pipe",
      "  destinations[2].colour (line 16): is not an option; there are: address, token, port, loud, mode, tls, name, sink, format, backlogBytes, concurrency, streams, labels, filter, redact, redactKey, json",
      "  destinations[2].streams (line 16): must be a list, such as [a, b]",
      "  destinations[2].address (line 16): is missing (Where to.): it must be an address",
      "  destinations[2].format (line 16): is not a format; did you mean json?; there are: json",
      "  destinations[3].streams (line 17): "attack" is not one of: attacks, incidents, vulnerabilities, rules, conditions; did you mean attacks?",
      "  destinations[4].tls (line 18): must have options: ca, key",
      "  destinations[5].sink (line 19): is missing; there are: pipe",
      "  inlineTenants[0].clients (line 21): must be a list of client ids, at least one, such as [4711]",
      "  inlineTenants[0].credentials.uuid (line 21): must be text without spaces that an HTTP header can carry, and not empty",
      "  inlineTenants[0].credentials.secret (line 21): is missing (Secret key of the user.): it must be text without spaces that an HTTP header can carry, and not empty",
      "  inlineTenants[0].name (line 21): must have a name of 1 to 63 letters, digits, dots, hyphens and underscores",
      "  inlineTenants[0].instance (line 21): instance "us" has no address: set service.instances.us to its base URL, or baseUrl in the tenant's file (known: eu)",
      "  destinations[4].name (line 18): c is taken: names are unique",
    ]
  `)
})

test('a wrong tenant breaks itself only, and says why', async () => {
  await using folder = await folderWith({
    'main.yaml': main,
    'tenants/good.yaml': tenant,
    'tenants/.hidden.yaml': 'nonsense',
    'tenants/notes.txt': 'nonsense',
    'tenants/good.yml': tenant,
    'tenants/broken.yaml': 'instance: [eu\nclients',
    'tenants/list.yaml': '- a',
    'tenants/empty.yaml': '',
    'tenants/us.yaml': tenant.replace('eu', 'us'),
    'tenants/both.yaml': `${tenant}baseUrl: https://x.example.org`,
    'tenants/streams.yaml': `${tenant}streams: { attack: {}, rules: { every: 1 }, conditions: { overlap: 1m } }\ndestinations: [sco]`,
    'tenants/off.yaml': `${tenant}streams: { attacks: { enabled: false } }\ndestinations: []\nseverity: { medium: 80 }`,
    'tenants/bad name.yaml': tenant,
    'tenants/secret.yaml': tenant.replace('s-1', '"${env:NOWHERE}"'),
    'tenants/simulator.yaml': tenant.replace('eu', 'simulator'),
  })
  const config = await folder.load()
  expect(config.tenants.map(({ name }) => name)).toEqual(['good'])
  const told = config.brokenTenants.map(
    ({ error }) => `${error.code}: ${error.message.replaceAll(`${folder.path}/`, '')}`,
  )
  expect(told).toMatchInlineSnapshot(`
    [
      "config_invalid: tenants/bad name.yaml has a mistake:
      the file: must have a name of 1 to 63 letters, digits, dots, hyphens and underscores",
      "config_invalid: tenants/both.yaml has a mistake:
      instance (line 2): and baseUrl exclude one another",
      "config_invalid: tenants/broken.yaml has 2 mistakes:
      the file: is not YAML at line 2, column 1: Flow sequence in block collection must be sufficiently indented and end with a ] (BAD_INDENT)
      the file: is not YAML at line 2, column 1: Implicit map keys need to be followed by map values (MISSING_CHAR)",
      "config_invalid: tenants/empty.yaml has 4 mistakes:
      clients: is missing (Client ids, at least one.): it must be a list of client ids, at least one, such as [4711]
      credentials.uuid: is missing (UUID of the user.): it must be text without spaces that an HTTP header can carry, and not empty
      credentials.secret: is missing (Secret key of the user.): it must be text without spaces that an HTTP header can carry, and not empty
      instance: is missing: name an instance, or give a baseUrl",
      "config_invalid: tenants/good.yml has a mistake:
      the file: there is a tenant good already: rename it",
      "config_invalid: tenants/list.yaml has a mistake:
      the file: must consist of options, such as "log: { level: info }"",
      "config_invalid: tenants/off.yaml has 3 mistakes:
      destinations (line 6): is empty: leave it out for all destinations
      severity (line 7): has borders in another order than medium, high, critical
      streams (line 5): has no stream that is enabled",
      "secret_missing: tenants/secret.yaml has a mistake:
      credentials.secret (line 3): refers to the variable NOWHERE, which is not set: set it",
      "config_invalid: tenants/simulator.yaml has a mistake:
      instance (line 2): is the simulator, which is off: set simulator.enabled",
      "config_invalid: tenants/streams.yaml has 4 mistakes:
      destinations (line 6): "sco" is not one of: soc, lake; did you mean soc?
      streams.attack (line 5): is not an option; did you mean attacks?
      streams.rules.every (line 5): needs a unit, such as 500ms, 15s, 10m, 24h
      streams.conditions.overlap (line 5): is not an option; there are: enabled, every, pageSize, heartbeat",
      "config_invalid: tenants/us.yaml has a mistake:
      instance (line 2): instance "us" has no address: set service.instances.us to its base URL, or baseUrl in the tenant's file (known: eu)",
    ]
  `)
})

test.for([
  { name: 'a variable that is not set', value: '${env:NOPE}', says: 'variable NOPE, which is not set' },
  { name: 'a variable that is empty', value: '${env:EMPTY}', says: 'variable EMPTY, which is empty' },
  { name: 'a file that is not there', value: '${file:/nowhere/secret}', says: '/nowhere/secret, which does not exist' },
  { name: 'a file that is a folder', value: '${file:.}', says: 'is a folder' },
  { name: 'an empty file', value: '${file:empty}', says: 'which is empty' },
])('$name: secret_missing', async ({ value, says }) => {
  await using folder = await folderWith({ 'main.yaml': `redis: { password: "${value}" }`, empty: '\n' })
  const error = await failureOf(folder.load({ EMPTY: '' }))
  expect(error.code).toBe('secret_missing')
  expect(error.message).toContain(join(folder.path, 'main.yaml'))
  expect(error.message).toContain('redis.password (line 1)')
  expect(error.message).toContain(says)
})

test.for([
  { name: 'no file', files: {}, says: 'which does not exist' },
  { name: 'no YAML', files: { 'main.yaml': 'a: "hunter2\nb: [' }, says: 'is not YAML at line' },
  { name: 'a key twice', files: { 'main.yaml': 'log: {}\nlog: {}' }, says: 'line 2' },
  { name: 'no options', files: { 'main.yaml': 'hunter2' }, says: 'must consist of options' },
  { name: 'an alias bomb', files: { 'main.yaml': bomb() }, says: 'must consist of options' },
  { name: 'no such reference', files: { 'main.yaml': 'redis: { password: "${hunter2}" }' }, says: 'write ${env:NAME}' },
  { name: 'no folder of tenants', files: { 'main.yaml': 'tenants: nowhere' }, says: 'cannot be read (ENOENT)' },
  { name: 'TLS without a TLS URL', files: { 'main.yaml': 'redis: { tls: { servername: a } }' }, says: 'rediss://' },
  { name: 'no PEM', files: { 'main.yaml': 'service: { ca: main.yaml }' }, says: 'without PEM text' },
  {
    name: 'a prototype',
    files: { 'main.yaml': '__proto__: { a: 1 }\nconstructor: 1' },
    says: '__proto__ (line 1): is not an option',
  },
  { name: 'a dot in a name', files: { 'main.yaml': 'redis.url: x' }, says: 'is not an option' },
  { name: 'a list that is none', files: { 'main.yaml': 'destinations: { name: a }' }, says: 'must be a list' },
])('$name: config_invalid', async ({ files, says }) => {
  await using folder = await folderWith(files)
  const error = await failureOf(folder.load())
  expect(error.code).toBe('config_invalid')
  expect(error.message).toContain(says)
  expect(inspect(error, { depth: 10 })).not.toContain('hunter2')
})

function bomb(): string {
  const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(',')}]`)
  return `l0: &l0 [x]\n${levels.join('\n')}`
}

test('no secret shows in an error, in JSON or in an inspection', async () => {
  const text = `
redis: { url: "redis://user:hunter2@h", password: hunter2, prefix: p }
${destinations}
  - { name: s, sink: pipe, address: x, token: "\${env:TOKEN}", tls: { key: hunter2, ca: public } }
inlineTenants:
  - { name: t, baseUrl: "https://x.example.org", credentials: { uuid: hunter2, secret: "\${env:TOKEN}" }, clients: [1] }
`
  await using folder = await folderWith({ 'main.yaml': text })
  const config = await folder.load({ TOKEN: 'hunter2' })
  const shown = [JSON.stringify(config), inspect(config, { depth: 20, showHidden: false })].join('\n')
  expect(shown).not.toContain('hunter2')
  expect(shown).toContain('public')
  expect(config.redis.password).toBe('hunter2')
  expect(config.tenants[0]?.credentials).toEqual({ uuid: 'hunter2', secret: 'hunter2' })
  expect(config.destinations.at(-1)?.options).toMatchObject({ token: 'hunter2', tls: { key: 'hunter2' } })
})

test('an error does not show values that may be secrets', async () => {
  const text = `
redis: { url: "hunter2://x", password: 5 }
log: { level: "\${env:SECRET}" }
destinations:
  - { name: a, sink: pipe, address: x, token: hunter2-short }
inlineTenants:
  - { name: t, baseUrl: "https://me:hunter2@x", clients: [1], credentials: { uuid: "hunter2 x", secret: [hunter2] } }
`
  await using folder = await folderWith({ 'main.yaml': text })
  const error = await failureOf(folder.load({ SECRET: 'hunter2' }))
  expect(error.message.split('\n').length).toBeGreaterThan(6)
  expect(inspect(error, { depth: 10 })).not.toContain('hunter2')
})

test('a variable that is wrong is named', async () => {
  await using folder = await folderWith({ 'main.yaml': 'http: { port: 1 }' })
  const error = await failureOf(folder.load({ TAILRACE_HTTP_PORT: 'tcp://10.0.0.1:80', TAILRACE_LOG_PRETTY: 'maybe' }))
  expect(error.message).toContain('http.port (TAILRACE_HTTP_PORT): must be a number; Kubernetes')
  expect(error.message).toContain('log.pretty (TAILRACE_LOG_PRETTY): must be true or false')
})

test('the quickstart loads as it is', async () => {
  const config = await loadConfig('config/quickstart.yaml', {})
  expect(config.simulator.enabled && config.receiver.enabled).toBe(true)
  expect(config.destinations.map(({ name, sink }) => [name, sink.name])).toEqual([
    ['siem', 'syslog'],
    ['events', 'file'],
  ])
  expect(config.tenants).toMatchObject([{ name: 'demo', instance: 'simulator' }])
})

test('the examples load once their secrets are there', async () => {
  const [example, sample] = await Promise.all([
    readFile('config/tailrace.example.yaml', 'utf8'),
    readFile('config/tenants/example.yaml.sample', 'utf8'),
  ])
  await using folder = await folderWith({
    'main.yaml': example.replaceAll('/run/secrets/', 'secrets/'),
    'tenants/acme.yaml': sample.replaceAll('/run/secrets/', '../secrets/'),
    'secrets/redis': 'r\n',
    'secrets/acme': 'a\n',
  })
  const env = { LAKE_TOKEN: 't', ACME_UUID: 'u' }
  const config = await loadConfig(join(folder.path, 'main.yaml'), env)
  expect(config.brokenTenants).toEqual([])
  expect(config.tenants).toMatchObject([{ name: 'acme', credentials: { uuid: 'u', secret: 'a' } }])
  expect(config.destinations.map(({ name }) => name)).toEqual(['soc', 'lake'])
})
