// One HTTP request to the service and its whole answer, in bounded time and memory.

import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Dispatcher, Pool } from 'undici'
import type { TailraceError } from '../errors.ts'
import { breakage, failure, refusal, type RequestRef } from './failures.ts'

/** Of an error's body no more than this is read: it is shown, not used. */
const errorBytesMax = 65_536

export interface Exchange {
  readonly pool: Pool
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly headersMs: number
  /** For the whole body, not from chunk to chunk: a trickle must end, too. */
  readonly bodyMs: number
  readonly maxAnswerBytes: number
  readonly ref: RequestRef
  /** Called as soon as the headers are there or the attempt failed, once. */
  readonly onHeaders: (status: number) => void
}

export interface RawAnswer {
  /** What the service wrapped in its envelope. */
  readonly body: unknown
  readonly date: number | null
  readonly bytes: number
  readonly status: number
}

type Response = Dispatcher.ResponseData

/** Rejects with a `service_*` error, or with the signal's reason. */
export async function exchange(request: Exchange, signal: AbortSignal): Promise<RawAnswer> {
  let headersCame = false
  try {
    const response = await ask(request, signal)
    headersCame = true
    return await answerOf(request, response, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw breakage(request.ref, error, headersCame)
  }
}

async function ask(request: Exchange, signal: AbortSignal): Promise<Response> {
  let status = 0
  try {
    const response = await request.pool.request({
      method: 'POST',
      path: request.path,
      headers: request.headers,
      body: request.body,
      headersTimeout: request.headersMs,
      bodyTimeout: request.bodyMs,
      signal,
    })
    status = response.statusCode
    return response
  } finally {
    request.onHeaders(status)
  }
}

async function answerOf(request: Exchange, response: Response, signal: AbortSignal): Promise<RawAnswer> {
  const { statusCode: status, headers } = response
  const { ref } = request
  const date = dateOf(header(headers, 'date'))
  const facts = { date, retryAfter: header(headers, 'retry-after'), location: header(headers, 'location') }
  if (status < 200 || status > 299) {
    const body = await errorWords(request, response, signal)
    throw refusal(ref, { ...facts, status, body })
  }
  const bytes = await readBody(request, response, request.maxAnswerBytes)
  signal.throwIfAborted()
  const envelope = parse(ref, bytes)
  const inner = Number(envelope['status'] ?? status)
  if (inner >= 400) throw refusal(ref, { ...facts, status: inner, body: envelope['body'] })
  if (!('body' in envelope)) throw failure(ref, 'service_unreadable', 'the answer has no body in its envelope')
  return { body: envelope['body'], date, bytes: bytes.byteLength, status }
}

/** The body of an error, as JSON or text. An error whose body breaks off is still that error. */
async function errorWords(request: Exchange, response: Response, signal: AbortSignal): Promise<unknown> {
  let text: string
  try {
    text = (await readBody(request, response, errorBytesMax)).toString('utf8')
  } catch {
    signal.throwIfAborted()
    return undefined
  }
  try {
    const parsed: unknown = JSON.parse(text)
    return parsed
  } catch {
    return text
  }
}

const decompress = promisify(gunzip)

/** Collects and decodes the body. What is larger than `max`, before or after decoding, is not read to its end. */
async function readBody(request: Exchange, response: Response, max: number): Promise<Buffer> {
  const { body, headers } = response
  const encoding = (header(headers, 'content-encoding') ?? 'identity').trim().toLowerCase()
  const late = failure(request.ref, 'service_timeout', `the answer was not complete after ${request.bodyMs} ms`, {
    inDoubt: !request.ref.idempotent,
  })
  const timer = setTimeout(() => body.destroy(late), request.bodyMs)
  const chunks: Buffer[] = []
  let received = 0
  try {
    for await (const chunk of body) {
      const piece: Buffer = chunk
      received += piece.length
      // Leaving the loop destroys the body and its connection.
      if (received > max) throw tooLarge(request.ref, max)
      chunks.push(piece)
    }
  } finally {
    clearTimeout(timer)
  }
  const wire = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, received)
  if (encoding === 'identity') return wire
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw failure(request.ref, 'service_unreadable', 'the answer is in an encoding that was not asked for')
  }
  return decoded(request.ref, wire, max)
}

async function decoded(ref: RequestRef, wire: Buffer, max: number): Promise<Buffer> {
  try {
    // In as few pieces as can be guessed: each is a trip to another thread. JSON shrinks about tenfold.
    const chunkSize = Math.min(max, Math.max(65_536, wire.length * 12))
    return await decompress(wire, { maxOutputLength: max, chunkSize })
  } catch (error) {
    const bomb = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    throw bomb ? tooLarge(ref, max) : breakage(ref, error, true)
  }
}

function tooLarge(ref: RequestRef, max: number): TailraceError {
  return failure(ref, 'service_too_large', `the answer is larger than ${max} bytes`, { inDoubt: !ref.idempotent })
}

function parse(ref: RequestRef, bytes: Buffer): Record<string, unknown> {
  const unreadable = (what: string): TailraceError =>
    failure(ref, 'service_unreadable', what, { inDoubt: !ref.idempotent })
  let parsed: unknown
  try {
    // Faster than latin1, or than parsing the buffer.
    parsed = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    // The parser's message quotes the answer: it is left out.
    throw error instanceof SyntaxError || error instanceof RangeError ? unreadable(notJson(bytes)) : error
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed }
  throw unreadable(`the answer is not in an envelope, but ${Array.isArray(parsed) ? 'a list' : typeof parsed}`)
}

function notJson(bytes: Buffer): string {
  if (bytes.length === 0) return 'the answer is empty'
  const start = bytes.subarray(0, 64).toString('latin1').trimStart()
  if (start.startsWith('<')) return 'the answer is a page of HTML: a gateway or proxy may be in between'
  return /^[{[]/.test(start) ? 'the answer was cut short or is not JSON' : 'the answer is not JSON'
}

function header(headers: Response['headers'], name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}

function dateOf(text: string | null): number | null {
  const ms = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? null : ms
}
