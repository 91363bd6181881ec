// Tokens: one fetch for all, renewed in time, dropped when refused; and what a token endpoint may answer.

import convict from 'convict'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import { forTokenHost, keepToken, requestToken } from '../../src/ship/http/access-token.ts'
import { httpSchema, openHttp, type HttpExchange } from '../../src/ship/http/exchange.ts'
import { patient } from './options.ts'
import { startCloudApi, type ApiAnswer, type CloudApi } from './receivers/cloud-api.ts'
import { application, startTokenServer, type TokenServer } from './receivers/token-server.ts'

const options = convict(httpSchema).getProperties()

/** A fetch that the test answers. */
function asked() {
  const calls: PromiseWithResolvers<{ text: string; lifeMs: number }>[] = []
  const fetch = vi.fn(() => {
    const call = Promise.withResolvers<{ text: string; lifeMs: number }>()
    calls.push(call)
    return call.promise
  })
  const answer = (call: number, text: string, lifeMs = 3_600_000) => calls[call]?.resolve({ text, lifeMs })
  const fail = (call: number, error: Error) => calls[call]?.reject(error)
  return { fetch, answer, fail }
}

test('one fetch serves all who wait, and those who come later', async () => {
  const { fetch, answer } = asked()
  using tokens = keepToken(fetch)
  const all = Promise.all([tokens.get(patient), tokens.get(patient), tokens.get(patient)])
  answer(0, 'one')
  expect(await all).toEqual(['one', 'one', 'one'])
  expect(await tokens.get(patient)).toBe('one')
  expect(fetch).toHaveBeenCalledTimes(1)
})

test('a fetch that fails fails for all who wait, and the next one is a new one', async () => {
  const { fetch, answer, fail } = asked()
  using tokens = keepToken(fetch)
  const both = Promise.allSettled([tokens.get(patient), tokens.get(patient)])
  const error = new TailraceError('sink_unreachable', 'away')
  fail(0, error)
  expect(await both).toEqual([1, 2].map(() => ({ status: 'rejected', reason: error })))
  const next = tokens.get(patient)
  answer(1, 'two')
  expect(await next).toBe('two')
})

test('who gives up waiting does not spoil it for the others', async () => {
  const { fetch, answer } = asked()
  using tokens = keepToken(fetch)
  const hasty = new AbortController()
  const reason = new Error('enough')
  const first = tokens.get(hasty.signal)
  const second = tokens.get(patient)
  hasty.abort(reason)
  await expect(first).rejects.toBe(reason)
  answer(0, 'one')
  expect(await second).toBe('one')
  await expect(tokens.get(AbortSignal.abort(reason))).rejects.toBe(reason)
  expect(fetch).toHaveBeenCalledTimes(1)
})

test('a token near its end is renewed beside the work; the old one serves until the new one is there', async () => {
  const { fetch, answer, fail } = asked()
  using tokens = keepToken(fetch)
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const first = tokens.get(patient)
    answer(0, 'one')
    await first
    vi.advanceTimersByTime(3_299_000)
    expect([await tokens.get(patient), fetch.mock.calls.length]).toEqual(['one', 1])
    vi.advanceTimersByTime(2000)
    expect([await tokens.get(patient), fetch.mock.calls.length]).toEqual(['one', 2])
    fail(1, new Error('away'))
    await expect.poll(() => tokens.get(patient).then(() => fetch.mock.calls.length)).toBe(3)
    answer(2, 'two')
    await expect.poll(() => tokens.get(patient)).toBe('two')
    vi.advanceTimersByTime(3_580_000)
    const last = tokens.get(patient)
    answer(3, 'three')
    expect(await last).toBe('three')
  } finally {
    vi.useRealTimers()
  }
})

test('a dropped token is not handed out again; a token that replaced it stays', async () => {
  const { fetch, answer } = asked()
  using tokens = keepToken(fetch)
  const first = tokens.get(patient)
  answer(0, 'one')
  await first
  tokens.drop('one')
  const second = tokens.get(patient)
  answer(1, 'two')
  expect(await second).toBe('two')
  tokens.drop('one')
  expect(await tokens.get(patient)).toBe('two')
  expect(fetch).toHaveBeenCalledTimes(2)
})

test('a token without a life is fetched each time', async () => {
  const { fetch, answer } = asked()
  using tokens = keepToken(fetch)
  for (const [call, text] of ['one', 'two'].entries()) {
    const token = tokens.get(patient)
    answer(call, text, 0)
    expect(await token).toBe(text)
  }
})

test('disposing ends the fetch, and nothing is handed out any more', async () => {
  const tokens = keepToken(async (signal) => {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const waiting = tokens.get(patient)
  tokens[Symbol.dispose]()
  await expect(waiting).rejects.toMatchObject({ code: 'sink_unreachable', inDoubt: false })
  await expect(tokens.get(patient)).rejects.toMatchObject({ code: 'sink_unreachable' })
})

let server: TokenServer
let exchange: HttpExchange

beforeAll(async () => {
  server = await startTokenServer()
  exchange = openHttp({ sink: 'any', url: new URL(server.origin), options, secrets: [] })
})
afterAll(async () => {
  await exchange[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const request = {
  path: `/${application.tenantId}/oauth2/v2.0/token`,
  form: {
    grant_type: 'client_credentials',
    client_id: application.clientId,
    client_secret: application.clientSecret,
    scope: 'https://monitor.azure.com/.default',
  },
  secret: ['client_secret'],
}

test('an OpenID Connect server gives a token, and says for how long', async () => {
  server.life = 600
  const token = await requestToken(exchange, request, patient)
  expect(token).toEqual({ text: server.issued.at(-1), lifeMs: 600_000 })
})

test.for([
  ['client_secret', 'wrong secret', 'sink_credentials', /invalid_client/],
  ['client_id', 'nobody', 'sink_credentials', /invalid_client/],
  ['grant_type', 'password', 'sink_credentials', /unsupported_grant_type|unauthorized_client/],
] as const)('a wrong %s is refused', async ([field, value, code, words]) => {
  const sent = requestToken(exchange, { ...request, form: { ...request.form, [field]: value } }, patient)
  await expect(sent).rejects.toMatchObject({ code, inDoubt: false, message: expect.stringMatching(words) })
})

/** An endpoint that answers so. */
async function answering(answer: ApiAnswer): Promise<AsyncDisposable & { api: CloudApi; http: HttpExchange }> {
  const api = await startCloudApi(() => answer)
  const http = openHttp({ sink: 'any', url: new URL(api.origin), options, secrets: [] })
  return {
    api,
    http,
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]()
      await api.stop()
    },
  }
}

test.for([
  [{ status: 400, body: { error: 'invalid_grant' } }, 'sink_credentials'],
  [{ status: 403, body: { error: 'access_denied' } }, 'sink_credentials'],
  [{ status: 400, body: { error: 'temporarily_unavailable' } }, 'sink_unavailable'],
  [{ status: 401 }, 'sink_credentials'],
  [{ status: 404 }, 'sink_misconfigured'],
  [{ status: 413 }, 'sink_misconfigured'],
  [{ status: 422 }, 'sink_misconfigured'],
  [{ status: 429, headers: { 'retry-after': '7' } }, 'sink_throttled'],
  [{ status: 500 }, 'sink_unavailable'],
  [{ status: 502 }, 'sink_unavailable'],
  [{ status: 503 }, 'sink_unavailable'],
  [{ status: 302, headers: { location: '/elsewhere' } }, 'sink_misconfigured'],
  [{ status: 200, body: {} }, 'sink_misconfigured'],
  [{ status: 200, body: { access_token: '' } }, 'sink_misconfigured'],
  [{ status: 200, body: { access_token: 'a\r\nb: c' } }, 'sink_misconfigured'],
  [{ status: 200, body: 'access_token' }, 'sink_misconfigured'],
  [{ status: 200 }, 'sink_misconfigured'],
] as const)('%j is %s, and never in doubt', async ([answer, code]) => {
  await using endpoint = await answering(answer)
  const error = await requestToken(endpoint.http, request, patient).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code, inDoubt: false, waitMs: answer.status === 429 ? 7000 : undefined })
})

test.for([
  [3599, 3_599_000],
  ['3599', 3_599_000],
  [0, 0],
  [-5, 0],
  [undefined, 300_000],
  ['soon', 300_000],
] as const)('expires_in %j is a life of %d ms', async ([expires, lifeMs]) => {
  await using endpoint = await answering({ status: 200, body: { access_token: 'one', expires_in: expires } })
  expect(await requestToken(endpoint.http, request, patient)).toEqual({ text: 'one', lifeMs })
})

test('an endpoint that is not there, breaks off or does not answer: nothing is in doubt, for nothing was sent', async () => {
  await using endpoint = await answering({ status: 200 })
  endpoint.api.breakMidway()
  const ask = () => requestToken(endpoint.http, request, patient)
  await expect(ask()).rejects.toMatchObject({ code: 'sink_reset', inDoubt: false })
  endpoint.api.stall()
  const url = new URL(endpoint.api.origin)
  await using hasty = openHttp({ sink: 'any', url, options: { ...options, timeout: 50 }, secrets: [] })
  const late = requestToken(hasty, request, patient)
  await expect(late).rejects.toMatchObject({ code: 'sink_timeout', inDoubt: false })
  await endpoint.api.stop()
  await expect(ask()).rejects.toMatchObject({ code: 'sink_unreachable', inDoubt: false })
})

test('secrets that the endpoint repeats, plain or as they were sent, are in no message', async () => {
  const { client_secret: secret } = request.form
  const form = new URLSearchParams(request.form).toString()
  await using endpoint = await answering({ status: 401, body: { error: 'invalid_client', said: secret, form } })
  const error = await requestToken(endpoint.http, request, patient).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'sink_credentials', message: expect.stringContaining('invalid_client') })
  expect(String(error)).not.toContain(secret)
  expect(String(error)).not.toContain(encodeURIComponent(secret).slice(4, 20))
})

test('what is meant for the receiver is not shown to who gives tokens', () => {
  const tls = { ...options.tls, ca: 'ca', cert: 'cert', key: 'key', servername: 'api', fingerprint: 'AB' }
  expect(forTokenHost({ ...options, tls }).tls).toMatchObject({ ca: 'ca', cert: '', key: '', fingerprint: '' })
})
