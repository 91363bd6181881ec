// A real rsyslogd, which is killed. It stores a message before it goes on, so that what it confirms is stored.

import { stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { makeCertificates } from '../../ship/certificates.ts'
import { startRsyslog } from '../../ship/rsyslog.ts'
import { gather, patienceMs, sometime, type EventLine, type FrailReceiver } from './frail.ts'

export async function startRsyslogd(transport: 'tcp' | 'tls' | 'relp'): Promise<FrailReceiver> {
  const files = await makeCertificates()
  const tls = transport === 'tls' ? { ca: files.ca, server: files.server } : undefined
  const rsyslog = await startRsyslog({ input: transport === 'relp' ? 'imrelp' : 'imtcp', direct: true, tls })
  const how = {
    tcp: { framing: 'octet', confirm: 'close' },
    tls: { confirm: 'close', tls: { ca: files.ca } },
    relp: {},
  }
  return {
    destination: { sink: 'syslog', address: rsyslog.address, transport, confirmTimeout: '5s', ...how[transport] },
    knowsConfirmations: false,
    async kill(moment) {
      if (moment === 'taken') {
        // Stopped, it takes connections and bytes into its buffers.
        rsyslog.signal('SIGSTOP')
        await delay(patienceMs)
      } else if (moment !== 'any') await growth(rsyslog.file)
      await rsyslog.kill('SIGKILL')
    },
    start: () => rsyslog.start(),
    async arrived() {
      const events = (await rsyslog.stored()).flatMap((line) => [...eventsIn(line)])
      return gather(events.map((event) => [event, sometime]))
    },
    async [Symbol.asyncDispose]() {
      await rsyslog[Symbol.asyncDispose]()
      await files[Symbol.asyncDispose]()
    },
  }
}

/** Resolves as soon as the file grows. */
async function growth(file: string): Promise<void> {
  const size = async (): Promise<number> => (await stat(file).catch(() => ({ size: 0 }))).size
  const before = await size()
  const until = Date.now() + patienceMs
  while ((await size()) === before && Date.now() < until) await delay(1)
}

/** A death can tear a message in two: then the next one is behind it in the same line. */
function* eventsIn(line: string): Generator<EventLine> {
  for (const message of line.split(/(?=<\d{1,3}>1 \d{4}-\d\d-\d\dT)/)) {
    try {
      yield JSON.parse(message.slice(message.indexOf('{"id"'))) as EventLine
    } catch {
      // Torn, and so not confirmed.
    }
  }
}
