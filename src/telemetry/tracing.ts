// OpenTelemetry traces, sent as OTLP over HTTP: off unless there is an endpoint. Its packages are imported only then.

import type { Span } from '@opentelemetry/api'
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace'
import type { Telemetry } from 'bullmq'
import { asTailraceError, TailraceError } from '../errors.ts'
import type { Attributes, Trace } from './trace.ts'
import { traceContext } from './trace-context.ts'

export interface TracingOptions {
  /** The whole URL; empty: off. */
  readonly endpoint: string
  /** 0 to 1. */
  readonly sampleRatio: number
  /** Secrets may be in them. */
  readonly headers: Readonly<Record<string, string>>
  readonly version: string
  /** Told when traces could not be sent. They are lost, and nothing else is. */
  readonly failed: (error: TailraceError) => void
}

export interface Tracing {
  readonly trace: Trace
  /** For queues and workers of BullMQ: they hand a trace on from who adds a job to who takes it. */
  readonly telemetry: Telemetry
  /** Sends what there is, for up to so many milliseconds, and ends. Never rejects. */
  close(withinMs: number): Promise<void>
}

type Modules = Awaited<ReturnType<typeof importModules>>

/** One after the other, for the import of what is missing must be the error that is seen. */
async function importModules() {
  return {
    api: await import('@opentelemetry/api'),
    hooks: await import('@opentelemetry/context-async-hooks'),
    otlp: await import('@opentelemetry/exporter-trace-otlp-http'),
    resources: await import('@opentelemetry/resources'),
    sdk: await import('@opentelemetry/sdk-trace'),
    bullmq: await import('bullmq-otel'),
  }
}

const packages =
  '@opentelemetry/api @opentelemetry/context-async-hooks @opentelemetry/exporter-trace-otlp-http ' +
  '@opentelemetry/resources @opentelemetry/sdk-trace bullmq-otel'

// Spans that wait to be sent. What comes beyond is dropped: traces must never hold up events, nor fill the memory.
const queue = { maxQueueSize: 2_048, maxExportBatchSize: 512, scheduledDelayMillis: 2_000, exportTimeoutMillis: 10_000 }
const spanLimits = { attributeValueLengthLimit: 256, attributeCountLimit: 32, eventCountLimit: 8, linkCountLimit: 8 }

/**
 * Undefined where there is no endpoint. Rejects with `config_invalid` where a package is missing. There is one at a
 * time in a process: OpenTelemetry keeps its parts in global places.
 */
export async function openTracing(
  options: TracingOptions,
  load: () => Promise<Modules> = importModules,
): Promise<Tracing | undefined> {
  if (options.endpoint === '') return undefined
  const modules = await load().catch((error: unknown) => {
    const message = `tracing.endpoint needs packages that cannot be loaded; run: npm install ${packages}`
    throw new TailraceError('config_invalid', message, { cause: error })
  })
  const { api, sdk, resources, hooks, bullmq } = modules
  const processor = new sdk.BatchSpanProcessor({ ...queue, exporter: exporterOf(options, modules) })
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': 'tailrace', 'service.version': options.version }),
    sampler: samplerOf(options.sampleRatio, modules),
    spanLimits,
    spanProcessors: [processor],
  })
  api.context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable())
  api.propagation.setGlobalPropagator(traceContext(api))
  api.trace.setGlobalTracerProvider(provider)

  return {
    trace: traceWith(modules, options.version),
    telemetry: new bullmq.BullMQOtel({ tracerName: 'tailrace', version: options.version }),
    async close(withinMs) {
      await settledWithin(withinMs, provider.shutdown())
      for (const part of [api.trace, api.context, api.propagation]) part.disable()
    },
  }
}

function traceWith({ api }: Modules, version: string): Trace {
  const tracer = api.trace.getTracer('tailrace', version)
  return async (name, attributes, work) =>
    tracer.startActiveSpan(name, { attributes: prefixed(attributes) }, async (span: Span) => {
      try {
        return await work((more) => span.setAttributes(prefixed(more)))
      } catch (thrown) {
        // The code alone: it says what happened, and the words of others are not ours to pass on.
        span.setAttribute('error.type', asTailraceError(thrown).code)
        span.setStatus({ code: api.SpanStatusCode.ERROR })
        throw thrown
      } finally {
        span.end()
      }
    })
}

function prefixed(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`tailrace.${name}`, value]))
}

/** A trace begins with a job that is taken, not with BullMQ's looking for one: that happens all the time. */
function samplerOf(ratio: number, { api, sdk }: Modules): Sampler {
  const share = new sdk.TraceIdRatioBasedSampler(ratio)
  const root: Sampler = {
    shouldSample(context, traceId, _name, kind) {
      if (kind !== api.SpanKind.CONSUMER) return { decision: sdk.SamplingDecision.NOT_RECORD }
      return share.shouldSample(context, traceId)
    },
    toString: () => `jobs taken, ${share.toString()}`,
  }
  return new sdk.ParentBasedSampler({ root })
}

function exporterOf({ endpoint, headers, failed }: TracingOptions, { otlp }: Modules): SpanExporter {
  const exporter = new otlp.OTLPTraceExporter({
    url: endpoint,
    headers: { ...headers },
    timeoutMillis: queue.exportTimeoutMillis,
    concurrencyLimit: 2,
  })
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined) failed(unsent(result.error))
        done(result)
      })
    },
    forceFlush: async () => exporter.forceFlush(),
    shutdown: async () => exporter.shutdown(),
  }
}

/** Without the text of the answer: it may be anything. */
function unsent(error: Error): TailraceError {
  const code = 'code' in error && (typeof error.code === 'number' || typeof error.code === 'string') ? error.code : ''
  return new TailraceError('tracing_failed', `traces could not be sent: ${error.name} ${code}`.trim())
}

async function settledWithin(ms: number, work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), Math.max(0, ms))
  try {
    await Promise.race([work.catch(() => undefined), late])
  } finally {
    clearTimeout(timer)
  }
}
