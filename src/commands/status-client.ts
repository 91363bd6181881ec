// Asks a running daemon for its status.

import { request } from 'undici'
import { loadConfig } from '../config.ts'
import { TailraceError } from '../errors.ts'
import { resolveReferences } from '../secrets.ts'
import type { StatusPicture } from '../telemetry/status.ts'
import type { Terminal } from './command.ts'
import { registers } from './registers.ts'

export interface DaemonAddress {
  readonly url: string
  /** Empty: none. */
  readonly token: string
}

export interface AddressOptions {
  readonly config: string
  /** Instead of what the configuration says. */
  readonly url: string | undefined
  /** `env:NAME` or `file:PATH`. */
  readonly tokenFrom: string | undefined
}

/** Where the daemon is, and its token. That of the configuration is sent only to where the configuration says. */
export async function addressOf(options: AddressOptions, terminal: Terminal): Promise<DaemonAddress> {
  const given = options.tokenFrom === undefined ? undefined : tokenFrom(options.tokenFrom, terminal)
  if (options.url !== undefined) return { url: options.url.replace(/\/+$/, ''), token: given ?? '' }
  const { http } = await loadConfig(options.config, terminal.env, registers)
  return { url: urlOf(http), token: given ?? http.token }
}

/** The address that something on the same machine reaches it at. */
export function urlOf(http: { readonly host: string; readonly port: number }): string {
  const host = http.host === '0.0.0.0' ? '127.0.0.1' : http.host === '::' ? '::1' : http.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${http.port}`
}

function tokenFrom(source: string, terminal: Terminal): string {
  // Not repeated in the message: it may be the token itself, put in the wrong place.
  if (!/^(env|file):./.test(source))
    throw new TailraceError('misuse', '--token-from wants env:NAME or file:PATH, never the token itself.')
  const found = resolveReferences(`\${${source}}`, terminal.env, '.')
  if ('value' in found) return found.value
  throw new TailraceError('secret_missing', `--token-from ${'missing' in found ? found.missing : found.invalid}`)
}

const timeoutMs = 10_000

/** Rejects with `daemon_unreachable` or `daemon_refused`, or with the signal's reason. */
export async function fetchPicture(address: DaemonAddress, signal: AbortSignal): Promise<StatusPicture> {
  const { url, token } = address
  try {
    const { statusCode, body } = await request(`${url}/api/status`, {
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    if (statusCode === 200) return (await body.json()) as StatusPicture
    await body.dump()
    if (statusCode !== 401) throw new Error(`it answered ${statusCode}`)
  } catch (cause) {
    signal.throwIfAborted()
    const text = `No Tailrace answers at ${url}: start it, or name another --url.`
    throw new TailraceError('daemon_unreachable', text, { cause })
  }
  const text = token === '' ? 'wants a token' : 'wants another token'
  throw new TailraceError('daemon_refused', `The Tailrace at ${url} ${text}: name it with --token-from.`)
}
