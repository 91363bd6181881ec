// Signatures of Standard Webhooks 1.0.0 (github.com/standard-webhooks, spec/standard-webhooks.md): symmetric, `v1`.

import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import { TailraceError } from '../../errors.ts'

/**
 * The headers of one attempt: `webhook-id` stays while the same body is sent again, the timestamp is the attempt's.
 * The signature has one element for each key, so that a receiver may have either while keys are exchanged.
 */
export type Sign = (sendId: string, body: Uint8Array, unixMs: number) => Record<string, string>

const prefix = 'whsec_'

/** Undefined: no keys, no signatures. Throws `sink_misconfigured` for what is no key, without what is in it. */
export function readSigner(keys: readonly string[], sink: string): Sign | undefined {
  if (keys.length === 0) return undefined
  const secrets = keys.map((key, index) => readKey(key, `${sink}: signingKeys[${index}]`))
  return (sendId, body, unixMs) => {
    const timestamp = String(Math.floor(unixMs / 1000))
    const signatures = secrets.map((secret) => {
      const hmac = createHmac('sha256', secret).update(`${sendId}.${timestamp}.`).update(body)
      return `v1,${hmac.digest('base64')}`
    })
    return {
      'webhook-id': sendId,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    }
  }
}

/** Strict, for Buffer skips what is no base64: receivers would then have another key. */
function readKey(key: unknown, where: string): Buffer {
  const text = typeof key === 'string' && key.startsWith(prefix) ? key.slice(prefix.length) : ''
  const secret = Buffer.from(text, 'base64')
  const isExact = secret.toString('base64').replaceAll('=', '') === text.replace(/={1,2}$/, '')
  if (isExact && secret.length >= 24 && secret.length <= 64) return secret
  throw new TailraceError('sink_misconfigured', `${where} is not ${prefix} and 24 to 64 bytes in base64`)
}
