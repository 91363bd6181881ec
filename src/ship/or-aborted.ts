// For libraries that take no signal, or look at it now and then at best.

/** What `work` comes to, or the signal's reason as soon as it fires. The work itself is the caller's to end. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  work.catch(() => undefined) // whoever stopped waiting has had an error already
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
