// How an answer leaves: plain, compressed, or broken on purpose.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { refuse, type Answer } from './envelope.ts'
import type { Fault } from './faults.ts'

export async function deliver(request: FastifyRequest, reply: FastifyReply, answer: Answer): Promise<void> {
  const { status, bytes } = answer
  reply.code(status).header('content-type', 'application/json')
  if (bytes.plain.length < 1024 || !wantsGzip(request)) {
    reply.send(bytes.plain)
    return
  }
  bytes.gzipped ??= await compress(bytes.plain, { level: 1 })
  reply.header('content-encoding', 'gzip').header('vary', 'accept-encoding').send(bytes.gzipped)
}

export interface Breakage {
  readonly fault: Fault
  /** The service's clock, Unix milliseconds. */
  readonly now: number
  makeAnswer(): Answer
}

/** Lets the fault happen. Returns the outcome, for the statistics. */
export async function deliverFault(reply: FastifyReply, { fault, now, makeAnswer }: Breakage): Promise<string> {
  const { kind, retryAfterSeconds } = fault
  const afterSeconds = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  switch (kind) {
    case '429':
      sendRefusal(reply, refuse(429, { error: 'Too many requests' }), afterSeconds)
      return '429'
    case '429-date': {
      const date = new Date(now + (retryAfterSeconds ?? 1) * 1000).toUTCString()
      sendRefusal(reply, refuse(429, { error: 'Too many requests' }), { 'retry-after': date })
      return '429'
    }
    case '503':
      sendRefusal(reply, refuse(503, 'Service unavailable'), afterSeconds)
      return '503'
    case '500':
      sendRefusal(reply, refuse(500, 'Internal server error'), {})
      return '500'
    case '403':
      sendRefusal(reply, refuse(403, 'User not authenticated'), {})
      return '403'
    case '400':
      sendRefusal(reply, refuse(400, { error: 'Invalid JSON' }), {})
      return '400'
    case '409':
      sendRefusal(reply, refuse(409, 'Already exists'), {})
      return '409'
    case 'swallow':
      reply.hijack()
      await once(reply.raw, 'close')
      return 'swallow'
    case '423':
      sendRefusal(reply, refuse(423, 'Rules are locked while a snapshot is restored'), {})
      return '423'
    case '503-html':
    case 'html-200': {
      const status = kind === 'html-200' ? 200 : 503
      reply
        .code(status)
        .headers({ ...afterSeconds, 'content-type': 'text/html' })
        .send(gatewayPage)
      return kind
    }
    case 'inner-error': {
      const inner = refuse(fault.status ?? 500, 'Internal server error')
      sendRefusal(reply, { ...inner, status: 200 }, {})
      return 'inner-error'
    }
    case 'truncate': {
      const { status, bytes } = makeAnswer()
      const half = bytes.plain.subarray(0, bytes.plain.length >>> 1)
      reply.code(status).header('content-type', 'application/json').send(half)
      return 'truncate'
    }
    case 'cut':
    case 'slow':
    case 'stall':
    case 'reset':
      await breakConnection(reply, kind, { answer: makeAnswer(), seconds: fault.seconds ?? 5 })
      return kind
  }
}

const compress = promisify(gzip)

const gatewayPage =
  '<!DOCTYPE html><html><head><title>Service Temporarily Unavailable</title></head>' +
  '<body><center><h1>Service Temporarily Unavailable</h1></center><hr><center>gateway</center></body></html>'

function wantsGzip(request: FastifyRequest): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(String(request.headers['accept-encoding'] ?? ''))
}

function sendRefusal(reply: FastifyReply, answer: Answer, headers: Readonly<Record<string, string>>): void {
  reply
    .code(answer.status)
    .headers({ ...headers, 'content-type': 'application/json' })
    .send(answer.bytes.plain)
}

interface Breaking {
  readonly answer: Answer
  readonly seconds: number
}

async function breakConnection(
  reply: FastifyReply,
  kind: 'cut' | 'slow' | 'stall' | 'reset',
  { answer, seconds }: Breaking,
): Promise<void> {
  reply.hijack()
  const { raw } = reply
  const { plain } = answer.bytes
  const gone = once(raw, 'close').catch(() => undefined)
  if (kind === 'stall') return void (await gone)
  if (kind === 'reset') return void raw.socket?.resetAndDestroy()
  raw.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': plain.length })
  if (kind === 'cut') {
    raw.write(plain.subarray(0, plain.length >>> 1), () => raw.destroy())
    return
  }
  const steps = 20
  for (let step = 0; step < steps && !raw.destroyed; step++) {
    raw.write(plain.subarray((plain.length * step) / steps, (plain.length * (step + 1)) / steps))
    await Promise.race([delay((seconds * 1000) / steps), gone])
  }
  raw.end()
}
