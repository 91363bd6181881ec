// The client of a Kafka cluster that a sink keeps from send to send, made anew after every error.

import { TailraceError } from '../../errors.ts'
import { deadline } from '../deadline.ts'
import { openKafkaClient, type KafkaClient, type KafkaLibrary, type KafkaTarget } from './kafka-client.ts'
import { kafkaError } from './kafka-errors.ts'
import type { Phase } from '../network-errors.ts'
import { optionalModule } from '../optional-module.ts'
import { orAborted } from '../or-aborted.ts'

/** One use of the client. */
export interface KafkaUse {
  readonly client: KafkaClient
  /** From now on records may arrive, so that an error is in doubt. */
  beginSending(): void
  /** Waits for the work of the client, as long as there is time for it. */
  wait<T>(work: Promise<T>): Promise<T>
  /** Makes the next use begin anew: what the client still had in mind after an error might do harm. */
  drop(): void
}

export interface KeptKafkaClient extends Disposable {
  /**
   * One after another: parallel sends would share the producer's sequence numbers, and an error of one would spoil
   * those of the others. Rejects with a coded error, or with the signal's reason as soon as it fires.
   */
  use<T>(signal: AbortSignal, work: (its: KafkaUse) => Promise<T>): Promise<T>
}

const libraryPackage = { sink: 'kafka', install: '@platformatic/kafka@2.12.1' }

export function keepKafkaClient(target: KafkaTarget, load: () => Promise<KafkaLibrary>): KeptKafkaClient {
  const { where, timeoutMs } = target
  const closed = new AbortController()
  let turn: Promise<unknown> = Promise.resolve()
  let client: KafkaClient | undefined

  function drop(): void {
    client?.destroy()
    client = undefined
  }

  async function run<T>(signal: AbortSignal, work: (its: KafkaUse) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    using limit = deadline(timeoutMs, signal)
    const wait = <Result>(waited: Promise<Result>): Promise<Result> => orAborted(waited, limit.signal)
    let phase = 'connecting' as Phase
    try {
      const library = await wait(optionalModule(libraryPackage, load))
      client ??= openKafkaClient(library, target)
      return await work({ client, wait, drop, beginSending: () => void (phase = 'sending') })
    } catch (error) {
      drop()
      signal.throwIfAborted()
      if (!limit.expired) throw kafkaError(error, { where, phase, events: 1 })
      const message = `${where}: no answer within ${timeoutMs} ms`
      throw new TailraceError('sink_timeout', message, { cause: error, inDoubt: phase === 'sending' })
    }
  }

  return {
    async use(signal, work) {
      const either = AbortSignal.any([signal, closed.signal])
      const mine = turn.then(() => run(either, work))
      turn = mine.catch(() => undefined)
      return orAborted(mine, either)
    },
    [Symbol.dispose]() {
      closed.abort(new TailraceError('sink_unreachable', `${where}: the destination was closed`, { inDoubt: true }))
      drop()
    },
  }
}
