// Google service accounts: the key file, and the signed assertion that a token is given for (RFC 7523).
// https://developers.google.com/identity/protocols/oauth2/service-account

import { Buffer } from 'node:buffer'
import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { TailraceError } from '../../errors.ts'

export interface ServiceAccount {
  readonly email: string
  /** Who gives tokens, and whom the assertion is for. */
  readonly tokenUri: string
  readonly keyId: string
  readonly key: KeyObject
}

/** JSON of a key, or the file it is in. Throws `sink_misconfigured`, never with what is in the key. */
export function readServiceAccount(value: string, sink: string): ServiceAccount {
  const unusable = (why: string, cause?: unknown) =>
    new TailraceError('sink_misconfigured', `${sink}: serviceAccount ${why}`, { cause })
  const fields = parse(value.trimStart().startsWith('{') ? value : readFile(value, unusable), unusable)
  const { client_email: email, private_key: pem, token_uri: uri, private_key_id: id } = fields
  if (typeof email !== 'string' || typeof pem !== 'string') throw unusable('has no client_email or no private_key')
  const tokenUri = typeof uri === 'string' ? uri : 'https://oauth2.googleapis.com/token'
  return { email, tokenUri, keyId: typeof id === 'string' ? id : '', key: readKey(pem, unusable) }
}

/** An assertion is good for an hour, which is also the life of the token. */
const assertionSeconds = 3600

/** `now` in Unix milliseconds. */
export function signAssertion({ email, tokenUri, keyId, key }: ServiceAccount, scope: string, now: number): string {
  const issued = Math.floor(now / 1000)
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === '' ? {} : { kid: keyId }) }
  const claims = { iss: email, scope, aud: tokenUri, iat: issued, exp: issued + assertionSeconds }
  const signed = `${base64url(header)}.${base64url(claims)}`
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
}

type Unusable = (why: string, cause?: unknown) => TailraceError

function readFile(path: string, unusable: Unusable): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    throw unusable(`is neither JSON nor a file that can be read (${code})`, error)
  }
}

function parse(json: string, unusable: Unusable): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Without the cause: its message quotes the text.
  }
  throw unusable('is no JSON object')
}

function readKey(pem: string, unusable: Unusable): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'rsa') return key
  } catch {
    // As above.
  }
  throw unusable('has a private_key that is no RSA key in PEM')
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
