// A signal that also fires after a time, and whose timer ends with its scope.

export interface Deadline extends Disposable {
  readonly signal: AbortSignal
  /** Whether the time ran out, rather than the caller's signal firing. */
  readonly expired: boolean
}

export function deadline(ms: number, signal: AbortSignal): Deadline {
  const controller = new AbortController()
  let expired = false
  const timer = setTimeout(() => {
    expired = true
    controller.abort(new DOMException(`Nothing within ${ms} ms`, 'TimeoutError'))
  }, ms)
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    get expired() {
      return expired
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    },
  }
}
