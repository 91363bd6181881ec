// RELP: the protocol by itself, the contract, and servers that misbehave.

import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dialer, readAddress } from '../../src/ship/stream/connection.ts'
import { relpClient } from '../../src/ship/syslog/relp.ts'
import { readAnswer, readOffers, relpFrame, relpReader, transactionAfter } from '../../src/ship/syslog/relp-protocol.ts'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { batch, openSink, patient } from './options.ts'
import { startRelpReceiver, type RelpReceiver } from './relp-receiver.ts'
import { testSinkContract, type Bench } from './sink-contract.ts'

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())

function many(count: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => Buffer.from(`message ${index}`))
}

function texts(from: number, to: number): string[] {
  return many(to).slice(from).map(String)
}

function benchOf(receiver: RelpReceiver, options: object): Bench {
  return {
    openSink: () => openSink(syslog, { address: receiver.address, transport: 'relp', ...options }),
    received: async () => receiver.sessions.flat(),
    stop: () => receiver.stop(),
    start: () => receiver.start(),
    unreachable: 'sink_unreachable',
    breakMidway: () => void (receiver.manner = 'reset'),
    stall: () => void (receiver.manner = 'stall'),
    connections: () => receiver.busy,
    says: {
      unavailable: () => void (receiver.manner = 'trouble'),
      partly: () => void (receiver.manner = 'poison'),
      recovers: () => void (receiver.manner = 'confirm'),
    },
    async [Symbol.asyncDispose]() {
      await receiver[Symbol.asyncDispose]()
    },
  }
}

testSinkContract('syslog relp', async () => benchOf(await startRelpReceiver(), {}))
testSinkContract('syslog relp-tls', async () => {
  const receiver = await startRelpReceiver({
    cert: readFileSync(files.server.cert),
    key: readFileSync(files.server.key),
  })
  return benchOf(receiver, { transport: 'relp-tls', tls: { ca: files.ca } })
})

test('frames are read whatever pieces they come in', () => {
  const frame = fc.record({
    transaction: fc.integer({ min: 0, max: 999_999_999 }),
    command: fc.constantFrom('rsp', 'serverclose', 'open'),
    data: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  })
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 6 }), fc.array(fc.nat(40)), (frames, cuts) => {
      const stream = Buffer.concat(frames.map((one) => relpFrame(one.transaction, one.command, one.data)))
      const read = relpReader()
      const got = []
      let at = 0
      for (const cut of cuts) {
        got.push(...read(stream.subarray(at, at + cut)))
        at += cut
      }
      got.push(...read(stream.subarray(at)))
      expect(got).toEqual(frames)
    }),
  )
})

test('what is no RELP is noticed', () => {
  for (const wrong of [
    'HTTP/1.1 400',
    '<134>1 - -',
    '1 rsp 3 abcd',
    '1 rsp 131073 ',
    '1234567890 rsp 0\n',
    '1  rsp 0\n',
  ]) {
    expect(() => relpReader()(Buffer.from(wrong))).toThrow(/RELP/)
  }
  expect(relpReader()(Buffer.from('7 rsp 0 \n8 rsp 0\n')).map(({ transaction }) => transaction)).toEqual([7, 8])
})

test('answers and offers are read as servers write them', () => {
  const open =
    '200 OK\nrelp_version=0\nrelp_software=librelp,1.11.0,http://librelp.adiscon.com\ncommands=syslog,eventlog\n'
  const { status, words, more } = readAnswer(Buffer.from(open))
  expect({ status, words }).toEqual({ status: 200, words: 'OK' })
  expect(Object.fromEntries(readOffers(more))).toMatchObject({ relp_version: '0', commands: 'syslog,eventlog' })
  expect(readAnswer(Buffer.from(''))).toMatchObject({ status: 200 })
  expect(() => readAnswer(Buffer.from('OK'))).toThrow('status')
  expect([1, 999_999_998, 999_999_999].map(transactionAfter)).toEqual([2, 999_999_999, 1])
})

test.for(['leave', 'gone'] as const)('%s: only what was not confirmed is sent again', async (manner) => {
  await using receiver = await startRelpReceiver()
  await using sink = openSink(syslog, { address: receiver.address, transport: 'relp', window: 10 })
  receiver.manner = manner
  receiver.keep = 25
  const untaken = await sink.send(many(100), batch, patient)
  const first = untaken[0]?.index ?? 0
  // A reset may overtake answers: what is not known to be confirmed is not.
  expect(first).toBeGreaterThan(0)
  expect(first).toBeLessThanOrEqual(25)
  expect(untaken.map(({ index }) => index)).toEqual(Array.from({ length: 100 - first }, (_, index) => first + index))
  for (const { error } of untaken) expect(error).toMatchObject({ code: 'sink_reset', remedy: 'retry' })
  // Ten may be under way at a time: what is behind them was never written.
  expect(untaken.filter(({ error }) => error.inDoubt).length).toBeLessThanOrEqual(25 - first + 10)
  expect(untaken.at(-1)?.error.inDoubt).toBe(false)
  receiver.manner = 'confirm'
  expect(await sink.send(many(100).slice(first), batch, patient)).toEqual([])
  expect(receiver.sessions.at(-1)).toEqual(texts(first, 100))
})

test('no more than a window is under way without an answer', async () => {
  await using receiver = await startRelpReceiver()
  receiver.manner = 'stall'
  const options = { address: receiver.address, transport: 'relp', window: 7, confirmTimeout: 200 }
  await using sink = openSink(syslog, options)
  await expect(sink.send(many(100), batch, patient)).rejects.toMatchObject({ code: 'sink_timeout', inDoubt: true })
  expect(receiver.underWay).toBe(7)
})

test('a server that says nothing is found out, and nothing was sent to it', async () => {
  await using receiver = await startRelpReceiver()
  receiver.manner = 'mute'
  await using sink = openSink(syslog, { address: receiver.address, transport: 'relp', confirmTimeout: 200 })
  const silent = { code: 'sink_timeout', inDoubt: false, message: expect.stringContaining('is it a RELP port?') }
  await expect(sink.send(many(1), batch, patient)).rejects.toMatchObject(silent)
  await expect(sink.look(patient)).rejects.toMatchObject(silent)
  expect(receiver.underWay).toBe(0)
})

test('a session is used again, and closed in order at the end', async () => {
  await using receiver = await startRelpReceiver()
  const sink = openSink(syslog, { address: receiver.address, transport: 'relp' })
  for (let round = 0; round < 3; round++) await sink.send(many(5), batch, patient)
  expect(receiver.sessions).toEqual([[...texts(0, 5), ...texts(0, 5), ...texts(0, 5)]])
  await sink[Symbol.asyncDispose]()
  expect(receiver.commands).toEqual([['open', 'close']])
  await expect.poll(() => receiver.open.size).toBe(0)
})

test('a session that is too old is replaced', async () => {
  await using receiver = await startRelpReceiver()
  const target = { address: readAddress(receiver.address), tls: undefined, connectTimeoutMs: 5000, where: 'here' }
  const settings = { dial: dialer(target), window: 10, confirmTimeoutMs: 5000, where: 'here' }
  await using client = relpClient({ ...settings, ageMaxMs: 0 })
  for (let round = 0; round < 3; round++) await client.send(many(5), patient)
  expect(receiver.sessions.length).toBe(3)
  await expect
    .poll(() => receiver.commands.slice(0, 2))
    .toEqual([
      ['open', 'close'],
      ['open', 'close'],
    ])
})

test('a session that the server has left meanwhile is not used', async () => {
  await using receiver = await startRelpReceiver()
  await using sink = openSink(syslog, { address: receiver.address, transport: 'relp' })
  for (let round = 0; round < 20; round++) {
    await sink.send(many(2), batch, patient)
    for (const socket of receiver.open) {
      if (round % 2 === 0) socket.resetAndDestroy()
      else socket.end('0 serverclose 0\n')
    }
  }
  expect(receiver.sessions.length).toBe(20)
})

test('a message that is refused alone, and one that no frame can carry', async () => {
  await using receiver = await startRelpReceiver()
  await using sink = openSink(syslog, { address: receiver.address, transport: 'relp' })
  receiver.manner = 'poison'
  const alone = sink.send([Buffer.from('poison')], batch, patient)
  // Nothing shows whose fault it is: it is tried again.
  await expect(alone).rejects.toMatchObject({ code: 'sink_unavailable', remedy: 'retry', inDoubt: false })
  const huge = Buffer.alloc(128 * 1024 + 1, 'x')
  const untaken = await sink.send([Buffer.from('a'), huge, Buffer.from('poison'), Buffer.from('b')], batch, patient)
  expect(untaken.map(({ index, error }) => [index, error.code])).toEqual([
    [1, 'sink_refused_event'],
    [2, 'sink_refused_event'],
  ])
  expect((await sink.send([huge], batch, patient)).map(({ index }) => index)).toEqual([0])
  expect(receiver.sessions.flat()).toEqual(['a', 'b'])
})

test('a look says version and software', async () => {
  await using receiver = await startRelpReceiver()
  await using sink = openSink(syslog, { address: receiver.address, transport: 'relp' })
  const { findings } = await sink.look(patient)
  expect(findings.join('. ')).toMatch(/not encrypted.*RELP version 1 of test.*confirms every message/)
})
