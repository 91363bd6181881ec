// Access tokens of APIs that want OAuth 2.0: fetched once for all who wait, kept, renewed before they expire.

import { TailraceError } from '../../errors.ts'
import { parseObject, type JsonObject } from './answer-text.ts'
import { statusError } from './answers.ts'
import type { Answer, HttpExchange, HttpOptions, HttpRequest } from './exchange.ts'
import { orAborted } from '../or-aborted.ts'

export interface AccessToken {
  readonly text: string
  /** For how long it is good, counted from the request for it. */
  readonly lifeMs: number
}

export interface TokenSource extends Disposable {
  /** Rejects as the fetch does, or with the signal's reason; the fetch goes on then, for those who come next. */
  get(signal: AbortSignal): Promise<string>
  /** It was refused: it is not handed out again. */
  drop(token: string): void
}

/** `fetch` must have a bound of its own. It is called when somebody wants a token, never by a timer. */
export function keepToken(fetch: (signal: AbortSignal) => Promise<AccessToken>): TokenSource {
  const closed = new AbortController()
  let kept: Kept | undefined
  let coming: Promise<Kept> | undefined

  async function load(): Promise<Kept> {
    const asked = performance.now()
    const { text, lifeMs } = await fetch(closed.signal)
    kept = { text, renewAt: asked + renewAfterMs(lifeMs), endAt: asked + usableForMs(lifeMs) }
    return kept
  }

  function renew(): Promise<Kept> {
    coming ??= load().finally(() => {
      coming = undefined
    })
    return coming
  }

  return {
    async get(signal) {
      signal.throwIfAborted()
      closed.signal.throwIfAborted()
      const now = performance.now()
      if (kept === undefined || now >= kept.endAt) return (await orAborted(renew(), signal)).text
      // Nobody waits for this one, and nobody minds if it fails: the old one is good for a while yet.
      if (now >= kept.renewAt) renew().catch(() => undefined)
      return kept.text
    },
    drop(token) {
      if (kept?.text === token) kept = undefined
    },
    [Symbol.dispose]() {
      closed.abort(new TailraceError('sink_unreachable', 'the destination was closed'))
    },
  }
}

/** Asks as the owner of a token. A token that is refused (401) is replaced once: it may have been revoked. */
export async function askAuthorized(
  http: HttpExchange,
  tokens: TokenSource,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const first = await tokens.get(signal)
  const answer = await askWith(http, first, request, signal)
  if (answer.status !== 401) return answer
  tokens.drop(first)
  const second = await tokens.get(signal)
  const again = await askWith(http, second, request, signal)
  if (again.status === 401) tokens.drop(second)
  return again
}

export interface TokenRequest {
  readonly path: string
  readonly form: Readonly<Record<string, string>>
  /** Fields of the form that must not be in any message. */
  readonly secret: readonly string[]
}

/**
 * Asks a token endpoint (RFC 6749 section 4.4, RFC 7523 section 2.1). Rejects with a `sink_*` error that is never in
 * doubt, for no event was sent: `sink_credentials` where the answer is that we are not who we say, or may not.
 */
export async function requestToken(
  http: HttpExchange,
  { path, form, secret }: TokenRequest,
  signal: AbortSignal,
): Promise<AccessToken> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  const body = new URLSearchParams(form).toString()
  const answer = await http.ask({ method: 'POST', path, headers, body }, signal).catch((thrown: unknown) => {
    throw thrown instanceof TailraceError ? nothingSent(thrown, thrown.code) : thrown
  })
  const fields = parseObject(answer.text) ?? {}
  if (answer.status !== 200) throw tokenError(hide(answer, secretsOf(form, secret)), fields)
  const { access_token: text, expires_in: seconds } = fields
  if (typeof text === 'string' && /^[\x21-\x7e]+$/.test(text)) return { text, lifeMs: lifeMs(seconds) }
  throw new TailraceError('sink_misconfigured', `${answer.where}: the answer to the request for a token has none in it`)
}

/**
 * The same options for the host that gives tokens: what is about the receiver's certificate, or meant for its eyes,
 * does not go for another host.
 */
export function forTokenHost(options: HttpOptions): HttpOptions {
  const { timeout, proxy, tls } = options
  return { timeout, proxy, tls: { ...tls, cert: '', key: '', servername: '', fingerprint: '' } }
}

interface Kept {
  readonly text: string
  readonly renewAt: number
  readonly endAt: number
}

/** RFC 6749 section 5.1 lets a server leave the life out. */
const unknownLifeMs = 300_000

function lifeMs(seconds: unknown): number {
  const number = typeof seconds === 'number' || typeof seconds === 'string' ? Number(seconds) : Number.NaN
  return Number.isFinite(number) ? Math.max(0, number * 1000) : unknownLifeMs
}

function renewAfterMs(life: number): number {
  return Math.max(life - 300_000, life / 2)
}

/** Not to the end: the receiver's clock may be ahead, and what is sent takes a while to arrive. */
function usableForMs(life: number): number {
  return Math.max(life - 30_000, life * 0.9)
}

async function askWith(http: HttpExchange, token: string, request: HttpRequest, signal: AbortSignal): Promise<Answer> {
  const headers = { ...request.headers, authorization: `Bearer ${token}` }
  return hide(await http.ask({ ...request, headers }, signal), [token])
}

/** The exchange cannot know these: they are made while it is open. */
function hide(answer: Answer, secrets: readonly string[]): Answer {
  return { ...answer, text: secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), answer.text) }
}

/** As they are, as the body has them, and as JSON would. */
function secretsOf(form: TokenRequest['form'], names: readonly string[]): string[] {
  const values = names.map((name) => form[name] ?? '').filter((value) => value !== '')
  return values.flatMap((value) => [
    value,
    new URLSearchParams({ '': value }).toString().slice(1),
    JSON.stringify(value).slice(1, -1),
  ])
}

/** RFC 6749 section 5.2: 400 or 401, and the reason in `error`. */
function tokenError(answer: Answer, { error: reason }: JsonObject): TailraceError {
  const error = statusError({ ...answer, where: `${answer.where}: no access token` }, 1)
  if (reason === 'temporarily_unavailable') return nothingSent(error, 'sink_unavailable')
  // There is no event that could be at fault.
  const blamed = error.code === 'sink_refused_event'
  if (!blamed) return nothingSent(error, error.code)
  return nothingSent(error, answer.status === 400 ? 'sink_credentials' : 'sink_misconfigured')
}

function nothingSent({ message, status, waitMs, cause }: TailraceError, code: TailraceError['code']): TailraceError {
  return new TailraceError(code, message, {
    cause,
    ...(status === undefined ? {} : { status }),
    ...(waitMs === undefined ? {} : { waitMs }),
  })
}
