// Until when the certificate of a receiver is valid: known once something was sent to it.

import { Buffer } from 'node:buffer'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { webhook } from '../../src/ship/sinks/webhook.ts'
import { makeCertificates } from './certificates.ts'
import { startHttpServer } from './http-server.ts'
import { batch, openSink, patient } from './options.ts'
import { startReceiver } from './receiver.ts'

test('over HTTP and over syslog, also when a TLS session is resumed', async () => {
  await using certificates = await makeCertificates()
  const { cert, key } = certificates.server
  const tls = { ca: certificates.ca }
  const end = new X509Certificate(readFileSync(cert)).validToDate.getTime()
  await using http = await startHttpServer(certificates.server)
  await using receiver = await startReceiver({ cert: readFileSync(cert), key: readFileSync(key) })

  await using hook = openSink(webhook, { url: `https://localhost:${http.port}/`, tls })
  await using log = openSink(syslog, { address: receiver.address, transport: 'tls', confirm: 'close', tls })
  for (const sink of [hook, log]) {
    expect(sink.certificateExpires?.()).toBeUndefined()
    for (let times = 0; times < 2; times++) {
      await sink.send([Buffer.from('one')], batch, patient)
      expect(sink.certificateExpires?.()).toBe(end)
    }
  }
})
