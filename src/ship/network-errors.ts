// What the network and TLS say, as coded errors.

import { TailraceError, type ErrorCode } from '../errors.ts'

/** When it happened: before the receiver could have got anything, or after we began to send. */
export type Phase = 'connecting' | 'sending'

/** `where` names the receiver for an operator: `syslog 192.0.2.1:6514`. */
export function networkError(error: unknown, where: string, phase: Phase): TailraceError {
  if (error instanceof TailraceError) return error
  const code = codeOf(error)
  const words = wordsOf(error)
  const tls = tlsError(code)
  if (tls !== undefined) {
    // A peer that refuses a certificate ends the handshake: it has not looked at application data.
    return new TailraceError(tls.code, `${where}: ${tls.hint} (${words})`, { cause: error, inDoubt: false })
  }
  if (phase === 'connecting') {
    return new TailraceError('sink_unreachable', `${where}: cannot connect (${words})`, { cause: error })
  }
  const message = `${where}: the connection broke before the confirmation (${words})`
  return new TailraceError('sink_reset', message, { cause: error, inDoubt: true })
}

/** The system's or OpenSSL's code; of several addresses tried, that of the last. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors.at(-1))
  if (!(error instanceof Error)) return ''
  if ('code' in error && typeof error.code === 'string') return error.code
  return error.cause === undefined ? '' : codeOf(error.cause)
}

function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(wordsOf).join('; ')
  if (!(error instanceof Error)) return String(error)
  // OpenSSL's message is a line of its internals; its code says the same.
  const code = codeOf(error)
  return code.startsWith('ERR_SSL_') ? code.slice('ERR_SSL_'.length).toLowerCase().replaceAll('_', ' ') : error.message
}

interface TlsError {
  readonly code: ErrorCode
  readonly hint: string
}

const untrusted =
  /^(CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|HOSTNAME_MISMATCH|ERROR_IN_C)/

function tlsError(code: string): TlsError | undefined {
  if (untrusted.test(code)) return { code: 'sink_certificate', hint: 'its certificate cannot be trusted' }
  if (/ALERT_(.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/.test(code)) {
    return { code: 'sink_credentials', hint: 'it refuses our certificate; look at tls.cert and tls.key' }
  }
  if (/ALERT_(HANDSHAKE_FAILURE|PROTOCOL_VERSION|INSUFFICIENT_SECURITY|UNRECOGNIZED_NAME)/.test(code)) {
    return { code: 'sink_misconfigured', hint: 'no agreement on TLS; look at tls.minVersion, tls.servername, tls.cert' }
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/.test(code)) {
    return { code: 'sink_misconfigured', hint: 'it does not speak TLS on this port' }
  }
  return undefined
}
