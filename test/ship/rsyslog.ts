// A real rsyslogd for one test: own configuration, folder, pid file and port.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Certificate } from './certificates.ts'

export const hasRsyslog = spawnSync('rsyslogd', ['-v']).status === 0

/** The package rsyslog-relp. */
export const hasRelp = hasRsyslog && globSync('/{usr/lib,lib}{,64}/{,*-linux-*/}rsyslog/imrelp.so').length > 0

export interface Rsyslog extends AsyncDisposable {
  readonly port: number
  readonly address: string
  /** Where it stores messages; none yet, and it is not there. */
  readonly file: string
  /** The messages it has stored, as they came. */
  stored(): Promise<string[]>
  kill(signal: NodeJS.Signals): Promise<void>
  signal(signal: NodeJS.Signals): void
  start(): Promise<void>
}

export interface RsyslogTls {
  readonly ca: string
  readonly server: Certificate
  /** The name that a client certificate must have. Absent: any client. */
  readonly clientName?: string
}

export interface RsyslogSetup {
  /** What it listens with. Default: imtcp. */
  readonly input?: 'imtcp' | 'imudp' | 'imrelp'
  readonly tls?: RsyslogTls | undefined
  /** Whether a message is written before it is confirmed: what it is told is then in the file, come what may. */
  readonly direct?: boolean
}

export async function startRsyslog(setup: RsyslogSetup = {}): Promise<Rsyslog> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-rsyslog-'))
  const port = await freePort()
  const [file, config] = [join(folder, 'stored'), join(folder, 'rsyslog.conf')]
  await writeFile(config, configuration(folder, port, file, setup))
  const launch = async () => {
    // What a killed one has left: it will not start while some other process has that number.
    await rm(join(folder, 'pid'), { force: true })
    const child = spawn('rsyslogd', ['-n', '-f', config, '-i', join(folder, 'pid')], { stdio: 'ignore' })
    await answers(port)
    return child
  }
  let child = await launch()
  const kill = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill(signal)
    await gone
  }
  return {
    port,
    address: `127.0.0.1:${port}`,
    file,
    kill,
    signal: (signal) => void child.kill(signal),
    async start() {
      child = await launch()
    },
    async stored() {
      const text = await readFile(file, 'utf8').catch(() => '')
      return text.split('\n').slice(0, -1)
    },
    async [Symbol.asyncDispose]() {
      await kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function configuration(folder: string, port: number, file: string, setup: RsyslogSetup): string {
  const { tls, input = 'imtcp' } = setup
  const files =
    tls === undefined
      ? ''
      : `defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile="${tls.ca}"
  defaultNetstreamDriverCertFile="${tls.server.cert}" defaultNetstreamDriverKeyFile="${tls.server.key}"`
  return `global(workDirectory="${folder}" ${input === 'imtcp' ? files : ''})
${setup.direct ? 'main_queue(queue.type="direct")' : ''}
${inputs[input](`address="127.0.0.1" port="${port}"`, tls)}
template(name="raw" type="string" string="%rawmsg%\\n")
action(type="omfile" file="${file}" template="raw")
`
}

const inputs = {
  imtcp(at: string, tls?: RsyslogTls): string {
    const mode = tls?.clientName === undefined ? '"anon"' : `"x509/name" permittedPeer="${tls.clientName}"`
    const driver = `streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode=${mode}`
    return `module(load="imtcp" maxSessions="500" ${tls === undefined ? '' : driver})
input(type="imtcp" ${at})`
  },
  // Besides, TCP on the same port, so that it is known when it is there.
  imudp: (at: string): string => `module(load="imudp")
input(type="imudp" ${at})
${inputs.imtcp(at)}`,
  imrelp(at: string, tls?: RsyslogTls): string {
    if (tls === undefined) return `module(load="imrelp")\ninput(type="imrelp" ${at})`
    const { ca, server, clientName } = tls
    const keys = `tls.cacert="${ca}" tls.mycert="${server.cert}" tls.myprivkey="${server.key}"`
    const who = clientName === undefined ? '' : `tls.authmode="name" tls.permittedpeer=["${clientName}"]`
    // GnuTLS asks every client for a certificate.
    return `module(load="imrelp" tls.tlslib="${clientName === undefined ? 'openssl' : 'gnutls'}")
input(type="imrelp" ${at} tls="on" ${keys} ${who})`
  },
}

/**
 * Below the ports that the system gives to whoever connects (Linux: from 32768): nobody else is to have it while its
 * receiver is down.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 20_000)
    const server = createServer().listen(port, '127.0.0.1')
    const free = await once(server, 'listening').catch(() => undefined)
    if (free === undefined) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Resolves when something listens there. */
export async function answers(port: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch (error) {
      if (tries > 1000) throw error
      await delay(10)
    } finally {
      socket.destroy()
    }
  }
}
