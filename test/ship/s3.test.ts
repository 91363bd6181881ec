// The contract against s3rver, names of objects, and what each answer means.

import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { TailraceError } from '../../src/errors.ts'
import { json } from '../../src/ship/formats/json.ts'
import { openS3, s3 } from '../../src/ship/sinks/s3.ts'
import type { SecurityEvent } from '../../src/event.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { attack } from './events.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { account, bucket, sayError, startS3 } from './s3-server.ts'
import { testSinkContract } from './sink-contract.ts'

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())

const here = { bucket, pathStyle: true, ...account }

function framed(text: string, event: Partial<SecurityEvent> = {}): string {
  const frame = s3.frame?.(optionsOf(s3, here), json)
  return frame?.(attack(event), text) ?? ''
}

const bytes = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(framed(text)))

testSinkContract('s3', async () => {
  const server = await startS3()
  const waiting = new Set<ServerResponse>()
  const says =
    (status: number, code: string, headers = {}) =>
    () =>
      void (server.state.instead = (response) => sayError(response, status, code, headers))
  return {
    ...server,
    openSink: () => openSink(s3, { ...here, endpoint: server.endpoint }),
    received: async () => (await server.stored()).flatMap(({ lines }) => lines),
    wrap: (text) => framed(text),
    unreachable: 'sink_unreachable',
    breakMidway: () => void (server.state.instead = (response) => response.destroy()),
    stall() {
      server.state.instead = (response) => {
        waiting.add(response)
        response.on('close', () => waiting.delete(response))
      }
    },
    connections: () => waiting.size,
    says: {
      throttled: says(503, 'SlowDown', { 'retry-after': '7' }),
      unavailable: says(500, 'InternalError'),
      credentials: says(403, 'InvalidAccessKeyId'),
      refused: says(400, 'EntityTooLarge'),
      recovers: () => void (server.state.instead = undefined),
    },
  }
})

test('the name of an object comes from the first event, and is the same when it is written again', async () => {
  await using server = await startS3()
  await using sink = openSink(s3, { ...here, endpoint: server.endpoint })
  const late = Date.UTC(2026, 10, 21, 23, 59, 59, 999)
  const records = [framed('{"a":1}', { time: late }), framed('{"b":2}', { time: late + 60_000 })]
  const sent = records.map((text) => Buffer.from(text))
  await sink.send(sent, { ...batch, sendId: 'b-77' }, patient)
  await sink.send(sent, { ...batch, sendId: 'b-77' }, patient)
  const stored = await server.stored()
  expect(stored.length).toBe(1)
  expect(stored[0]?.key).toMatch(
    /^tailrace\/tenant=acme\/stream=attacks\/date=2026-11-21\/hour=23\/b-77-[0-9a-f]{16}\.ndjson\.gz$/,
  )
  expect(stored[0]?.lines).toEqual(['{"a":1}', '{"b":2}'])
  expect(stored[0]?.headers).toMatchObject({ 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' })
  await sink.send(sent, { sendId: 'b-77', contentType: 'text/plain' }, patient)
  await sink.send(bytes('other'), { ...batch, sendId: 'b-77' }, patient)
  expect((await server.stored()).map(({ key }) => key.replace(/.*\.(\w+\.gz)$/, '$1'))).toEqual([
    'ndjson.gz',
    'log.gz',
    'ndjson.gz',
  ])
})

test.for([
  ['{id}', 'batch-1-#'],
  ['waf/{year}/{month}/{day}/{stream}-{tenant}-{id}', 'waf/2026/03/30/attacks-._.._etc-batch-1-#'],
  ["sp ace/ü+'()*!&=~{id}", "sp ace/ü+'()*!&=~batch-1-#"],
] as const)('the key %j', async ([key, expected]) => {
  await using server = await startS3()
  await using sink = openSink(s3, { ...here, endpoint: server.endpoint, key })
  await sink.send([Buffer.from(framed('x', { tenant: './../etc' }))], batch, patient)
  expect((await server.stored()).map((one) => one.key.replace(/-[0-9a-f]{16}\./, '-#.'))).toEqual([
    `${expected}.ndjson.gz`,
  ])
})

test.for([Number.NaN, -1, 1e300])('an event with the time %d is stored as well', async (time) => {
  await using server = await startS3()
  await using sink = openSink(s3, { ...here, endpoint: server.endpoint })
  await sink.send([Buffer.from(framed('x', { time }))], batch, patient)
  expect((await server.stored())[0]?.key).toContain('date=1970-01-01/hour=00')
})

test('what was asked for is in the request, and the secret key in nothing', async () => {
  await using server = await startS3()
  const more = { encryption: 'aws:kms', kmsKeyId: 'k-1', storageClass: 'STANDARD_IA', bucketOwner: '123456789012' }
  await using sink = openSink(s3, { ...here, ...more, endpoint: server.endpoint, sessionToken: 'the-session-token' })
  await sink.send(bytes('x'), batch, patient)
  expect(server.requests[0]?.headers).toMatchObject({
    'content-md5': expect.stringMatching(/^[\w+/]{22}==$/) as string,
    'x-amz-server-side-encryption': 'aws:kms',
    'x-amz-server-side-encryption-aws-kms-key-id': 'k-1',
    'x-amz-storage-class': 'STANDARD_IA',
    'x-amz-expected-bucket-owner': '123456789012',
    'x-amz-security-token': 'the-session-token',
  })
})

test.for([
  [301, 'PermanentRedirect', 2, 'sink_misconfigured'],
  [400, 'AuthorizationHeaderMalformed', 2, 'sink_misconfigured'],
  [400, 'BadDigest', 2, 'sink_unavailable'],
  [400, 'EntityTooLarge', 1, 'sink_refused_event'],
  [400, 'ExpiredToken', 2, 'sink_credentials'],
  [400, 'RequestTimeout', 2, 'sink_unavailable'],
  [400, 'Whatever', 1, 'sink_misconfigured'],
  [403, 'AccessDenied', 1, 'sink_credentials'],
  [403, 'RequestTimeTooSkewed', 1, 'sink_misconfigured'],
  [404, 'NoSuchBucket', 1, 'sink_misconfigured'],
  [429, 'TooManyRequests', 2, 'sink_throttled'],
  [503, 'ServiceUnavailable', 2, 'sink_throttled'],
  [504, 'GatewayTimeout', 2, 'sink_unavailable'],
  [507, 'XMinioStorageFull', 2, 'sink_full'],
] as const)('status %d, %s, to %d events', async ([status, code, events, expected]) => {
  await using server = await startS3()
  server.state.instead = (response) => sayError(response, status, code)
  await using sink = openSink(s3, { ...here, endpoint: server.endpoint })
  const error = await sink.send(bytes('a', 'b').slice(0, events), batch, patient).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: expected, status })
  expect((error as Error).message).toContain(code)
  expect(server.requests.length).toBe(1)
})

test('a gateway that answers without XML', async () => {
  await using server = await startS3()
  server.state.instead = (response) => response.writeHead(502).end('<html>Bad gateway')
  await using sink = openSink(s3, { ...here, endpoint: server.endpoint })
  await expect(sink.send(bytes('a'), batch, patient)).rejects.toMatchObject({ code: 'sink_unavailable', inDoubt: true })
})

test.for([
  [{ secretAccessKey: 'not-the-secret' }, 'sink_credentials', 'SignatureDoesNotMatch'],
  [{ accessKeyId: 'nobody' }, 'sink_credentials', 'InvalidAccessKeyId'],
  [{ bucket: 'nowhere' }, 'sink_misconfigured', 'create the bucket'],
] as const)('%j is refused, by send and by look, without the secret', async ([wrong, code, words]) => {
  await using server = await startS3()
  await using sink = openSink(s3, { ...here, ...wrong, endpoint: server.endpoint })
  for (const attempt of [() => sink.send(bytes('a'), batch, patient), () => sink.look(patient)]) {
    const error = await attempt().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code, message: expect.stringContaining(words) as string })
    expect(inspect(error, { depth: 12, showHidden: true })).not.toContain('not-the-secret')
  }
  expect(await server.stored()).toEqual([])
})

test('credentials that may only write are no fault', async () => {
  await using server = await startS3()
  server.state.instead = (response) => sayError(response, 403, 'AccessDenied')
  await using sink = openSink(s3, { ...here, endpoint: server.endpoint })
  const { findings } = await sink.look(patient)
  expect(findings.join('. ')).toContain('may not list')
})

test('over TLS, with our own authority; a stranger is refused', async () => {
  await using server = await startS3(files.server)
  await using sink = openSink(s3, { ...here, endpoint: server.endpoint, tls: { ca: files.ca } })
  await sink.send(bytes('a'), batch, patient)
  expect((await server.stored())[0]?.lines).toEqual(['a'])
  expect((await sink.look(patient)).findings.join(' ')).toMatch(/the bucket is there.*TLSv1\.3, certificate/)
  await using wary = openSink(s3, { ...here, endpoint: server.endpoint })
  await expect(wary.send(bytes('a'), batch, patient)).rejects.toMatchObject({
    code: 'sink_certificate',
    inDoubt: false,
  })
})

test('through a proxy', async () => {
  await using server = await startS3()
  const asked: string[] = []
  const proxy = createServer().on('connect', ({ url = '' }, socket) => {
    asked.push(url)
    const through = connect(Number(url.split(':')[1]), '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
    through.pipe(socket).pipe(through)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  const options = { ...here, endpoint: server.endpoint, proxy: `http://127.0.0.1:${port}` }
  const sink = openSink(s3, options)
  await sink.send(bytes('a'), batch, patient)
  expect((await server.stored())[0]?.lines).toEqual(['a'])
  expect(asked).toEqual([server.endpoint.slice('http://'.length)])
  await sink[Symbol.asyncDispose]()
  proxy.close()
  await once(proxy, 'close')
})

test('credentials of a role, fetched from elsewhere', async () => {
  await using server = await startS3()
  const { accessKeyId, secretAccessKey } = account
  const tags = { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken: 'fetched' }
  const credentials = Object.entries({ ...tags, Expiration: '2099-01-01T00:00:00Z' }).map(
    ([tag, text]) => `<${tag}>${text}</${tag}>`,
  )
  const result = `<AssumeRoleWithWebIdentityResult><Credentials>${credentials.join('')}</Credentials></AssumeRoleWithWebIdentityResult>`
  const issuer = createServer((_request, response) => {
    response.end(`<AssumeRoleWithWebIdentityResponse>${result}</AssumeRoleWithWebIdentityResponse>`)
  })
  issuer.listen(0, '127.0.0.1')
  await once(issuer, 'listening')
  onTestFinished(() => {
    vi.unstubAllEnvs()
    issuer.closeAllConnections()
    issuer.close()
  })
  const environment = {
    AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`,
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/writer',
    AWS_WEB_IDENTITY_TOKEN_FILE: files.ca,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: undefined,
    AWS_PROFILE: undefined,
  }
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  const options = { bucket, pathStyle: true, endpoint: server.endpoint }
  await using sink = openSink(s3, options)
  await sink.send(bytes('a'), batch, patient)
  await sink.send(bytes('b'), batch, patient)
  expect((await server.stored()).map(({ lines }) => lines)).toEqual([['a'], ['b']])
  expect(server.requests[0]?.headers['x-amz-security-token']).toBe('fetched')
})

test('no credentials anywhere', async () => {
  const empty = {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_CONFIG_FILE: '/dev/null',
  }
  for (const [name, value] of Object.entries(empty)) vi.stubEnv(name, value)
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE', 'AWS_REGION'])
    vi.stubEnv(name, undefined)
  onTestFinished(() => void vi.unstubAllEnvs())
  const nobody = { bucket, accessKeyId: '', secretAccessKey: '' }
  await using sink = openSink(s3, { ...nobody, endpoint: 'http://127.0.0.1:1' })
  const refused = { code: 'sink_credentials', inDoubt: false, message: expect.stringContaining('a role') as string }
  await expect(sink.send(bytes('a'), batch, patient)).rejects.toMatchObject(refused)
  await using nowhere = openSink(s3, { ...here, endpoint: '' })
  const lost = { code: 'sink_misconfigured', message: expect.stringContaining('set region') as string }
  await expect(nowhere.send(bytes('a'), batch, patient)).rejects.toMatchObject(lost)
})

test('an answer that never comes is in doubt after the time-out', async () => {
  await using server = await startS3()
  server.state.instead = () => undefined
  await using sink = openSink(s3, { ...here, endpoint: server.endpoint, timeout: 50 })
  await expect(sink.send(bytes('a'), batch, patient)).rejects.toMatchObject({ code: 'sink_timeout', inDoubt: true })
})

test('a package that is missing: what to install', async () => {
  const missing = Object.assign(new Error('gone'), { code: 'ERR_MODULE_NOT_FOUND' })
  await using sink = openS3(optionsOf(s3, here), () => Promise.reject(missing))
  const error = await sink.send(bytes('a'), batch, patient).catch((thrown: unknown) => thrown)
  const wanted = JSON.parse(readFileSync('package.json', 'utf8')) as { optionalDependencies: Record<string, string> }
  const version = wanted.optionalDependencies['@aws-sdk/client-s3']
  expect(error).toMatchObject({ code: 'sink_misconfigured', inDoubt: false })
  expect((error as TailraceError).message).toContain(`npm install @aws-sdk/client-s3@${version}`)
})

test.for([
  { bucket: '' },
  { endpoint: 'minio:9000' },
  { accessKeyId: '' },
  { kmsKeyId: 'k' },
  { key: 'no-placeholder' },
  { key: '{id}{when}' },
  { key: '{id}}' },
  { tls: { fingerprint: 'ab' } },
])('the options %j are refused', (options) => {
  expect(() => openSink(s3, { ...here, ...options })).toThrow(expect.objectContaining({ code: 'sink_misconfigured' }))
})
