// Hands a trace on as W3C Trace Context has it (https://www.w3.org/TR/trace-context/#traceparent-header): its
// `traceparent` alone, for we are nobody's middleman and keep no state of other vendors.

import type * as Api from '@opentelemetry/api'
import type { Context, TextMapPropagator } from '@opentelemetry/api'

const header = 'traceparent'
const pattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** `api`: the module, which is imported only when traces are wanted. */
export function traceContext({ isSpanContextValid, trace }: typeof Api): TextMapPropagator {
  return {
    inject(context, carrier, setter) {
      const own = trace.getSpanContext(context)
      if (own === undefined || !isSpanContextValid(own)) return
      const flags = own.traceFlags.toString(16).padStart(2, '0')
      setter.set(carrier, header, `00-${own.traceId}-${own.spanId}-${flags}`)
    },
    extract(context, carrier, getter): Context {
      const [text] = [getter.get(carrier, header)].flat()
      const [, traceId = '', spanId = '', flags = ''] = pattern.exec(text ?? '') ?? []
      const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
      return isSpanContextValid(parent) ? trace.setSpanContext(context, parent) : context
    },
    fields: () => [header],
  }
}
