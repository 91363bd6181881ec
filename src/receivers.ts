// A destination as the queue wants it: a sink that is opened when it is first needed.

import { hash } from 'node:crypto'
import { statSync } from 'node:fs'
import type { Destination } from './config.ts'
import type { Receiver } from './queue/delivery.ts'
import type { Sink } from './ship/sink.ts'

export interface OpenReceiver extends Receiver {
  /** See `receiverDigest`. */
  readonly digest: string
  dispose(): Promise<void>
}

export function openReceiver(destination: Destination): OpenReceiver {
  const { name, format, sink: type, options, concurrency } = destination
  // One that cannot be opened (an unreadable certificate, say) halts itself only, and is tried at each send.
  let sink: Sink | undefined
  const open = (): Sink => (sink ??= type.open(options))
  const { contentType } = format
  return {
    name,
    digest: receiverDigest(destination),
    limits: type.limits(options),
    concurrencyMax: concurrency,
    send: async (records, sendId, signal) => open().send(records, { sendId, contentType }, signal),
    dispose: async () => sink?.[Symbol.asyncDispose](),
  }
}

/**
 * The same as long as nothing about a destination's receiver has changed, secrets and the files of its certificates
 * included. A digest: nothing can be read from it.
 */
export function receiverDigest({ name, sink, format, options, concurrency }: Destination): string {
  const files = filesIn(options).map((file) => {
    const stat = statSync(file, { throwIfNoEntry: false })
    return [file, stat?.mtimeMs, stat?.size, stat?.ino]
  })
  const whole = [name, sink.name, format.name, plain(options), concurrency, files]
  return hash('sha256', JSON.stringify(whole), 'base64url')
}

/** Certificates and keys that a sink reads by itself: `tls.ca`, `tls.cert`, `tls.key` where they are not PEM text. */
export function filesIn(options: object): string[] {
  const tls: unknown = Reflect.get(options, 'tls')
  if (typeof tls !== 'object' || tls === null) return []
  const names = ['ca', 'cert', 'key'].map((name): unknown => Reflect.get(tls, name))
  return names.filter((name) => typeof name === 'string' && name !== '' && !name.includes('-----BEGIN')) as string[]
}

/** A copy without what hides secrets from JSON. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]))
}
