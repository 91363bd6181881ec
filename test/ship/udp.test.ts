// UDP: what of the contract holds without confirmations, and what can be heard all the same.

import { Buffer } from 'node:buffer'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { openUdp } from '../../src/ship/syslog/udp.ts'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { attack } from './events.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { testSinkContract, type Bench } from './sink-contract.ts'
import { json } from '../../src/ship/formats/json.ts'

interface UdpReceiver extends AsyncDisposable {
  readonly address: string
  readonly port: number
  readonly got: { readonly text: string; readonly from: number }[]
  stop(): Promise<void>
  start(): Promise<void>
}

async function startUdp(type: 'udp4' | 'udp6' = 'udp4'): Promise<UdpReceiver> {
  const host = type === 'udp4' ? '127.0.0.1' : '::1'
  const got: UdpReceiver['got'] = []
  const launch = async (wanted: number) => {
    const opened = createSocket({ type, recvBufferSize: 4 * 1024 * 1024 })
    opened.on('message', (bytes, { port: from }) => got.push({ text: bytes.toString(), from }))
    opened.bind(wanted, host)
    await once(opened, 'listening')
    return opened
  }
  let socket: Socket | undefined = await launch(0)
  const { port } = socket.address()
  const receiver: UdpReceiver = {
    address: type === 'udp4' ? `${host}:${port}` : `[${host}]:${port}`,
    port,
    got,
    async stop() {
      if (socket === undefined) return
      const closed = once(socket, 'close')
      socket.close()
      socket = undefined
      await closed
    },
    async start() {
      socket = await launch(port)
    },
    async [Symbol.asyncDispose]() {
      await receiver.stop()
    },
  }
  return receiver
}

async function openBench(): Promise<Bench> {
  const receiver = await startUdp()
  return {
    unconfirmed: true,
    openSink: () => openSink(syslog, { address: receiver.address, transport: 'udp' }),
    received: async () => receiver.got.map(({ text }) => text),
    stop: () => receiver.stop(),
    start: () => receiver.start(),
    unreachable: 'sink_unreachable',
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}

testSinkContract('syslog udp', openBench)

const three = ['one', 'two', 'three'].map((text) => Buffer.from(text))

test('that nobody listens is heard, and said; delivery goes on when somebody does', async () => {
  await using receiver = await startUdp()
  await using sink = openSink(syslog, { address: receiver.address, transport: 'udp' })
  await sink.send(three, batch, patient)
  await receiver.stop()
  for (const records of [three, three.slice(0, 1)]) {
    const sent = sink.send(records, batch, patient)
    await expect(sent).rejects.toMatchObject({ code: 'sink_unreachable', remedy: 'retry', inDoubt: true })
  }
  await receiver.start()
  await sink.send([Buffer.from('four')], batch, patient)
  await expect.poll(() => receiver.got.at(-1)?.text).toBe('four')
})

test('what no datagram can carry is not taken; the rest is sent', async () => {
  await using receiver = await startUdp()
  await using sink = openSink(syslog, { address: receiver.address, transport: 'udp' })
  const longest = Buffer.alloc(65_507, 'x')
  const untaken = await sink.send([longest, Buffer.alloc(65_508, 'y'), Buffer.from('z')], batch, patient)
  expect(untaken).toMatchObject([{ index: 1, error: { code: 'sink_refused_event', remedy: 'stop' } }])
  await expect.poll(() => receiver.got.map(({ text }) => text.length)).toEqual([65_507, 1])
})

test('what the system finds too large is not taken either', async () => {
  await using receiver = await startUdp()
  const address = { host: '127.0.0.1', port: receiver.port }
  using line = openUdp({ address, connectTimeoutMs: 1000, where: 'here' })
  const untaken = await line.send([Buffer.alloc(65_508), Buffer.from('z')], patient)
  expect(untaken).toMatchObject([{ index: 0, error: { remedy: 'stop' } }])
  await expect.poll(() => receiver.got.map(({ text }) => text)).toEqual(['z'])
})

test.for([
  [{}, 2048],
  [{ maxMessageBytes: 1400 }, 1400],
  [{ maxMessageBytes: 1_000_000 }, 65_507],
] as const)('with %j a message has at most %d bytes', ([options, bytes]) => {
  const frame = syslog.frame?.(optionsOf(syslog, { transport: 'udp', ...options }), json)
  expect(Buffer.byteLength(frame?.(attack(), 'x'.repeat(80_000)) ?? '')).toBe(bytes)
})

test('a socket is used again until it is too old, when the name is looked up anew', async () => {
  await using receiver = await startUdp()
  for (const [ageMaxMs, sockets] of [
    [60_000, 1],
    [0, 3],
  ] as const) {
    receiver.got.length = 0
    const address = { host: 'localhost', port: receiver.port }
    using line = openUdp({ address, connectTimeoutMs: 1000, where: 'here', ageMaxMs })
    // localhost may be ::1 first, where nobody listens: there is no telling with datagrams.
    const refused = await line.send(three, patient).catch((error: unknown) => error)
    if (refused instanceof Error) return
    for (let round = 0; round < 2; round++) await line.send(three, patient)
    await expect.poll(() => receiver.got.length).toBe(9)
    expect(new Set(receiver.got.map(({ from }) => from)).size).toBe(sockets)
  }
})

test('a name that nobody knows is unreachable, without doubt', async () => {
  await using sink = openSink(syslog, { address: 'nowhere.invalid', transport: 'udp' })
  const unknown = { code: 'sink_unreachable', inDoubt: false }
  await expect(sink.send(three, batch, patient)).rejects.toMatchObject(unknown)
  await expect(sink.look(patient)).rejects.toMatchObject(unknown)
})

test('IPv6 works', async ({ skip }) => {
  const started = await startUdp('udp6').catch(() => undefined)
  if (started === undefined) return skip('no IPv6 on this machine')
  await using receiver = started
  await using sink = openSink(syslog, { address: receiver.address, transport: 'udp' })
  await sink.send(three, batch, patient)
  await expect.poll(() => receiver.got.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
})

test('a look says that nothing will be confirmed', async () => {
  await using receiver = await startUdp()
  await using sink = openSink(syslog, { address: receiver.address, transport: 'udp' })
  expect((await sink.look(patient)).findings.join(' ')).toMatch(/not encrypted.*Nothing will be confirmed/)
  expect(syslog.unconfirmed?.(optionsOf(syslog, { transport: 'udp' }))).toBe(true)
  for (const transport of ['tcp', 'tls', 'relp', 'relp-tls']) {
    expect(syslog.unconfirmed?.(optionsOf(syslog, { transport }))).toBe(false)
  }
})
