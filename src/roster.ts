// What a configuration asks of the daemon, tenant by tenant and destination by destination: plain values that can be
// replaced while it runs.

import type { Config, Tenant } from './config.ts'
import type { StreamKey, StreamName } from './event.ts'
import { createReader } from './poll/changes.ts'
import type { Subscription } from './poll/ports.ts'
import { streams } from './poll/streams/all.ts'
import type { Outlet } from './queue/batch.ts'
import { digestOf } from './secrets.ts'
import { encodingOf } from './ship/encoding.ts'

export interface Roster {
  /** By name of the tenant: the same as long as nothing about it has changed, credentials included. */
  readonly tenants: ReadonlyMap<string, string>
  readonly subscriptions: ReadonlyMap<StreamKey, Subscription>
  /** By name of the destination. */
  readonly outlets: ReadonlyMap<string, Outlet>
  /** Most bytes that may wait, by name of the destination. */
  readonly bounds: ReadonlyMap<string, number>
}

export function rosterOf(config: Config): Roster {
  return {
    tenants: new Map(config.tenants.map((tenant) => [tenant.name, digestOf(tenant)])),
    subscriptions: subscriptionsOf(config),
    outlets: new Map(config.destinations.map((d) => [d.name, { destination: d.name, encoding: encodingOf(d) }])),
    bounds: new Map(config.destinations.map((d) => [d.name, d.backlogBytes])),
  }
}

function subscriptionsOf(config: Config): Map<StreamKey, Subscription> {
  const subscriptions = new Map<StreamKey, Subscription>()
  for (const tenant of config.tenants) {
    for (const { stream: name, ...rhythm } of tenant.streams) {
      const stream = streams.find((known) => known.name === name)
      if (!stream) continue
      const key: StreamKey = `${tenant.name}/${name}`
      subscriptions.set(key, {
        key,
        tenant: tenant.name,
        stream: name,
        instance: instanceOf(tenant),
        clients: tenant.clients,
        borders: tenant.severity,
        reader: createReader(stream),
        rhythm,
        destinations: takersOf(config, tenant, name),
      })
    }
  }
  return subscriptions
}

/** Only these can hold a stream up. */
export function takersOf(config: Config, tenant: Tenant, stream: StreamName): string[] {
  const takers = config.destinations.filter((destination) => destination.streams.includes(stream))
  return takers.map(({ name }) => name).filter((name) => tenant.destinations.includes(name))
}

/** Names the limit that a tenant's requests fall under, and the queue of its turns. */
export function instanceOf(tenant: Tenant): string {
  return tenant.instance.replaceAll(':', '_')
}
