// The contract on a stream, and a real pipe that breaks.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { writeTo } from '../../src/ship/sinks/stdout.ts'
import { testSinkContract } from './sink-contract.ts'

testSinkContract('stdout', async () => {
  let got = ''
  let stream: PassThrough
  const launch = () => {
    stream = new PassThrough()
    stream.setEncoding('utf8').on('data', (chunk: string) => (got += chunk))
  }
  launch()
  return {
    // The sink keeps its stream for life, as the standard output is: a restart is a new process with a new sink.
    openSink: () => {
      const sinks = new Map([[stream, writeTo(stream)]])
      const sink = () => sinks.get(stream) ?? sinks.set(stream, writeTo(stream)).get(stream) ?? writeTo(stream)
      return {
        send: (records, batch, signal) => sink().send(records, batch, signal),
        look: (signal) => sink().look(signal),
        [Symbol.asyncDispose]: () => sink()[Symbol.asyncDispose](),
      }
    },
    async received() {
      return got.split('\n').slice(0, -1)
    },
    async stop() {
      stream.destroy()
    },
    async start() {
      launch()
    },
    unreachable: 'sink_unreachable',
    async [Symbol.asyncDispose]() {
      stream.destroy()
    },
  }
})

const program = `
  import { stdout } from ${JSON.stringify(new URL('../../src/ship/sinks/stdout.ts', import.meta.url).href)}
  await using sink = stdout.open({})
  const { signal } = new AbortController()
  const records = Array.from({ length: 1000 }, () => Buffer.alloc(1000, 'x'))
  for (;;) {
    try { await sink.send(records, { sendId: '', contentType: '' }, signal) } catch (error) {
      console.error(error.code)
      break
    }
  }
`

test('a pipe that nobody reads any more is an error, not the end of the process', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'pipe'] })
  const words = text(child.stderr)
  await once(child.stdout, 'data')
  child.stdout.destroy()
  const [exit] = await once(child, 'exit')
  expect(await words).toBe('sink_unreachable\n')
  expect(exit).toBe(0)
})
