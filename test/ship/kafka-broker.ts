// A Kafka broker: librdkafka's mock cluster in kcat, which prints what it has consumed. It chooses its port itself and
// names it in its answers, so a door before it has a port that stays, and puts that one in. The door can be shut, break
// off, stall, encrypt, ask for a login, and answer a produce request instead.

import { Buffer } from 'node:buffer'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { createServer as createSecureServer } from 'node:tls'
import type { Certificate } from './certificates.ts'
import { freePort } from './rsyslog.ts'

export const hasKcat = spawnSync('kcat', ['-V']).error === undefined

export interface Consumed {
  readonly topic: string
  readonly partition: number
  readonly headers?: readonly string[]
  readonly key: string
  readonly payload: string
}

/** A produce request as the door sees it: which partitions, and the code to answer each with; 0 is success. */
export type CodeOf = (partition: number) => number

export interface DoorState {
  /** Of produce requests: `break` ends the connection, `lose` delivers and then ends it. Of all: `stall`. */
  mode: 'pass' | 'break' | 'lose' | 'stall' | { readonly codeOf: CodeOf }
  login: { readonly username: string; readonly password: string } | undefined
}

const produceKey = 0
const saslHandshakeKey = 17
const saslAuthenticateKey = 36

export async function startKafka(topic: string, identity?: Certificate) {
  const broker = await startMock(topic)
  const state: DoorState = { mode: 'pass', login: undefined }
  const requests: { readonly key: number; readonly version: number }[] = []
  const open = new Set<Socket>()
  let port = 0

  function serve(client: Socket): void {
    open.add(client)
    const inner = connect(broker.port, '127.0.0.1')
    client.on('error', () => undefined).on('close', () => (open.delete(client), inner.destroy()))
    inner.on('error', () => undefined).on('close', () => client.destroy())
    frames(client, (frame) => {
      const request = { key: frame.readInt16BE(4), version: frame.readInt16BE(6) }
      requests.push(request)
      const answer = answerOf(frame, state)
      if (answer === 'pass') inner.write(frame)
      else if (answer === 'break') client.destroy()
      else if (answer !== 'stall') client.write(answer)
    })
    frames(inner, (frame) => {
      const lost = state.mode === 'lose' && requests.at(-1)?.key === produceKey
      if (lost) state.mode = 'pass'
      if (lost) client.destroy()
      else client.write(withPort(frame, broker.port, port))
    })
  }

  const launch = async (at: number): Promise<Server> => {
    const secure = identity && { cert: readFileSync(identity.cert), key: readFileSync(identity.key) }
    const server = secure === undefined ? createServer(serve) : createSecureServer(secure, serve)
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let door = await launch(await freePort())
  port = (door.address() as AddressInfo).port

  const stop = async (): Promise<void> => {
    if (!door.listening) return
    const closed = once(door.close(), 'close')
    for (const socket of open) socket.destroy()
    await closed
  }
  return {
    state,
    requests,
    address: `127.0.0.1:${port}`,
    consumed: broker.consumed,
    /** What is in the topic now, by another consumer that reads to the end. */
    readAll: async () =>
      (await kcat(['-C', '-e', '-q', '-J', '-b', `127.0.0.1:${broker.port}`, '-t', topic])).map(parse),
    /** Keys as another client would place them: librdkafka, with the partitioner of Apache Kafka's own. */
    produceKeys: async (keys: readonly string[]) => {
      const options = [
        '-P',
        '-K',
        '#',
        '-b',
        `127.0.0.1:${broker.port}`,
        '-t',
        topic,
        '-X',
        'topic.partitioner=murmur2',
      ]
      await kcat(options, keys.map((key) => `${key}#other\n`).join(''))
    },
    connections: () => open.size,
    stop,
    async start() {
      door = await launch(port)
    },
    async [Symbol.asyncDispose]() {
      await stop()
      await broker[Symbol.asyncDispose]()
    },
  }
}

const quick = ['fetch.wait.max.ms=10', 'fetch.error.backoff.ms=10'].flatMap((setting) => ['-X', setting])

function parse(line: string): Consumed {
  return JSON.parse(line) as Consumed
}

/** Runs it to its end, and resolves to the lines that it wrote. */
async function kcat(options: readonly string[], input = ''): Promise<string[]> {
  const child = spawn('kcat', [...options, ...quick], { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.end(input)
  return (await text(child.stdout)).split('\n').slice(0, -1)
}

async function startMock(topic: string) {
  const mock = ['-X', 'test.mock.num.brokers=1', '-d', 'mock', '-b', 'x:1']
  const child = spawn('kcat', ['-C', '-u', '-q', '-J', ...mock, ...quick, '-t', topic])
  const consumed: Consumed[] = []
  createInterface(child.stdout).on('line', (line) => consumed.push(parse(line)))
  const port = await new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', () => reject(new Error('kcat has ended')))
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      if (said.length < 10_000) said += chunk.toString()
      const [, found] = /bootstrap\.servers=127\.0\.0\.1:(\d+)/.exec(said) ?? []
      // The topic has been made when the consumer asks where it begins.
      if (found !== undefined && said.includes('Created topic')) resolve(Number(found))
    })
  })
  return {
    port,
    consumed,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Calls with each whole frame, its length included. */
function frames(socket: Socket, take: (frame: Buffer) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const end = 4 + rest.readInt32BE(0)
      take(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  })
}

function withPort(frame: Buffer, from: number, to: number): Buffer {
  const host = Buffer.from('127.0.0.1')
  const [told, wanted] = [Buffer.concat([host, int32(from)]), Buffer.concat([host, int32(to)])]
  const changed = Buffer.from(frame)
  for (let at = changed.indexOf(told); at !== -1; at = changed.indexOf(told, at + 1)) wanted.copy(changed, at)
  return changed
}

function answerOf(frame: Buffer, { mode, login }: DoorState): Buffer | 'pass' | 'break' | 'stall' {
  const key = frame.readInt16BE(4)
  if (mode === 'stall') return 'stall'
  if (login !== undefined && key === saslHandshakeKey) {
    return answer(frame, int16(0), int32(1), string('PLAIN'))
  }
  if (login !== undefined && key === saslAuthenticateKey) {
    const right = frame.includes(`\0${login.username}\0${login.password}`)
    // Version 2, which the library takes where none is named: compact, with tagged fields.
    return answer(
      frame,
      Buffer.from([0]),
      int16(right ? 0 : 58),
      Buffer.from([0, 1]),
      Buffer.alloc(8),
      Buffer.from([0]),
    )
  }
  if (key !== produceKey || mode === 'pass' || mode === 'lose') return 'pass'
  return mode === 'break' ? 'break' : answerProduce(frame, mode.codeOf)
}

/** Produce, versions 5 to 7 (Kafka protocol guide). */
function answerProduce(frame: Buffer, codeOf: CodeOf): Buffer {
  let at = 12
  const int = (bytes: 2 | 4): number => frame.readIntBE((at += bytes) - bytes, bytes)
  const name = (): string => {
    const length = int(2)
    return frame.toString('utf8', at, (at += Math.max(length, 0)))
  }
  name() // client id
  name() // transactional id
  at += 6 // acks, timeout
  const topics: Buffer[] = []
  const count = int(4)
  while (topics.length < count) {
    const topic = name()
    const partitions: Buffer[] = []
    for (let more = int(4); more > 0; more--) {
      const index = int(4)
      const length = int(4)
      at += length
      const code = codeOf(index)
      partitions.push(
        Buffer.concat([int32(index), int16(code), Buffer.alloc(8), Buffer.alloc(8, 0xff), Buffer.alloc(8)]),
      )
    }
    topics.push(Buffer.concat([string(topic), int32(partitions.length), ...partitions]))
  }
  return answer(frame, int32(count), ...topics, int32(0))
}

function answer(frame: Buffer, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat([frame.subarray(8, 12), ...parts])
  return Buffer.concat([int32(body.length), body])
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function string(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)])
}
