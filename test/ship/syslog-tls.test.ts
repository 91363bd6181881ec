// TLS: who is trusted, and who trusts us.

import { readFileSync } from 'node:fs'
import { X509Certificate } from 'node:crypto'
import { inspect } from 'node:util'
import { Buffer } from 'node:buffer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { makeCertificates, type Certificate, type Certificates } from './certificates.ts'
import { batch, openSink, patient } from './options.ts'
import { startReceiver } from './receiver.ts'

const three = ['one', 'two', 'three'].map((text) => Buffer.from(text))
let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())

function read({ cert, key }: Certificate) {
  return { cert: readFileSync(cert), key: readFileSync(key) }
}

const wrong = [
  { name: 'another host name', certificate: 'elsewhere', tls: {} },
  { name: 'an expired certificate', certificate: 'expired', tls: {} },
  { name: 'an unknown issuer', certificate: 'stranger', tls: {} },
  { name: 'no common name given', certificate: 'server', tls: { servername: 'other.example' } },
  { name: 'another fingerprint', certificate: 'server', tls: { fingerprint: 'AB'.repeat(32) } },
] as const

test.for(wrong)('$name is refused, and nothing is sent', async ({ certificate, tls }) => {
  await using receiver = await startReceiver(read(files[certificate]))
  const options = { address: receiver.address, transport: 'tls', tls: { ca: files.ca, ...tls } }
  await using sink = openSink(syslog, options)
  const refused = { code: 'sink_certificate', remedy: 'halt', inDoubt: false }
  await expect(sink.send(three, batch, patient)).rejects.toMatchObject(refused)
  await expect(sink.look(patient)).rejects.toMatchObject(refused)
  expect(receiver.streams).toEqual([])
})

test('a self-signed certificate is trusted by its fingerprint', async () => {
  await using receiver = await startReceiver(read(files.stranger))
  const { fingerprint256 } = new X509Certificate(readFileSync(files.stranger.cert))
  const options = { address: receiver.address, transport: 'tls', tls: { fingerprint: fingerprint256.toLowerCase() } }
  await using sink = openSink(syslog, options)
  for (let round = 0; round < 3; round++) await sink.send(three, batch, patient)
  expect(receiver.streams.length).toBe(3)
})

test.for(['TLSv1.2', 'TLSv1.3'] as const)(
  '%s: a receiver that refuses our certificate never confirms',
  async (version) => {
    const demands = { requestCert: true, rejectUnauthorized: true, ca: readFileSync(files.ca), maxVersion: version }
    await using receiver = await startReceiver({ ...read(files.server), ...demands })
    const open = (own?: Certificate) =>
      openSink(syslog, { address: receiver.address, transport: 'tls', tls: { ca: files.ca, ...own } })

    await using welcome = open(files.client)
    await welcome.send(three, batch, patient)
    expect(receiver.streams.length).toBe(1)

    for (const own of [files.stranger, undefined]) {
      await using sink = open(own)
      for (let round = 0; round < 10; round++) {
        const error = await sink.send(three, batch, patient).catch((thrown: unknown) => thrown)
        expect(error).toMatchObject({
          code: expect.stringMatching(/^sink_(credentials|reset|misconfigured|unreachable)$/),
        })
      }
    }
    expect(receiver.streams.length).toBe(1)
  },
)

test('sessions are resumed', async () => {
  await using receiver = await startReceiver(read(files.server))
  await using sink = openSink(syslog, { address: receiver.address, transport: 'tls', tls: { ca: files.ca } })
  for (let round = 0; round < 5; round++) {
    await sink.send(three, batch, patient)
  }
  expect(receiver.streams.length).toBe(5)
  expect(receiver.resumed).toBeGreaterThanOrEqual(3)
})

test('plain TCP where TLS is expected is told apart', async () => {
  await using receiver = await startReceiver()
  receiver.manner = 'reset'
  await using sink = openSink(syslog, { address: receiver.address, transport: 'tls' })
  await expect(sink.send(three, batch, patient)).rejects.toMatchObject({ code: 'sink_unreachable', inDoubt: false })
})

test('what is wrong with a key is said without the key', async () => {
  const key = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0LXNlY3JldA==\n-----END PRIVATE KEY-----'
  const options = { address: 'localhost:6514', transport: 'tls', tls: { cert: files.client.cert, key } }
  const error = await Promise.resolve()
    .then(() => openSink(syslog, options))
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'sink_misconfigured' })
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('c2VjcmV0')
})

test.for([{ key: 'k.pem' }, { ca: '/does/not/exist' }, { fingerprint: 'abc' }])('tls %j is refused', (tls) => {
  const opening = () => openSink(syslog, { address: 'localhost:6514', transport: 'tls', tls })
  expect(opening).toThrow(expect.objectContaining({ code: 'sink_misconfigured' }))
})
