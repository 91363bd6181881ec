// The `tls` options that network sinks share. There is no option that switches verification off.

import { readFileSync } from 'node:fs'
import type { X509Certificate } from 'node:crypto'
import { createSecureContext, type ConnectionOptions, type SecureVersion } from 'node:tls'
import type convict from 'convict'
import { TailraceError } from '../errors.ts'

export interface TlsOptions {
  readonly ca: string
  readonly cert: string
  readonly key: string
  readonly servername: string
  readonly minVersion: string
  readonly fingerprint: string
}

export const tlsSchema: convict.Schema<TlsOptions> = {
  ca: {
    doc: 'Issuers that are trusted: a file with PEM certificates, or PEM text. Empty: those Node.js comes with.',
    format: String,
    default: '',
  },
  cert: {
    doc: 'Our certificate, for receivers that want one: a file with PEM certificates (ours first), or PEM text.',
    format: String,
    default: '',
  },
  key: { doc: 'Key of our certificate: a PEM file, or PEM text.', format: String, default: '', sensitive: true },
  servername: {
    doc: 'The host name that the certificate of the receiver must have. Empty: the host of the address.',
    format: String,
    default: '',
  },
  minVersion: { doc: 'Oldest TLS version to accept.', format: ['TLSv1.2', 'TLSv1.3'], default: 'TLSv1.2' },
  fingerprint: {
    doc: 'SHA-256 fingerprint (hex, colons optional) that the certificate of the receiver must have. Without `ca`, it is trusted by this alone, as RFC 5425 section 4.2.2 describes for self-signed certificates.',
    format: String,
    default: '',
  },
}

export interface TlsSetup {
  readonly connection: Pick<ConnectionOptions, 'secureContext' | 'rejectUnauthorized' | 'servername'>
  /** Whether there is a pin. Then sessions are not resumed: a resumed one does not show the certificate. */
  readonly pinned: boolean
  /** Throws `sink_certificate` when the certificate is not the pinned one. */
  checkPin(certificate: X509Certificate | undefined): void
}

/** Reads the files once. Throws `sink_misconfigured` for what cannot be used; never with what is in a key. */
export function readTls(options: TlsOptions): TlsSetup {
  const pin = options.fingerprint.replaceAll(':', '').toUpperCase()
  if (pin !== '' && !/^[0-9A-F]{64}$/.test(pin)) {
    throw new TailraceError('sink_misconfigured', 'tls.fingerprint is not a SHA-256 fingerprint: 64 hexadecimal digits')
  }
  if ((options.cert === '') !== (options.key === '')) {
    throw new TailraceError('sink_misconfigured', 'tls.cert and tls.key are needed together')
  }
  const pem = { ...pemOf('ca', options.ca), ...pemOf('cert', options.cert), ...pemOf('key', options.key) }
  const minVersion = options.minVersion as SecureVersion
  const connection: TlsSetup['connection'] = {
    secureContext: secureContext({ ...pem, minVersion }),
    rejectUnauthorized: pin === '' || options.ca !== '',
    ...(options.servername === '' ? {} : { servername: options.servername }),
  }
  return {
    connection,
    pinned: pin !== '',
    checkPin(certificate) {
      if (pin === '' || certificate?.fingerprint256.replaceAll(':', '') === pin) return
      const found = certificate?.fingerprint256 ?? 'none'
      throw new TailraceError('sink_certificate', `the certificate has fingerprint ${found}, not tls.fingerprint`)
    },
  }
}

function pemOf(name: 'ca' | 'cert' | 'key', value: string): Partial<Record<'ca' | 'cert' | 'key', string>> {
  if (value === '') return {}
  if (value.includes('-----BEGIN')) return { [name]: value }
  try {
    return { [name]: readFileSync(value, 'utf8') }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    throw new TailraceError('sink_misconfigured', `tls.${name}: cannot read the file (${code})`, { cause: error })
  }
}

function secureContext(options: Parameters<typeof createSecureContext>[0]): ReturnType<typeof createSecureContext> {
  try {
    return createSecureContext(options)
  } catch (error) {
    const words = error instanceof Error ? error.message : 'unusable'
    throw new TailraceError('sink_misconfigured', `tls.ca, tls.cert or tls.key cannot be used: ${words}`, {
      cause: error,
    })
  }
}
