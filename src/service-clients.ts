// The clients of the service: one for each tenant, over connections that all share.

import type { Config } from './config.ts'
import { instanceOf } from './roster.ts'
import { createServiceClient } from './service/client.ts'
import type { ServiceClient } from './service/client.ts'
import { openConnections } from './service/connections.ts'
import type { ServiceConnections } from './service/connections.ts'
import type { Limit } from './service/limit.ts'
import type { Report } from './telemetry/report.ts'

export interface ClientsParts {
  readonly config: Config
  readonly report: Report
  readonly connections: ServiceConnections
  readonly limitOf: (instance: string) => Limit | undefined
}

export function openServiceConnections({ service }: Config): ServiceConnections {
  return openConnections({
    connections: service.concurrency,
    connectMs: service.connectTimeout,
    ...(service.ca === undefined ? {} : { ca: service.ca }),
  })
}

/** By name of the tenant. `parts.config` is that of the start: time-outs and headers count from then. */
export function clientsOf({ tenants }: Config, parts: ClientsParts): Map<string, ServiceClient> {
  const { config, report, connections, limitOf } = parts
  const { service } = config
  return new Map(
    tenants.map((tenant) => {
      const instance = instanceOf(tenant)
      const client = createServiceClient({
        baseUrl: tenant.baseUrl,
        instance,
        credentials: tenant.credentials,
        headerPrefix: service.headerPrefix,
        connections,
        timeouts: { headersMs: service.headersTimeout, bodyMs: service.bodyTimeout },
        maxAnswerBytes: service.maxAnswerBytes,
        admit: async (signal) => (await limitOf(instance)?.admit(signal)) ?? (() => undefined),
        onAnswer: (fact) => report.requestAnswered({ instance, ...fact }),
      })
      return [tenant.name, client]
    }),
  )
}
