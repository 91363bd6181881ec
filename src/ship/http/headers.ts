// The options `token` and `headers` of sinks over HTTP.

import { validateHeaderName, validateHeaderValue } from 'node:http'
import type convict from 'convict'
import { TailraceError } from '../../errors.ts'
import { text } from '../../option.ts'

export interface HeaderOptions {
  readonly token: string
  readonly headers: Readonly<Record<string, string>>
}

export const headerSchema: convict.Schema<HeaderOptions> = {
  token: text('Sent as `Authorization: Bearer …`.', { sensitive: true }),
  headers: { doc: 'More headers; values may be secrets.', format: Object, default: {}, sensitive: true },
}

/** What belongs to the connection or is made here: RFC 9110 section 7.6.1, RFC 9112 section 6. */
const reserved = new Set(
  (
    'connection content-encoding content-length expect host idempotency-key keep-alive proxy-authorization ' +
    'proxy-connection te trailer transfer-encoding upgrade'
  ).split(' '),
)

/** The headers that each request has, names in small letters. Throws `sink_misconfigured`; no value is in a message. */
export function readHeaders({ headers, token }: HeaderOptions, sink: string): Record<string, string> {
  const read: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (reserved.has(lower)) throw refused(sink, name, 'is set by Tailrace itself')
    if (Object.hasOwn(read, lower)) throw refused(sink, name, 'is there twice')
    if (!canBeSent(lower, value)) throw refused(sink, name, 'cannot be sent')
    read[lower] = value
  }
  if (token === '') return read
  if (Object.hasOwn(read, 'authorization')) throw refused(sink, 'authorization', 'is what token sets: leave one out')
  const authorization = `Bearer ${token}`
  if (canBeSent('authorization', authorization)) return { ...read, authorization }
  throw new TailraceError('sink_misconfigured', `${sink}: token has characters that a header cannot have`)
}

/** What must be in no message. */
export function headerSecrets({ headers, token }: HeaderOptions): string[] {
  return [token, ...Object.values(headers)]
}

function canBeSent(name: string, value: unknown): value is string {
  try {
    if (typeof value !== 'string') return false
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}

function refused(sink: string, name: string, why: string): TailraceError {
  return new TailraceError('sink_misconfigured', `${sink}: header ${JSON.stringify(name)} ${why}`)
}
