// Kafka: one message for each event, confirmed by all replicas that are in sync.

import { Buffer } from 'node:buffer'
import type { ClusterMetadata } from '@platformatic/kafka'
import { TailraceError } from '../../errors.ts'
import { count, duration, oneOf, size, text } from '../../option.ts'
import { readAddress } from '../stream/connection.ts'
import { putHeaderLine, takeHeaderLine, type HeaderLine } from '../wire/header-line.ts'
import type { KafkaLibrary, KafkaMessage, KafkaTarget } from '../wire/kafka-client.ts'
import { unanswered, untakenOf } from '../wire/kafka-outcome.ts'
import { keepKafkaClient, type KafkaUse } from '../wire/kept-kafka-client.ts'
import { requireOptions } from '../required-options.ts'
import { allTaken, defineSink, type Sink, type Untaken } from '../sink.ts'
import { compileTemplate, plainName, type Fill } from '../template.ts'
import { readTls, tlsSchema, type TlsOptions } from '../tls-options.ts'

export interface KafkaOptions {
  readonly brokers: string
  readonly topic: string
  readonly transport: string
  readonly tls: TlsOptions
  readonly sasl: string
  readonly username: string
  readonly password: string
  readonly idempotent: boolean
  readonly compression: string
  readonly clientId: string
  readonly timeout: number
  readonly maxEvents: number
  readonly maxBytes: number
}

const mechanisms = ['none', 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
const compressions = ['none', 'gzip', 'zstd', 'lz4', 'snappy'] as const
const placeholders = ['tenant', 'stream', 'kind'] as const

export const kafka = defineSink<KafkaOptions>({
  name: 'kafka',
  summary: 'Produces a message for each event to a Kafka cluster.',
  confirms: 'All replicas that are in sync have the message (acks=all).',
  options: {
    brokers: text('Brokers to ask first, separated by commas: host:port, IPv6 in brackets.'),
    topic: text('Topic. {tenant}, {stream} and {kind} are those of the event. Topics must exist; none is created.', {
      default: 'tailrace',
    }),
    transport: oneOf(['tcp', 'tls'], 'tcp', 'tcp, or tls for encrypted connections.'),
    tls: tlsSchema,
    sasl: oneOf(mechanisms, 'none', 'How we say who we are. PLAIN sends the password as it is: use it with tls only.'),
    username: text('User for sasl.'),
    password: text('Password for sasl.', { sensitive: true }),
    idempotent: {
      doc: 'Whether the cluster drops what it gets twice because an answer was lost. Old clusters want the permission IdempotentWrite for it.',
      format: Boolean,
      default: true,
    },
    compression: oneOf(
      compressions,
      'gzip',
      'How messages are compressed. Of these, gzip alone does not hold up other work.',
    ),
    clientId: text('How we name ourselves to the brokers.', { default: 'tailrace' }),
    timeout: duration('30s', 'How long a send may take with its answers.'),
    maxEvents: count(5000, 'Highest number of events in a send.', 1),
    maxBytes: size(
      '900kb',
      'Highest number of bytes of events in a send. Brokers take 1 MB unless told otherwise.',
      '1kb',
      '256mb',
    ),
  },
  limits: ({ maxEvents, maxBytes }) => ({ events: maxEvents, bytes: maxBytes }),
  frame() {
    return ({ client, identity, id, kind, action, tenant, stream }, encoded) =>
      // All that happens to one record is in one partition, and so in order.
      putHeaderLine({ key: `${client ?? tenant}:${identity}`, id, kind, action, tenant, stream }, encoded)
  },
  frameKey: () => '',
  open: (options) => openKafka(options),
})

/** `load` imports the library: at the first use, for few destinations need it. */
export function openKafka(
  options: KafkaOptions,
  load = (): Promise<KafkaLibrary> => import('@platformatic/kafka'),
): Sink {
  const { target, topicOf } = readOptions(options)
  const kept = keepKafkaClient(target, load)

  return {
    async send(records, { contentType }, signal) {
      if (records.length === 0) return allTaken
      const type = Buffer.from(contentType)
      const wanted = records.map((framed) => messageOf(framed, topicOf, type))
      return kept.use(signal, (its) => produce(wanted, target.where, its))
    },
    async look(signal) {
      return kept.use(signal, async ({ client, wait }) => {
        // A topic that has events in its name is looked at when there are some.
        const found = await wait(client.prepare(options.topic.includes('{') ? [] : [options.topic]))
        return { findings: [...client.describe(), ...describeCluster(found, options)] }
      })
    },
    async [Symbol.asyncDispose]() {
      kept[Symbol.dispose]()
    },
  }
}

type Wanted = Omit<KafkaMessage, 'partition'>

async function produce(wanted: readonly Wanted[], where: string, its: KafkaUse): Promise<readonly Untaken[]> {
  const { client, wait } = its
  const { topics } = await wait(client.prepare([...new Set(wanted.map(({ topic }) => topic))]))
  const messages = wanted.map((one) => {
    const partition = client.partitionOf(one.key, topics.get(one.topic)?.partitionsCount ?? 1)
    return { ...one, partition }
  })
  its.beginSending()
  const produced = client.produce(messages)
  const answer = await wait(
    produced.then(
      ({ offsets }) => ({ offsets }),
      (error: unknown) => ({ error }),
    ),
  )
  if ('offsets' in answer) return unanswered(answer.offsets, messages, where)
  its.drop()
  return untakenOf(answer.error, messages, { where, names: client.errorNames })
}

/** Throws `sink_misconfigured` for what cannot work. */
function readOptions(options: KafkaOptions): { readonly target: KafkaTarget; readonly topicOf: Fill } {
  requireOptions('kafka', options, ['brokers', 'topic', 'clientId'])
  const topicOf = compileTemplate({ text: options.topic, known: placeholders, where: 'kafka: topic' })
  if (!/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/.test(topicOf({ tenant: 't', stream: 's', kind: 'k' }))) {
    throw new TailraceError(
      'sink_misconfigured',
      'kafka: topic may have letters, digits, dots, underscores and hyphens',
    )
  }
  const { username, password } = options
  if ((options.sasl !== 'none') !== (username !== '' && password !== '')) {
    throw new TailraceError('sink_misconfigured', 'kafka: sasl, username and password are needed together')
  }
  const target: KafkaTarget = {
    brokers: options.brokers.split(',').map((broker) => readAddress(broker.trim())),
    clientId: options.clientId,
    sasl: options.sasl === 'none' ? undefined : { mechanism: options.sasl, username, password },
    tls: options.transport === 'tls' ? readTls(options.tls) : undefined,
    compression: options.compression,
    idempotent: options.idempotent,
    timeoutMs: options.timeout,
    where: `kafka ${options.brokers}`,
  }
  return { target, topicOf }
}

const headerNames = ['id', 'kind', 'action', 'tenant', 'stream'].map((name) => [name, Buffer.from(name)] as const)
const contentTypeName = Buffer.from('content-type')

function messageOf(framed: Uint8Array, topicOf: Fill, contentType: Buffer): Wanted {
  const { header, record } = takeHeaderLine(framed)
  const headers = new Map<Buffer, Buffer>(
    headerNames.map(([name, bytes]) => [bytes, Buffer.from(String(header[name] ?? ''))]),
  )
  if (contentType.length > 0) headers.set(contentTypeName, contentType)
  return { topic: topicOf(namesIn(header)), key: Buffer.from(String(header['key'])), value: record, headers }
}

function namesIn(header: HeaderLine): Readonly<Record<string, string>> {
  return Object.fromEntries(placeholders.map((name) => [name, plainName(header[name])]))
}

function describeCluster({ brokers, topics }: ClusterMetadata, options: KafkaOptions): string[] {
  const about = [...topics].map(([name, { partitions }]) => {
    const copies = Math.min(...partitions.map(({ isr }) => isr.length))
    const warning = copies > 1 ? '' : ': what is confirmed may be on one disk only'
    return `topic ${name}: ${partitions.length} partitions, at least ${copies} of their replicas in sync${warning}`
  })
  const login = options.sasl === 'none' ? 'without a login' : `as ${options.username} by ${options.sasl}`
  const open =
    options.sasl === 'PLAIN' && options.transport === 'tcp' ? '; the password goes over the network as it is' : ''
  return [`a cluster of ${brokers.size} brokers, ${login}${open}`, ...about]
}
