// Looks at what the configuration names, without changing any of it: what `check` and `doctor` have in common.

import type { Config, Destination, Tenant } from '../config.ts'
import type { Stream } from '../poll/stream.ts'
import type { ServiceClient } from '../service/client.ts'
import { createServiceClient } from '../service/client.ts'
import type { ServiceConnections } from '../service/connections.ts'
import { openConnections } from '../service/connections.ts'
import type { SinkType } from '../ship/sink.ts'

export function openServiceConnections({ service }: Config): ServiceConnections {
  const ca = service.ca === undefined ? {} : { ca: service.ca }
  return openConnections({ connections: 4, connectMs: service.connectTimeout, ...ca })
}

/** `admit`: of the limit of requests, where they are to be counted. */
export function clientOf(
  tenant: Tenant,
  { service }: Config,
  parts: { readonly connections: ServiceConnections; readonly admit?: (signal: AbortSignal) => Promise<() => void> },
): ServiceClient {
  return createServiceClient({
    baseUrl: tenant.baseUrl,
    instance: tenant.instance,
    credentials: tenant.credentials,
    headerPrefix: service.headerPrefix,
    timeouts: { headersMs: service.headersTimeout, bodyMs: service.bodyTimeout },
    maxAnswerBytes: service.maxAnswerBytes,
    ...parts,
  })
}

const dayMs = 86_400_000

/**
 * One record of a stream: are credentials, permission and clock right? Resolves to how far the service's clock is ahead
 * of ours, in milliseconds; null: it did not say. Rejects with a `service_*` error.
 */
export async function askForOne(
  client: ServiceClient,
  stream: Stream,
  clients: readonly number[],
  signal: AbortSignal,
): Promise<number | null> {
  const query = stream.query(clients, { from: Math.floor((Date.now() - dayMs) / 1_000), to: null })
  const { date } = await client.list(stream.operation, { ...query, offset: 0, limit: 1 }, signal)
  return date === null ? null : date - Date.now()
}

/** What is found when the receiver is opened, in sentences. Rejects with a `sink_*` error. */
export async function lookAt({ sink: type, options }: Destination, signal: AbortSignal): Promise<readonly string[]> {
  await using sink = type.open(options)
  const { findings } = await sink.look(signal)
  return [...findings, `confirms: ${confirmsOf(type, options)}`]
}

function confirmsOf(type: SinkType, options: object): string {
  return type.unconfirmed?.(options) === true ? 'nothing; what is lost on the way is lost' : type.confirms
}
