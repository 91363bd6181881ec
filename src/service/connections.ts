// Connections to the service: one pool per origin, shared by all tenants of an instance.

import { getCACertificates } from 'node:tls'
import { Pool } from 'undici'
import { TailraceError } from '../errors.ts'

export interface ConnectionOptions {
  /** Connections per origin at most. Default: 128. */
  readonly connections?: number
  /** For TCP and TLS together. Default: 10 s. */
  readonly connectMs?: number
  /** PEM text: authorities trusted besides the usual ones. */
  readonly ca?: string
}

export interface ServiceConnections extends AsyncDisposable {
  /** The pool of an origin (`https://host:port`), opened when first asked for. */
  pool(origin: string): Pool
}

/** Disposing destroys what is still under way: abort the requests first. */
export function openConnections(options: ConnectionOptions = {}): ServiceConnections {
  const pools = new Map<string, Pool>()
  const connectMs = options.connectMs ?? 10_000
  let closed = false
  const open = (origin: string): Pool =>
    new Pool(origin, {
      connections: options.connections ?? 128,
      // A slow answer must hold up nobody: one request at a time on each connection, hence no HTTP/2.
      pipelining: 1,
      allowH2: false,
      connect: {
        timeout: connectMs,
        ...(options.ca === undefined ? {} : { ca: [...getCACertificates('default'), options.ca] }),
      },
      // Longer than the usual polling interval, shorter than what load balancers allow.
      keepAliveTimeout: 20_000,
      keepAliveMaxTimeout: 60_000,
    })
  return {
    pool(origin) {
      if (closed) throw new TailraceError('service_unreachable', 'the connections to the service are closed')
      const known = pools.get(origin)
      if (known !== undefined) return known
      const pool = open(origin)
      pools.set(origin, pool)
      return pool
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
      pools.clear()
    },
  }
}
