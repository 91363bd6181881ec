// The steps of an event's way as spans, put around the functions that the stages are handed: the stages know nothing
// of it, and without tracing they are handed the functions themselves.

import type { PollPorts } from './poll/ports.ts'
import type { Batch } from './queue/batch.ts'
import type { Receiver } from './queue/delivery.ts'
import type { Lease } from './queue/store.ts'
import type { Trace } from './telemetry/trace.ts'

/** A page that is asked for, its encoding and its commit. */
export function tracedPorts(ports: PollPorts<Lease, Batch>, trace: Trace | undefined): PollPorts<Lease, Batch> {
  if (trace === undefined) return ports
  const { store } = ports
  return {
    ...ports,
    async list(sub, operation, query, signal) {
      const { tenant, stream } = sub
      const asked = { tenant, stream, operation, offset: query.offset, limit: query.limit }
      return trace('page', asked, async (note) => {
        const answer = await ports.list(sub, operation, query, signal)
        note({ records: answer.body.length, bytes: answer.bytes })
        return answer
      })
    },
    async encode(sub, events, only) {
      const { tenant, stream } = sub
      return trace('encode', { tenant, stream, events: events.length }, async () => ports.encode(sub, events, only))
    },
    store: {
      ...store,
      async commit(lease, commit) {
        const { batches, seen } = commit
        const brought = { key: lease.key, batches: batches.length, seen: seen.length }
        await trace('commit', brought, async () => store.commit(lease, commit))
      },
    },
  }
}

/** Each send of a batch, or of a part of it. */
export function tracedReceiver<R extends Receiver>(receiver: R, trace: Trace | undefined): R {
  if (trace === undefined) return receiver
  return {
    ...receiver,
    async send(records, sendId, signal) {
      const sent = { destination: receiver.name, events: records.length, send: sendId }
      return trace('ship', sent, async (note) => {
        const untaken = await receiver.send(records, sendId, signal)
        note({ untaken: untaken.length })
        return untaken
      })
    },
  }
}
