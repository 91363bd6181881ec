// A real syslog-ng for one test, unpacked by deploy/setup.mjs: own configuration, folder and port. It writes what it
// understood as JSON.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answers, freePort } from './rsyslog.ts'

const root = fileURLToPath(new URL('../../node_modules/.cache/syslog-ng', import.meta.url))
const program = join(root, 'usr/sbin/syslog-ng')
const modules = globSync(join(root, 'usr/lib/syslog-ng/*.*')).filter((path) => !/\.so/.test(path))
const libraries = [join(root, 'usr/lib/syslog-ng'), ...globSync(join(root, '{usr/lib,lib}/*-linux-*'))].join(':')
const env = { ...process.env, LD_LIBRARY_PATH: libraries }
const modulePath = `--module-path=${modules.join(':')}`

export const hasSyslogNg = spawnSync(program, ['--version', modulePath], { env }).status === 0

/**
 * - `syslog-tcp`: RFC 5424 with octet counting, and nothing else
 * - `network-5424`, `network-3164`: lines over TCP, with either header
 * - `syslog-udp`: RFC 5424 in datagrams
 */
export type SyslogNgSource = 'syslog-tcp' | 'network-5424' | 'network-3164' | 'syslog-udp'

export interface SyslogNg extends AsyncDisposable {
  readonly address: string
  /** The messages it has stored, as it understood them. */
  stored(): Promise<SyslogNgMessage[]>
}

export interface SyslogNgMessage {
  readonly PRIORITY: string
  readonly FACILITY: string
  readonly ISODATE: string
  readonly HOST: string
  readonly PROGRAM?: string
  readonly MSGID?: string
  readonly MESSAGE?: string
  readonly _SDATA?: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>
}

export async function startSyslogNg(source: SyslogNgSource): Promise<SyslogNg> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-syslog-ng-'))
  const port = await freePort()
  const at = (name: string) => join(folder, name)
  await writeFile(at('conf'), configuration(sources[source](`ip("127.0.0.1") port(${port})`), at('stored')))
  const places = ['-f', at('conf'), '-R', at('persist'), '-c', at('control'), '-p', at('pid')]
  const child = spawn(program, ['-F', '--no-caps', modulePath, ...places], { env, stdio: 'ignore' })
  await answers(port)
  return {
    address: `127.0.0.1:${port}`,
    async stored() {
      const text = await readFile(at('stored'), 'utf8').catch(() => '')
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as SyslogNgMessage)
    },
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const sources = {
  'syslog-tcp': (at: string) => `syslog(transport("tcp") ${at});`,
  'network-5424': (at: string) => `network(transport("tcp") ${at} flags(syslog-protocol));`,
  'network-3164': (at: string) => `network(transport("tcp") ${at});`,
  // Besides, TCP on the same port, so that it is known when it is there.
  'syslog-udp': (at: string) => `syslog(transport("udp") ${at}); network(transport("tcp") ${at});`,
}

function configuration(source: string, file: string): string {
  return `@version: 3.38
options { time-reopen(1); keep-hostname(yes); use-dns(no); stats-freq(0); };
source in { ${source} };
destination out {
  file("${file}" template("$(format-json --scope syslog-proto --key ISODATE)\\n"));
};
log { source(in); destination(out); };
`
}
