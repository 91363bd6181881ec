// Every option of the configuration, once: type, default, bounds and documentation. The names of the
// environment variables follow from the names of the options.

import { streamNames, type StreamName } from './event.ts'
import { count, duration, flag, oneOf, port, ratio, size, text, type Option } from './option.ts'
import type { Filter } from './ship/select/filter.ts'
import type { RedactedField } from './ship/select/redaction.ts'

/** Options and sections of them. */
export interface Section {
  readonly [name: string]: Option | Section
}

/** The values of declared options, as they are used: milliseconds, bytes, plain text. */
export type Values<S> = {
  readonly [K in keyof S]: S[K] extends { default: infer T } ? T : Values<S[K]>
}

const longestWindow = '3650d'

const tls = {
  ca: text('Issuers of the certificate of Redis.', { format: 'pem' }),
  cert: text('Our certificate, if Redis wants one.', { format: 'pem' }),
  key: text('Key of our certificate.', { format: 'pem', sensitive: true }),
  servername: text('The host name that the certificate must have. Empty: the host of the URL.'),
}

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The main file, without its lists. */
export const mainOptions = {
  redis: {
    url: text(
      'Where the state is kept: redis://host:6379, rediss:// for TLS, unix:///path, redis+sentinel://h1:p1,h2:p2/master or redis+cluster://h1:p1,h2:p2, with user:password@ before the hosts where needed. Empty: a private Redis in the folder redis.data.',
      { format: 'redis-url', sensitive: true },
    ),
    data: text('Folder of the private Redis, relative to the working directory.', { default: 'data' }),
    prefix: text('Begins every key, so that several installations can share a Redis.', { default: 'tailrace' }),
    username: text('User, where it is not in the URL.'),
    password: text('Password, where it is not in the URL.', { sensitive: true }),
    tls,
  },
  service: {
    requestsPerSecond: count(500, 'Requests a second at most, for one source address and instance.', 1, 100_000),
    egress: text(
      'Names the source address that this replica leaves from. Replicas with the same name share the limit of requests.',
      { default: 'default' },
    ),
    instances: {
      doc: 'The clouds of the service: name to base URL. A tenant names one as its instance. As a variable: eu=https://…,ru=https://…',
      format: 'instances',
      default: {} as Readonly<Record<string, string>>,
    },
    headerPrefix: text('What the names of the headers UUID and Secret begin with.', {
      format: 'header-prefix',
      default: 'X-ServiceAPI-',
    }),
    connectTimeout: duration('10s', 'How long connecting may take, TLS included.'),
    headersTimeout: duration('60s', 'How long the service may take to begin its answer.'),
    bodyTimeout: duration('60s', 'How long a whole answer may take from then on.'),
    maxAnswerBytes: size(
      '64mb',
      'A larger answer is not read to its end; smaller pages are asked for.',
      '64kb',
      '256mb',
    ),
    concurrency: count(64, 'Streams that are read at the same time.', 1, 1024),
    ca: text('Issuers that are trusted besides the usual ones.', { format: 'pem' }),
  },
  http: {
    host: text('Address at which metrics, health and status are served. 0.0.0.0 or :: for all.', {
      default: '127.0.0.1',
    }),
    port: port(9464, 'Port of the same. 0: any free one.'),
    token: text(
      'What has to be shown to read metrics and status: as a bearer token, or in a browser as the password of any user. Empty: nothing. Health is open.',
      { sensitive: true },
    ),
  },
  log: {
    level: oneOf(logLevels, 'info', 'What is logged. Normal operation logs nothing above info.'),
    pretty: flag('Whether lines are for people instead of programs.'),
  },
  tracing: {
    endpoint: text(
      'Where OpenTelemetry traces are sent, as OTLP over HTTP: such as http://collector:4318/v1/traces. Empty: nowhere, and nothing is traced.',
      { format: 'http-url' },
    ),
    sampleRatio: ratio(0.1, 'Share of the turns that are traced, with all that comes of them.'),
    headers: {
      doc: 'Headers of the requests to the endpoint, such as { authorization: "Bearer …" }. As a variable: name=value,name=value',
      format: 'headers',
      default: {} as Readonly<Record<string, string>>,
      sensitive: true,
    },
  },
  shutdown: {
    grace: duration('30s', 'How long batches under way may take to be confirmed when Tailrace is told to stop.'),
  },
  queue: {
    batchBytes: size('2mb', 'Events that are queued as one have no more bytes than this, uncompressed.', '1kb', '64mb'),
    backlogBytes: size('256mb', 'What may wait for one destination, compressed. Then its streams pause.', '1mb'),
    trail: count(
      5_000,
      'For `tailrace trace`: the way of so many of the latest events of each stream is kept, less ten for each of their batches; 60 to 130 KB. 0: of none.',
      0,
      1_000_000,
    ),
    memoryBytes: size('32mb', 'Pages that are in memory at the same time have no more bytes than this.', '1mb'),
  },
  simulator: {
    enabled: flag('Whether the built-in simulator of the service runs. Tenants reach it as the instance simulator.'),
    port: port(9465, 'Its port on the loopback address.'),
    attacksPerSecond: count(2, 'New attacks a second, for each client.', 0, 10_000),
    seed: count(1, 'The same seed makes the same events.'),
  },
  receiver: {
    enabled: flag('Whether a small syslog receiver (TCP) runs that prints what arrives. For a first look only.'),
    port: port(9466, 'Its port on the loopback address.'),
  },
  tenants: text(
    'Folder with a file for each tenant, named as the tenant is: acme.yaml. Relative to this file. Empty: none.',
  ),
} satisfies Section

/** What every destination has, whatever its sink. */
export const destinationOptions = {
  name: text('Names the destination: in tenants, metrics and queues. Unique.', { format: 'destination-name' }),
  sink: text('The kind of receiver.'),
  format: text('The encoding of events. Empty: the usual one of the sink, mostly json.'),
  backlogBytes: size('0b', 'What may wait for it, compressed. 0: as queue.backlogBytes says.', '0b'),
  concurrency: count(8, 'Batches that are sent at the same time, at most.', 1, 64),
  streams: {
    doc: 'The streams that it wants. Left out: all.',
    format: 'names',
    default: [...streamNames] as readonly string[],
  },
  labels: {
    doc: 'Extra fields, the same in each of its events, such as { site: berlin }.',
    format: 'labels',
    default: {} as Readonly<Record<string, string>>,
  },
  filter: {
    doc: 'The events that it wants; see Filters. Left out: all of its streams.',
    format: 'filter',
    default: {} as Filter,
  },
  redact: {
    doc: 'What is taken out of its events; see Redaction.',
    format: 'redaction',
    default: [] as readonly RedactedField[],
  },
  redactKey: text('Key of the hashes of redact: at least 16 characters. The same key makes the same hashes.', {
    sensitive: true,
  }),
} satisfies Section

/** A tenant's file, without its streams. */
export const tenantOptions = {
  instance: text('The cloud that the tenant lives in: a name from service.instances, or simulator.'),
  baseUrl: text('The base URL of the service, instead of an instance.', { format: 'base-url' }),
  credentials: {
    uuid: text('UUID of the user.', { format: 'header-value', sensitive: true }),
    secret: text('Secret key of the user.', { format: 'header-value', sensitive: true }),
  },
  clients: { doc: 'Client ids, at least one.', format: 'clients', default: [] as readonly number[] },
  destinations: {
    doc: 'Where its events go. Left out: to every destination.',
    format: 'names',
    default: [] as readonly string[],
  },
  severity: {
    medium: count(34, 'The lowest threat (1 to 100) that counts as medium.', 1, 100),
    high: count(67, 'The lowest threat that counts as high.', 1, 100),
    critical: count(90, 'The lowest threat that counts as critical.', 1, 100),
  },
} satisfies Section

/** One stream of a tenant. Those of an inventory have no overlap, start or reconciliation. */
export interface StreamOptions {
  readonly enabled: Option<boolean>
  readonly every: Option<number>
  readonly pageSize: Option<number>
  readonly heartbeat: Option<number>
  readonly overlap?: Option<number>
  readonly start?: Option<number>
  readonly reconcileEvery?: Option<number>
  readonly reconcileWindow?: Option<number>
}

function inventory(every: string): StreamOptions {
  return {
    enabled: { ...flag('Whether it is read. Naming a stream enables it.'), default: true },
    every: duration(every, 'From one look to the next.', '1s'),
    pageSize: count(1000, 'Records to ask for at once.', 1, 10_000),
    heartbeat: duration(
      '0s',
      'How often an event of kind heartbeat says that the stream is read, and how far it is complete. 0s: never.',
      '0s',
    ),
  }
}

function timeline(every: string): StreamOptions {
  return {
    ...inventory(every),
    overlap: duration(
      '10m',
      'How far before what is known each look begins: what comes later than this waits for the reconciliation.',
      '1s',
    ),
    start: duration('24h', 'How far back the first reading goes.', '0s', longestWindow),
    reconcileEvery: duration('1h', 'How often a longer window is walked, for what came very late.', '1s'),
    reconcileWindow: duration('24h', 'That window.', '0s', longestWindow),
  }
}

export const streamOptions: Readonly<Record<StreamName, StreamOptions>> = {
  attacks: timeline('15s'),
  incidents: timeline('15s'),
  vulnerabilities: inventory('5m'),
  rules: timeline('60s'),
  conditions: inventory('5m'),
}

/** What is read of a tenant that names no streams. */
export const usualStreams: readonly StreamName[] = ['attacks', 'incidents', 'vulnerabilities']

export function isOption(node: Option | Section): node is Option {
  return 'default' in node
}

/** Every option with its path, in the order of declaration. */
export function optionsOf(
  section: Section,
  path: readonly string[] = [],
): { path: readonly string[]; option: Option }[] {
  return Object.entries(section).flatMap(([name, node]) =>
    isOption(node) ? [{ path: [...path, name], option: node }] : optionsOf(node, [...path, name]),
  )
}

/** `redis.tls.ca` is TAILRACE_REDIS_TLS_CA. */
export function variableOf(path: readonly string[]): string {
  const words = path.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`))
  return ['TAILRACE', ...words].join('_').toUpperCase()
}
