// Against a real rsyslogd: what it has stored is counted.

import { Buffer } from 'node:buffer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { json } from '../../src/ship/formats/json.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { attack } from './events.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { hasRelp, hasRsyslog, startRsyslog } from './rsyslog.ts'

/** How long is waited for what should be there at once: the machine may be busy. */
const soon = { timeout: 10_000 }

let files: Certificates

beforeAll(async () => {
  files = await makeCertificates()
})
afterAll(() => files[Symbol.asyncDispose]())

function frames(values: object, first: number, count: number): string[] {
  const frame = syslog.frame?.(optionsOf(syslog, values), json)
  const encode = json.compile({})
  return Array.from({ length: count }, (_, index) => {
    const event = attack({ sequence: first + index, tenant: 'a"c\\m]e ж' })
    return frame?.(event, encode(event)) ?? ''
  })
}

function bytesOf(texts: readonly string[]): Buffer[] {
  return texts.map((text) => Buffer.from(text))
}

const variants = [
  { name: 'tcp lf', transport: 'tcp', framing: 'lf', input: 'imtcp' },
  { name: 'tcp octet', transport: 'tcp', framing: 'octet', input: 'imtcp' },
  { name: 'tls octet', transport: 'tls', framing: '', input: 'imtcp' },
  { name: 'relp', transport: 'relp', framing: '', input: 'imrelp' },
  { name: 'relp over tls', transport: 'relp-tls', framing: '', input: 'imrelp' },
] as const

test.for(variants)('$name: all that was confirmed is stored', async ({ transport, framing, input }, { skip }) => {
  if (!hasRsyslog || (input === 'imrelp' && !hasRelp)) skip()
  const tls = transport.endsWith('tls') ? { ca: files.ca, server: files.server } : undefined
  await using rsyslog = await startRsyslog({ input, tls })
  const options = { address: rsyslog.address, transport, framing, tls: { ca: files.ca } }
  await using sink = openSink(syslog, options)
  const look = async () => (await sink.look(patient)).findings.join('. ')
  // librelp, just started, may still be busy with the connection that asked whether it is there.
  await expect.poll(look, soon).toContain('It confirms')
  const findings = await look()
  const shown = /TLSv1\.[23], certificate of CN=localhost, issued by CN=Test authority\. .*valid until .* \d+ days/
  expect(findings).toMatch(tls ? shown : /not encrypted/)
  const sent = Array.from({ length: 20 }, (_, index) => frames(options, index * 100, 100))
  for (const some of sent.slice(0, 10)) expect(await sink.send(bytesOf(some), batch, patient)).toEqual([])
  await Promise.all(sent.slice(10).map((some) => sink.send(bytesOf(some), batch, patient)))
  await expect.poll(async () => (await rsyslog.stored()).length, soon).toBe(2000)
  expect((await rsyslog.stored()).toSorted()).toEqual(sent.flat().toSorted())
})

test.skipIf(!hasRsyslog)('udp: what is sent slowly enough arrives; that rsyslogd has gone is heard', async () => {
  await using rsyslog = await startRsyslog({ input: 'imudp' })
  const options = { address: rsyslog.address, transport: 'udp' }
  await using sink = openSink(syslog, options)
  const sent = frames(options, 0, 200)
  for (let at = 0; at < sent.length; at += 20) {
    await sink.send(bytesOf(sent.slice(at, at + 20)), batch, patient)
    await expect.poll(async () => (await rsyslog.stored()).length, soon).toBe(at + 20)
  }
  expect(await rsyslog.stored()).toEqual(sent)
  await rsyslog.kill('SIGKILL')
  const gone = { code: 'sink_unreachable', remedy: 'retry', inDoubt: true }
  await expect(sink.send(bytesOf(sent), batch, patient)).rejects.toMatchObject(gone)
})

test.skipIf(!hasRsyslog).for(['rfc5424', 'rfc3164'])('%s: hostile text is one event', async (header) => {
  await using rsyslog = await startRsyslog()
  const options = { address: rsyslog.address, header }
  await using sink = openSink(syslog, options)
  const frame = syslog.frame?.(optionsOf(syslog, options), json)
  const forged = 'x\n<134>1 - - - - - - forged\r\n<134>Mar 30 17:44:59 host tag: forged\0y'
  const sent = [frame?.(attack({ tenant: forged }), forged) ?? '', frame?.(attack(), 'end') ?? '']
  await sink.send(bytesOf(sent), batch, patient)
  await expect.poll(() => rsyslog.stored(), soon).toEqual(sent)
})

const wrong = [
  { name: 'another host name', certificate: 'elsewhere' },
  { name: 'an expired certificate', certificate: 'expired' },
] as const

test.skipIf(!hasRelp).for(wrong)('$name is refused over tls and relp-tls', async ({ certificate }) => {
  for (const [transport, input] of [
    ['tls', 'imtcp'],
    ['relp-tls', 'imrelp'],
  ] as const) {
    await using rsyslog = await startRsyslog({ input, tls: { ca: files.ca, server: files[certificate] } })
    await using sink = openSink(syslog, { address: rsyslog.address, transport, tls: { ca: files.ca } })
    const sent = sink.send(bytesOf(['<134>1 - - - - - - x']), batch, patient)
    await expect(sent).rejects.toMatchObject({ code: 'sink_certificate', remedy: 'halt', inDoubt: false })
    expect(await rsyslog.stored()).toEqual([])
  }
})

test.skipIf(!hasRsyslog)('a message of maxMessageBytes arrives whole; a longer one is cut, not torn', async () => {
  await using rsyslog = await startRsyslog()
  const options = { address: rsyslog.address, framing: 'octet' }
  await using sink = openSink(syslog, options)
  const long = syslog.frame?.(optionsOf(syslog, options), json)?.(attack(), 'x'.repeat(9000)) ?? ''
  expect(Buffer.byteLength(long)).toBe(8096)
  await sink.send(bytesOf([long, ...frames(options, 1, 2)]), batch, patient)
  await expect.poll(() => rsyslog.stored(), soon).toEqual([long, ...frames(options, 1, 2)])
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
  await expect.poll(async () => (await rsyslog.stored()).slice(-2000), soon).toEqual(frames(options, 10, 2000))
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

test.skipIf(!hasRelp)('relp: what a killed rsyslogd had confirmed is stored, whenever it was killed', async () => {
  await using rsyslog = await startRsyslog({ input: 'imrelp', direct: true })
  const options = { address: rsyslog.address, transport: 'relp', confirmTimeout: 5000 }
  await using sink = openSink(syslog, options)
  const confirmed: string[] = []
  for (let round = 0; round < 5; round++) {
    const first = frames(options, round * 100_000 + 90_000, 10)
    expect(await sink.send(bytesOf(first), batch, patient)).toEqual([])
    confirmed.push(...first)
    const before = (await rsyslog.stored()).length
    const sends = Array.from({ length: 4 }, async (_, index) => {
      const some = frames(options, round * 100_000 + index * 10_000, 400)
      const untaken = await sink.send(bytesOf(some), batch, patient)
      const not = new Set(untaken.map((one) => one.index))
      confirmed.push(...some.filter((_text, place) => !not.has(place)))
    })
    const all = Promise.allSettled(sends)
    const until = before + 1 + Math.floor(Math.random() * 1000)
    await expect
      .poll(async () => (await rsyslog.stored()).length, { interval: 2, ...soon })
      .toBeGreaterThanOrEqual(until)
    await rsyslog.kill('SIGKILL')
    await all
    await rsyslog.start()
  }
  expect(confirmed.length).toBeGreaterThan(0)
  const stored = new Set(await rsyslog.stored())
  expect(confirmed.filter((text) => !stored.has(text))).toEqual([])
})

const mutual = [
  { transport: 'tls', input: 'imtcp' },
  { transport: 'relp-tls', input: 'imrelp' },
] as const

test.for(mutual)(
  '$transport: the right certificate is let in, no other is ever confirmed',
  async (variant, { skip }) => {
    const { transport, input } = variant
    if (!hasRsyslog || (input === 'imrelp' && !hasRelp)) skip()
    const tls = { ca: files.ca, server: files.server, clientName: 'tailrace' }
    await using rsyslog = await startRsyslog({ input, tls })
    const open = (own: object) =>
      openSink(syslog, { address: rsyslog.address, transport, tls: { ca: files.ca, ...own } })
    await using welcome = open(files.client)
    // librelp, just started, may still be busy with the connection that asked whether it is there.
    const greet = () => welcome.send(bytesOf(['<134>1 - - - - - - welcome']), batch, patient)
    await expect.poll(greet, soon).toEqual([])
    for (const own of [files.stranger, files.server, {}]) {
      await using sink = open(own)
      for (const size of [1, 1, 1, 5000]) {
        const records = bytesOf(Array.from({ length: size }, () => '<134>1 - - - - - - stranger'))
        const error = await sink.send(records, batch, patient).catch((thrown: unknown) => thrown)
        expect(error).toMatchObject({ code: expect.stringMatching(/^sink_(credentials|reset|unreachable)$/) })
      }
    }
    await welcome.send(bytesOf(['<134>1 - - - - - - again']), batch, patient)
    await expect.poll(async () => (await rsyslog.stored()).join('|'), soon).toMatch(/again/)
    expect((await rsyslog.stored()).join('|')).not.toContain('stranger')
  },
)
