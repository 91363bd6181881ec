// Lets the AWS SDK go out over our own exchange, so that TLS options, proxies, time-outs and errors are those of every
// sink over HTTP. The SDK signs requests and reads answers.

import { Buffer } from 'node:buffer'
import type { HttpExchange, HttpRequest } from '../http/exchange.ts'

/** What the SDK hands to a request handler (`HttpRequest` of `@smithy/types`), as far as S3 and STS need it. */
interface SdkRequest {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly query?: Readonly<Record<string, string | string[] | null>>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}

interface SdkAnswer {
  readonly response: {
    readonly statusCode: number
    readonly headers: Record<string, string>
    readonly body: Uint8Array
  }
}

export interface SdkRequests extends AsyncDisposable {
  handle(request: SdkRequest, more?: { readonly abortSignal?: AbortSignal }): Promise<SdkAnswer>
  /** As `HttpExchange.describe`; nothing before the first request. */
  describe(): string[]
  /** As `Sink.certificateExpires`: of several origins, the first that ends. */
  certificateExpires(): number | undefined
}

const never = new AbortController().signal

/**
 * `open` is called once for each origin. Only the SDK knows them: the bucket's name and the region may be part of the
 * host, and it sends the requests for temporary credentials the same way, to another host.
 */
export function sdkRequests(open: (url: URL) => HttpExchange): SdkRequests {
  const exchanges = new Map<string, HttpExchange>()
  return {
    async handle(request, { abortSignal = never } = {}) {
      abortSignal.throwIfAborted()
      const { protocol, hostname, port, path, query, headers, body } = request
      const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`)
      const exchange = exchanges.get(url.origin) ?? open(url)
      exchanges.set(url.origin, exchange)
      const method = request.method as HttpRequest['method']
      const wanted = { method, path: `${path}${queryText(query)}`, headers, ...(body === undefined ? {} : { body }) }
      const answer = await exchange.ask(wanted, abortSignal)
      const response = { statusCode: answer.status, headers: oneEach(answer.headers), body: Buffer.from(answer.text) }
      return { response }
    },
    describe: () => [...exchanges.values()].flatMap((exchange) => exchange.describe()),
    certificateExpires() {
      const ends = [...exchanges.values()].flatMap((exchange) => exchange.certificateExpires() ?? [])
      return ends.length === 0 ? undefined : Math.min(...ends)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...exchanges.values()].map((exchange) => exchange[Symbol.asyncDispose]()))
    },
  }
}

function queryText(query: SdkRequest['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, values]) => {
    const list = Array.isArray(values) ? values : [values]
    return list.map((value) => (value === null ? escape(name) : `${escape(name)}=${escape(value)}`))
  })
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** As the signature has it (RFC 3986 section 2.3: what is not unreserved is escaped). */
function escape(text: string): string {
  const escaped = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, escaped)
}

function oneEach(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]))
}
