// A destination as the queue wants it: a sink that is opened when it is first needed.

import { statSync } from 'node:fs'
import { filesIn } from './config.ts'
import type { Destination } from './config.ts'
import type { Receiver } from './queue/delivery.ts'
import { digestOf } from './secrets.ts'
import type { Sink } from './ship/sink.ts'
import type { DestinationFact, Report } from './telemetry/report.ts'

export interface OpenReceiver extends Receiver {
  /** See `receiverDigest`. */
  readonly digest: string
  /** As `Sink.certificateExpires`. */
  certificateExpires(): number | undefined
  dispose(): Promise<void>
}

/** `digest`: as `receiverDigest` has it. */
export function openReceiver(destination: Destination, digest: string): OpenReceiver {
  const { name, format, sink: type, options, concurrency } = destination
  // One that cannot be opened (an unreadable certificate, say) halts itself only, and is tried at each send.
  let sink: Sink | undefined
  const open = (): Sink => (sink ??= type.open(options))
  const { contentType } = format
  return {
    name,
    digest,
    limits: type.limits(options),
    concurrencyMax: concurrency,
    send: async (records, sendId, signal) => open().send(records, { sendId, contentType }, signal),
    certificateExpires: () => sink?.certificateExpires?.(),
    dispose: async () => sink?.[Symbol.asyncDispose](),
  }
}

export function tellCertificates(receivers: Iterable<OpenReceiver>, report: Pick<Report, 'certificateSeen'>): void {
  for (const { name: destination, certificateExpires } of receivers) {
    const expiresAt = certificateExpires()
    if (expiresAt !== undefined) report.certificateSeen({ destination, expiresAt })
  }
}

/** What a person should know of it. */
export function factOf({ name, sink, format, options }: Destination): DestinationFact {
  const confirmed = sink.unconfirmed?.(options) !== true
  return { destination: name, sink: sink.name, format: format.name, confirms: sink.confirms, confirmed }
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
  return digestOf([name, sink.name, format.name, options, concurrency, files])
}
