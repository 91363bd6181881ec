// `tailrace pause` and `resume`: a person stops the reading of a tenant or stream, or the sending to a destination.

import { createPauses } from '../queue/pauses.ts'
import type { PauseName } from '../queue/pauses.ts'
import { streamNames } from '../event.ts'
import type { ExitCode, Terminal } from './command.ts'
import { chooseStreams, misuse, openRedisAccess } from './redis-access.ts'
import type { RedisAccess } from './redis-access.ts'
import { table } from './table.ts'

export interface PauseOptions {
  readonly config: string
  readonly tenant?: string
  readonly stream?: string
  readonly destination?: string
  readonly reason?: string
  readonly json?: boolean
}

export async function pause(options: PauseOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const name = await nameOf(options, access, true)
  await createPauses(access.redis, access.prefix).set(name, options.reason ?? '')
  terminal.print(`${name} is paused, within two seconds, until \`tailrace resume\`.`)
  return 0
}

export async function resume(options: PauseOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const name = await nameOf(options, access, false)
  const known = await createPauses(access.redis, access.prefix).clear(name)
  terminal.print(known ? `${name} goes on.` : `${name} was not paused.`)
  return 0
}

export async function listPauses(options: PauseOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const pauses = await createPauses(access.redis, access.prefix).list()
  const shown = pauses.map(({ since, ...rest }) => ({ ...rest, since: new Date(since).toISOString() }))
  if (options.json) terminal.print(JSON.stringify(shown, null, 2))
  else if (shown.length === 0) terminal.print('Nothing is paused.')
  else
    terminal.print(
      table(
        ['paused', 'since', 'why'],
        shown.map((one) => [one.name, one.since, one.reason]),
      ),
    )
  return 0
}

/** `known`: it must exist. What is gone from the configuration can still be resumed. */
async function nameOf(options: PauseOptions, access: RedisAccess, known: boolean): Promise<PauseName> {
  const { tenant, stream, destination } = options
  if ([tenant, stream, destination].filter((given) => given !== undefined).length !== 1)
    throw misuse('Name one thing: --tenant acme, --stream acme/attacks or --destination soc')
  const { config } = access
  if (tenant !== undefined) {
    if (known) await chooseStreams(access, { tenant })
    return `tenant:${tenant}`
  }
  if (stream !== undefined) {
    const [owner = '', name = ''] = stream.split('/')
    if (!streamNames.some((one) => one === name) || owner === '')
      throw misuse(`--stream ${stream} must name a tenant and its stream: acme/attacks`)
    if (known) await chooseStreams(access, { tenant: owner, stream: name })
    return `stream:${stream}`
  }
  const names = config.destinations.map(({ name }) => name)
  if (known && destination !== undefined && !names.includes(destination))
    throw misuse(`${destination} is not configured. Destinations: ${names.join(', ')}`)
  return `destination:${destination ?? ''}`
}
