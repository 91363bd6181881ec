// One client of a Kafka cluster, from its first connection to its end, around @platformatic/kafka. The library takes no
// signal; its work is ended by ending its connections.

import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type * as Library from '@platformatic/kafka'
import type { ClusterMetadata, Connection, MessageToProduce, Producer, ProducerOptions } from '@platformatic/kafka'
import { TailraceError } from '../../errors.ts'
import { describePeer, type Address } from '../stream/connection.ts'
import type { TlsSetup } from '../tls-options.ts'

export type KafkaLibrary = typeof Library
export type KafkaMessage = MessageToProduce & { readonly key: Buffer; readonly partition: number }

export interface KafkaTarget {
  readonly brokers: readonly Address[]
  readonly clientId: string
  readonly sasl: { readonly mechanism: string; readonly username: string; readonly password: string } | undefined
  readonly tls: TlsSetup | undefined
  readonly compression: string
  readonly idempotent: boolean
  readonly timeoutMs: number
  /** For messages. */
  readonly where: string
}

export interface KafkaClient {
  /**
   * Connects, to the leaders of these topics' partitions too, and resolves to what the cluster says of itself now. A
   * connection that died meanwhile is found out here, where nothing is in doubt yet.
   */
  prepare(topics: readonly string[]): Promise<ClusterMetadata>
  /** Resolves when all replicas in sync have all of it. Partitions are chosen already. */
  produce(messages: KafkaMessage[]): ReturnType<Producer['send']>
  /** As the clients of Apache Kafka choose it, so that a key has one place whoever writes. */
  partitionOf(key: Buffer, partitions: number): number
  /** The protocol's names of errors, by number. */
  readonly errorNames: Readonly<Record<number, string>>
  /** Sentences about the connections. */
  describe(): string[]
  /** Ends everything at once; what waits rejects. */
  destroy(): void
}

const connectTimeoutMs = 10_000
const allReplicas = -1

/**
 * How often the library sends a request again whose answer is lost, when it is idempotent: under the same number, so
 * that the cluster knows it again. Only the producer has these numbers, which is why the queue cannot do this.
 */
const repeatsMax = 2
const repeatDelayMs = 100

export function openKafkaClient(library: KafkaLibrary, target: KafkaTarget): KafkaClient {
  const { idempotent } = target
  const producer = new library.Producer(producerOptions(target))
  const seen = new Set<Connection>()
  const certificates: Certificates = new WeakMap()
  producer.connections.on('connecting', ({ connection }) => {
    seen.add(connection)
    // The library listens for the first error of a connection; a second one would end the process.
    connection.on('error', () => undefined)
    connection.once('close', () => seen.delete(connection))
    if (target.tls !== undefined) inspect(connection, target.tls, certificates)
  })

  return {
    async prepare(topics) {
      const found = await producer.metadata({ topics: [...topics], forceUpdate: true })
      const partitions = [...found.topics.values()].flatMap((topic) => topic.partitions)
      const leaders = [...new Set(partitions.map(({ leader }) => leader))]
      const lost = leaders.find((leader) => !found.brokers.has(leader))
      if (lost !== undefined) {
        throw new TailraceError(
          'sink_unavailable',
          `${target.where}: a partition of ${topics.join(', ')} has no leader`,
        )
      }
      if (leaders.length > 0) await producer.connectToBrokers(leaders)
      if (idempotent && producer.producerId === undefined) await producer.initIdempotentProducer({})
      return found
    },
    produce: (messages) => producer.send({ messages, acks: allReplicas, idempotent }),
    partitionOf: (key, partitions) => (library.murmur2(key) & 0x7f_ff_ff_ff) % partitions,
    errorNames: library.protocolErrorsCodesById,
    describe: () => [
      ...new Set([...seen].filter((one) => one.isConnected()).flatMap((one) => describe(one, certificates))),
    ],
    destroy() {
      producer.close().catch(() => undefined)
      // Closing waits for what is still to be written, which a stuck broker never takes.
      for (const connection of seen) connection.socket?.destroy()
    },
  }
}

type Options = ProducerOptions<Buffer, Buffer, Buffer, Buffer>

function producerOptions({ brokers, sasl, tls, timeoutMs, ...target }: KafkaTarget): Options {
  const named = tls?.connection.servername === undefined && brokers.every(({ host }) => isIP(host) === 0)
  return {
    clientId: target.clientId,
    bootstrapBrokers: [...brokers],
    compression: target.compression as NonNullable<Options['compression']>,
    autocreateTopics: false,
    connectTimeout: Math.min(connectTimeoutMs, timeoutMs),
    requestTimeout: timeoutMs,
    timeout: timeoutMs,
    // `false` and not 0, of which the library makes retries without end.
    retries: target.idempotent ? repeatsMax : false,
    retryDelay: repeatDelayMs,
    repeatOnStaleMetadata: false,
    idempotent: target.idempotent,
    // What KIP-360 says for a producer that is new. Left out, the library asks to go on with number 0.
    ...(target.idempotent ? { producerId: -1n, producerEpoch: -1 } : {}),
    ...(tls === undefined ? {} : { tls: tls.connection, tlsServerName: named }),
    ...(sasl === undefined ? {} : { sasl: { ...sasl, mechanism: sasl.mechanism as 'PLAIN' } }),
  }
}

/** What each connection has shown. Node.js hands it out once: a second look finds none. */
type Certificates = WeakMap<Connection, X509Certificate>

/** Before the library's own listener, which would send our password. */
function inspect(connection: Connection, tls: TlsSetup, certificates: Certificates): void {
  connection.once('connecting', () => {
    process.nextTick(() => {
      const socket = connection.socket as TLSSocket
      socket.prependOnceListener('secureConnect', () => {
        const certificate = socket.getPeerX509Certificate()
        if (certificate !== undefined) certificates.set(connection, certificate)
        try {
          tls.checkPin(certificate)
        } catch (error) {
          socket.destroy(error as Error)
        }
      })
    })
  })
}

function describe(connection: Connection, certificates: Certificates): string[] {
  const { host, port, socket } = connection
  const findings = describePeer({ socket, certificate: certificates.get(connection) })
  return findings.map((finding) => `broker ${host ?? '?'}:${port ?? '?'}: ${finding}`)
}
