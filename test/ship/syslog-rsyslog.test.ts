// Against a real rsyslogd: what it has stored is counted.

import { Buffer } from 'node:buffer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { json } from '../../src/ship/formats/json.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { attack } from './events.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { hasRsyslog, startRsyslog } from './rsyslog.ts'

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())

function frames(values: object, first: number, count: number): string[] {
  const options = optionsOf(syslog, values)
  return Array.from({ length: count }, (_, index) => {
    const event = attack({ sequence: first + index, tenant: 'a"c\\m]e ж' })
    return syslog.frame?.(options, event, json.encode(event)) ?? ''
  })
}

function bytesOf(texts: readonly string[]): Buffer[] {
  return texts.map((text) => Buffer.from(text))
}

const variants = [
  { name: 'tcp lf', transport: 'tcp', framing: 'lf' },
  { name: 'tcp octet', transport: 'tcp', framing: 'octet' },
  { name: 'tls octet', transport: 'tls', framing: '' },
] as const

test.skipIf(!hasRsyslog).for(variants)('$name: all that was confirmed is stored', async ({ transport, framing }) => {
  const tls = transport === 'tls' ? { ca: files.ca, server: files.server } : undefined
  await using rsyslog = await startRsyslog(tls)
  const options = { address: rsyslog.address, transport, framing, tls: { ca: files.ca } }
  await using sink = openSink(syslog, options)
  expect((await sink.look(patient)).findings.join(' ')).toContain('It confirms')
  const sent = Array.from({ length: 20 }, (_, index) => frames(options, index * 100, 100))
  for (const some of sent.slice(0, 10)) await sink.send(bytesOf(some), batch, patient)
  await Promise.all(sent.slice(10).map((some) => sink.send(bytesOf(some), batch, patient)))
  await expect.poll(async () => (await rsyslog.stored()).length).toBe(2000)
  expect((await rsyslog.stored()).toSorted()).toEqual(sent.flat().toSorted())
})

test.skipIf(!hasRsyslog)('a message of maxMessageBytes arrives whole; a longer one is cut, not torn', async () => {
  await using rsyslog = await startRsyslog()
  const options = { address: rsyslog.address, framing: 'octet' }
  await using sink = openSink(syslog, options)
  const long = syslog.frame?.(optionsOf(syslog, options), attack(), 'x'.repeat(9000)) ?? ''
  expect(Buffer.byteLength(long)).toBe(8096)
  await sink.send(bytesOf([long, ...frames(options, 1, 2)]), batch, patient)
  await expect.poll(() => rsyslog.stored()).toEqual([long, ...frames(options, 1, 2)])
})

test.skipIf(!hasRsyslog)('a killed rsyslogd never confirms; it gets everything after its restart', async () => {
  await using rsyslog = await startRsyslog()
  const options = { address: rsyslog.address, confirmTimeout: 5000 }
  await using sink = openSink(syslog, options)
  await sink.send(bytesOf(frames(options, 0, 10)), batch, patient)
  // Stopped, it takes connections and bytes into its buffers: written is not read.
  rsyslog.signal('SIGSTOP')
  const sent = sink.send(bytesOf(frames(options, 10, 2000)), batch, patient).catch((thrown: unknown) => thrown)
  await expect.poll(() => process.getActiveResourcesInfo()).toContain('TCPSocketWrap')
  await rsyslog.kill('SIGKILL')
  expect(await sent).toMatchObject({ code: expect.stringMatching(/^sink_(reset|unreachable)$/) })
  await rsyslog.start()
  await sink.send(bytesOf(frames(options, 10, 2000)), batch, patient)
  await expect.poll(async () => (await rsyslog.stored()).slice(-2000)).toEqual(frames(options, 10, 2000))
})

test.skipIf(!hasRsyslog)('stopping rsyslogd while it is sent to loses nothing that was confirmed', async () => {
  await using rsyslog = await startRsyslog()
  const options = { address: rsyslog.address, confirmTimeout: 5000 }
  await using sink = openSink(syslog, options)
  const confirmed: string[] = []
  for (let round = 0; round < 3; round++) {
    const sends = Array.from({ length: 40 }, async (_, index) => {
      const some = frames(options, round * 40_000 + index * 1000, 50)
      await sink.send(bytesOf(some), batch, patient)
      confirmed.push(...some)
    })
    const all = Promise.allSettled(sends)
    await Promise.race(sends.map((send) => send.catch(() => undefined)))
    await rsyslog.kill('SIGTERM')
    await all
    await rsyslog.start()
  }
  expect(confirmed.length).toBeGreaterThan(0)
  const stored = new Set(await rsyslog.stored())
  expect(confirmed.filter((text) => !stored.has(text))).toEqual([])
})

test.skipIf(!hasRsyslog)('mutual TLS: the right certificate is let in, no other is ever confirmed', async () => {
  await using rsyslog = await startRsyslog({ ca: files.ca, server: files.server, clientName: 'tailrace' })
  const open = (own: object) =>
    openSink(syslog, { address: rsyslog.address, transport: 'tls', tls: { ca: files.ca, ...own } })
  await using welcome = open(files.client)
  await welcome.send(bytesOf(['<134>1 - - - - - - welcome']), batch, patient)
  for (const own of [files.stranger, files.server, {}]) {
    await using sink = open(own)
    for (const size of [1, 1, 1, 5000]) {
      const records = bytesOf(Array.from({ length: size }, () => '<134>1 - - - - - - stranger'))
      const error = await sink.send(records, batch, patient).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: expect.stringMatching(/^sink_(credentials|reset|unreachable)$/) })
    }
  }
  await welcome.send(bytesOf(['<134>1 - - - - - - again']), batch, patient)
  await expect.poll(async () => (await rsyslog.stored()).join('|')).toMatch(/again/)
  expect((await rsyslog.stored()).join('|')).not.toContain('stranger')
})
