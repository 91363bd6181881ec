// Against a real syslog-ng, which is strict about framing: what it understood is compared field by field.

import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { json } from '../../src/ship/formats/json.ts'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { attack } from './events.ts'
import { batch, openSink, optionsOf, patient } from './options.ts'
import { hasSyslogNg, startSyslogNg } from './syslog-ng.ts'

/** How long is waited for what should be there at once: the machine may be busy. */
const soon = { timeout: 10_000 }

const variants = [
  { source: 'syslog-tcp', options: { framing: 'octet' } },
  { source: 'syslog-tcp', options: { framing: 'octet', bom: true } },
  { source: 'network-5424', options: { framing: 'lf' } },
  { source: 'syslog-udp', options: { transport: 'udp', maxMessageBytes: 4096 } },
] as const

test.skipIf(!hasSyslogNg).for(variants)('$source, $options: an RFC 5424 header is understood', async (variant) => {
  await using receiver = await startSyslogNg(variant.source)
  const options = { ...variant.options, address: receiver.address, hostname: 'gw-1.example.com', appName: 'waf' }
  await using sink = openSink(syslog, options)
  const tenant = 'a"c\\m]e ж\n<134>1 - - - - - - forged'
  const events = Array.from({ length: 20 }, (_, index) =>
    attack({ sequence: index, tenant, replayed: index % 2 === 1 }),
  )
  const encode = json.compile({})
  const frame = syslog.frame?.(optionsOf(syslog, options), json)
  const records = events.map((event) => Buffer.from(frame?.(event, encode(event)) ?? ''))
  await sink.send(records, batch, patient)
  await expect.poll(async () => (await receiver.stored()).length, soon).toBe(events.length)
  expect(await receiver.stored()).toEqual(
    events.map((event, sequence) => ({
      PRIORITY: 'err',
      FACILITY: 'local0',
      DATE: expect.any(String),
      ISODATE: expect.stringMatching(/^2026-03-30T17:44:59(\.007)?\+00:00$/),
      HOST: 'gw-1.example.com',
      PROGRAM: 'waf',
      MSGID: 'attack',
      MESSAGE: encode(event),
      _SDATA: {
        'tailrace@32473': {
          id: event.id,
          sequence: String(sequence),
          revision: '2',
          action: 'updated',
          tenant: tenant.replace('\n', ' '),
          stream: 'attacks',
          ...(event.replayed ? { replayed: 'true' } : {}),
        },
      },
    })),
  )
})

test.skipIf(!hasSyslogNg)('an RFC 3164 header is understood; CEF without a tag is taken for one', async () => {
  await using receiver = await startSyslogNg('network-3164')
  const options = { address: receiver.address, header: 'rfc3164', hostname: 'gw-1' }
  await using sink = openSink(syslog, options)
  const event = attack({ time: Date.UTC(2026, 2, 9, 7, 4, 5) })
  const send = async (format: string, text: string) => {
    const frame = syslog.frame?.(optionsOf(syslog, options), { ...json, name: format })
    await sink.send([Buffer.from(frame?.(event, text) ?? '')], batch, patient)
  }
  await send('json', '{"a":"b"}\n<134>Mar  9 07:04:05 host tag: forged')
  await send('cef', 'CEF:0|x|y')
  await expect.poll(async () => (await receiver.stored()).length, soon).toBe(2)
  const common = { PRIORITY: 'err', FACILITY: 'local0', HOST: 'gw-1' }
  expect(await receiver.stored()).toMatchObject([
    { ...common, PROGRAM: 'tailrace', MESSAGE: '{"a":"b"} <134>Mar  9 07:04:05 host tag: forged' },
    { ...common, PROGRAM: 'CEF', MESSAGE: '0|x|y' },
  ])
})
