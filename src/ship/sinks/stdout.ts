// Lines on the standard output: for a look, and for containers whose output is collected.

import type { Writable } from 'node:stream'
import { TailraceError } from '../../errors.ts'
import { allTaken, defineSink, type Sink } from '../sink.ts'
import { lines } from '../stream/stream-framing.ts'

export const stdout = defineSink<object>({
  name: 'stdout',
  summary: 'Writes one line per event to the standard output.',
  confirms: 'The operating system has taken the lines; whoever reads them may still lose them.',
  options: {},
  limits: () => ({ events: 10_000, bytes: 1024 * 1024 }),
  open: () => writeTo(process.stdout),
})

/** Writes to a stream that is not ours to close. */
export function writeTo(stream: Writable): Sink {
  const closed = new AbortController()
  const ignore = () => undefined
  stream.on('error', ignore) // every write has its own answer; an error without a listener would end the process
  return {
    async send(records, _batch, signal) {
      signal.throwIfAborted()
      if (records.length === 0) return allTaken
      if (closed.signal.aborted || !stream.writable) throw gone('closed', false)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const abort = () => reject(signal.reason)
      const stop = () => reject(gone('closed', true))
      signal.addEventListener('abort', abort, { once: true })
      closed.signal.addEventListener('abort', stop, { once: true })
      stream.write(lines(records), (error) => (error ? reject(gone(error, true)) : resolve()))
      await promise.finally(() => {
        signal.removeEventListener('abort', abort)
        closed.signal.removeEventListener('abort', stop)
      })
      return allTaken
    },
    async look(signal) {
      signal.throwIfAborted()
      if (!stream.writable) throw gone('closed', false)
      return { findings: ['the standard output is open'] }
    },
    async [Symbol.asyncDispose]() {
      closed.abort()
      stream.off('error', ignore)
    },
  }
}

function gone(cause: unknown, inDoubt: boolean): TailraceError {
  const words = cause instanceof Error ? cause.message : String(cause)
  return new TailraceError('sink_unreachable', `stdout: nobody takes the lines (${words})`, { cause, inDoubt })
}
