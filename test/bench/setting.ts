// What floor and daemon have in common.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registers } from '../../src/commands/registers.ts'
import { loadConfig } from '../../src/config.ts'
import { wellKnownCredentials } from '../../src/simulator/directory.ts'
import type { SyslogOptions } from '../../src/ship/sinks/syslog.ts'

export const benchCredentials = { uuid: wellKnownCredentials.uuid, secret: wellKnownCredentials.secret }

export function destinationOf(port: number): object {
  return { name: 'siem', sink: 'syslog', address: `127.0.0.1:${port}`, framing: 'octet', confirm: 'close' }
}

/** The options of the daemon's destination, read as the daemon reads them. */
export async function syslogOptions(port: number): Promise<SyslogOptions> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-bench-'))
  try {
    const file = join(folder, 'floor.yaml')
    await writeFile(file, JSON.stringify({ destinations: [destinationOf(port)] }))
    const { destinations } = await loadConfig(file, {}, registers)
    return destinations[0]?.options as SyslogOptions
  } finally {
    await rm(folder, { recursive: true })
  }
}
