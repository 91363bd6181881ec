// The contract over TCP and TLS, and receivers that misbehave.

import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dialer, readAddress } from '../../src/ship/stream/connection.ts'
import { keepConnection } from '../../src/ship/stream/kept-connection.ts'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { watchTcp } from '../../src/ship/stream/tcp-view.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { startReceiver, takeApart, type Receiver } from './receiver.ts'
import { testSinkContract, type Bench } from './sink-contract.ts'

const three = ['one', 'two', 'three'].map((text) => Buffer.from(text))

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())

function benchOf(receiver: Receiver, framing: 'lf' | 'octet', options: object): Bench {
  return {
    openSink: () => openSink(syslog, { address: receiver.address, framing, ...options }),
    async received() {
      return receiver.streams.flatMap((stream) => takeApart(stream, framing))
    },
    stop: () => receiver.stop(),
    start: () => receiver.start(),
    unreachable: 'sink_unreachable',
    breakMidway: () => void (receiver.manner = 'reset'),
    stall: () => void (receiver.manner = 'stall'),
    connections() {
      receiver.poke()
      return receiver.open.size
    },
    async [Symbol.asyncDispose]() {
      await receiver[Symbol.asyncDispose]()
    },
  }
}

testSinkContract('syslog tcp lf', async () => benchOf(await startReceiver(), 'lf', {}))
testSinkContract('syslog tcp octet', async () => benchOf(await startReceiver(), 'octet', {}))
testSinkContract('syslog tls', async () => {
  const receiver = await startReceiver({ cert: readFileSync(files.server.cert), key: readFileSync(files.server.key) })
  return benchOf(receiver, 'octet', { transport: 'tls', tls: { ca: files.ca } })
})

test('a receiver that closes before it has read everything has confirmed nothing', async () => {
  await using receiver = await startReceiver()
  await using sink = openSink(syslog, { address: receiver.address })
  await sink.send(three, batch, patient)
  receiver.manner = 'early'
  for (let round = 0; round < 50; round++) {
    const records = round % 2 === 0 ? three : [Buffer.alloc(300_000, 'x')]
    await expect(sink.send(records, batch, patient)).rejects.toMatchObject({ code: 'sink_reset', inDoubt: true })
  }
})

test('a receiver that once closed, and now is stuck, is not taken for one that never closes', async () => {
  await using receiver = await startReceiver()
  await using sink = openSink(syslog, { address: receiver.address, confirmTimeout: 250 })
  await sink.send(three, batch, patient)
  receiver.manner = 'stall'
  for (let round = 0; round < 4; round++) {
    await expect(sink.send(three, batch, patient)).rejects.toMatchObject({ code: 'sink_timeout', inDoubt: true })
  }
})

test('a receiver that never closes gets a kept connection, after it was asked three times', async () => {
  await using receiver = await startReceiver()
  receiver.manner = 'silent'
  await using sink = openSink(syslog, { address: receiver.address, confirmTimeout: 250 })
  for (let round = 0; round < 2; round++) {
    // It was asked with an empty connection: no event is in doubt.
    await expect(sink.send(three, batch, patient)).rejects.toMatchObject({ code: 'sink_timeout', inDoubt: false })
  }
  for (let round = 0; round < 4; round++) await sink.send(three, batch, patient)
  expect(receiver.connections).toBe(4)
  const texts = Array.from({ length: 4 }, () => ['one', 'two', 'three']).flat()
  await expect.poll(() => takeApart(Buffer.concat(receiver.streams), 'lf')).toEqual(texts)
  expect((await sink.look(patient)).findings.join(' ')).toContain('unconfirmed')
})

test('after a kept connection broke, what was sent last is sent again before what is new', async () => {
  await using receiver = await startReceiver()
  receiver.manner = 'silent'
  await using sink = openSink(syslog, { address: receiver.address, confirm: 'none' })
  await sink.send([Buffer.from('a')], batch, patient)
  await sink.send([Buffer.from('b')], batch, patient)
  await expect.poll(() => receiver.streams.join('|')).toBe('a\nb\n')
  for (const socket of receiver.open) socket.resetAndDestroy()
  await expect.poll(() => receiver.open.size).toBe(0)
  // The first may meet the broken connection, if our side has not heard of it yet.
  await sink.send([Buffer.from('c')], batch, patient).catch(() => sink.send([Buffer.from('c')], batch, patient))
  await expect.poll(() => receiver.streams.at(-1)?.toString()).toBe('a\nb\nc\n')
})

test('a kept connection that is too old is closed in order, and nothing is sent twice', async () => {
  await using receiver = await startReceiver()
  receiver.manner = 'confirm'
  const target = { address: readAddress(receiver.address), tls: undefined, connectTimeoutMs: 5000, where: 'here' }
  const expectation = { confirmTimeoutMs: 5000, acknowledged: watchTcp(), where: 'here' }
  using kept = keepConnection(dialer(target), expectation, 0)
  for (const text of ['a', 'b', 'c']) await kept.send(Buffer.from(`${text}\n`), patient)
  await expect.poll(() => receiver.streams.map(String)).toEqual(['a\n', 'b\n'])
})

test('a receiver that does not read is noticed on a kept connection, too', async () => {
  await using receiver = await startReceiver()
  receiver.manner = 'stall'
  await using sink = openSink(syslog, { address: receiver.address, confirm: 'none', confirmTimeout: 200 })
  const much = Array.from({ length: 16 }, () => Buffer.alloc(1_000_000, 'x'))
  await expect(sink.send(much, batch, patient)).rejects.toMatchObject({ code: 'sink_timeout', inDoubt: true })
})

test('with confirm: close, a look at a receiver that never closes says what to change', async () => {
  await using receiver = await startReceiver()
  receiver.manner = 'silent'
  await using sink = openSink(syslog, { address: receiver.address, confirm: 'close', confirmTimeout: 250 })
  await expect(sink.look(patient)).rejects.toMatchObject({ code: 'sink_misconfigured' })
})

test.for(['', 'host', 'host:0', 'host:70000', '::1:514', '[::1]', 'a b:514', 'host:5140x'])(
  'the address %j is refused',
  (address) => {
    expect(() => openSink(syslog, { address })).toThrow(expect.objectContaining({ code: 'sink_misconfigured' }))
  },
)

test('a port may be left out where an RFC names one', () => {
  for (const transport of ['udp', 'tls']) expect(() => openSink(syslog, { address: 'host', transport })).not.toThrow()
  for (const transport of ['tcp', 'relp', 'relp-tls']) {
    expect(() => openSink(syslog, { address: 'host', transport })).toThrow(/is not host:port/)
  }
})

test.for([
  { transport: 'udp', framing: 'lf' },
  { transport: 'relp', framing: 'octet' },
  { transport: 'relp', confirm: 'none' },
  { transport: 'udp', confirm: 'close' },
  { maxMessageBytes: 479 },
])('%j is refused', (options) => {
  const opening = () => openSink(syslog, { address: 'host:514', ...options })
  expect(opening).toThrow(expect.objectContaining({ code: 'sink_misconfigured' }))
})

test('IPv6 works', async ({ skip }) => {
  await using receiver = await startReceiver()
  await using sink = openSink(syslog, { address: `[::ffff:127.0.0.1]:${receiver.port}` })
  const error = await sink.send(three, batch, patient).catch((thrown: unknown) => thrown)
  if (error !== undefined) skip('no IPv6 on this machine')
  expect(receiver.streams.join('')).toBe('one\ntwo\nthree\n')
})

test('destinations share their bytes exactly when the frame is the same', () => {
  const key = (values: object) => syslog.frameKey?.(optionsOf(syslog, values))
  const plain = key({ address: 'a:1' })
  expect(key({ address: 'b:2', connectTimeout: 5, confirm: 'none' })).toBe(plain)
  for (const same of [{ framing: 'octet' }, { transport: 'tls' }, { transport: 'relp' }, { maxMessageBytes: 8096 }]) {
    expect(key(same)).toBe(plain)
  }
  for (const other of [{ transport: 'udp' }, { header: 'rfc3164' }, { bom: true }, { maxMessageBytes: 1000 }]) {
    expect(key(other)).not.toBe(plain)
  }
})
