// Who may read metrics and status: whoever has the token, where there is one.

import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

export interface Access {
  /** Whether the value of an `Authorization` header has the token; always, where there is none. */
  permits(authorization: string | undefined): boolean
}

/** Values of `WWW-Authenticate`: Bearer (RFC 6750) for programs; Basic (RFC 7617) so that a browser asks. */
export const challenges = ['Bearer realm="Tailrace"', 'Basic realm="Tailrace", charset="UTF-8"'] as const

/** `token` empty: everybody may. With Basic the token is the password; the user does not matter. */
export function createAccess(token: string): Access {
  if (token === '') return { permits: () => true }
  const wanted = digest(token)
  return {
    permits(authorization = '') {
      const [, scheme = '', value = ''] = /^(bearer|basic) +(\S+) *$/i.exec(authorization) ?? []
      const given = scheme.toLowerCase() === 'basic' ? passwordOf(value) : value
      // Of digests, so that neither content nor length shows in the time it takes.
      return timingSafeEqual(digest(given), wanted)
    },
  }
}

/** What an operator should know of this way to listen, in sentences. */
export function exposureWarnings(host: string, token: string): string[] {
  if (token !== '' || isLoopback(host)) return []
  return [
    `http.host is ${host}, and there is no http.token: whoever reaches the port reads tenants, destinations and errors. Set http.token, or keep the port in a network of its own.`,
  ]
}

function isLoopback(host: string): boolean {
  const bare = host.toLowerCase()
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'))
}

function passwordOf(base64: string): string {
  const text = Buffer.from(base64, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? '' : text.slice(colon + 1)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
