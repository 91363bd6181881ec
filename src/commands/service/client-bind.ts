// Binds a client to its partner: as the second half of its creation, or by itself.

import { TailraceError } from '../../errors.ts'
import { requests } from '../../service/requests.ts'
import type { ExitCode, Terminal } from '../command.ts'
import {
  accessArguments,
  commandLine,
  openService,
  readAccount,
  type AccessOptions,
  type OpenService,
} from './access.ts'
import { showJson, showRequest, type WriteOptions } from './carry-out.ts'
import { journalAt, listProvisioned, type Journal, type Provisioning } from './journal.ts'

export interface BindOptions extends AccessOptions, WriteOptions {
  readonly client: number
  readonly partnerId: number
  readonly bindingId?: number
  readonly journal: string
  readonly json: boolean
}

/** A client that exists, to be bound. */
export interface Bindable extends Provisioning {
  readonly client: number
  readonly partner: number
  readonly binding: number
}

export async function bindClient(options: BindOptions, terminal: Terminal): Promise<ExitCode> {
  const { client, partnerId: partner, bindingId: binding = client } = options
  const account = await readAccount(options, terminal.env)
  if (options.dryRun) {
    const request = requests.bindClient(partner, { clientid: client, id: binding, params: {} })
    terminal.print(showRequest(account, request))
    return 0
  }
  const provisioned = await listProvisioned(options.journal)
  const known = provisioned.find((one) => one.client === client && one.baseUrl === account.baseUrl)
  await using service = openService(account, terminal)
  terminal.signal.throwIfAborted()
  await service.client.bindClient(partner, { clientid: client, id: binding, params: {} }, service.patience)
  if (known !== undefined) {
    const { file, ...rest } = known
    await journalAt(file).write({ ...rest, step: 'bound', partner, binding })
  }
  const done = { client, partner, binding }
  terminal.print(options.json ? showJson(done) : `Client ${client} is bound to the partner ${partner} as ${binding}.`)
  return 0
}

interface Binding {
  readonly service: OpenService
  readonly journal: Journal
  /** An earlier run may have bound it already: being told so is no failure then. */
  readonly again: boolean
}

/** Resolves to what is recorded then. Rejects with the service's error; the client exists all the same. */
export async function bindRecorded(known: Bindable, { service, journal, again }: Binding): Promise<Provisioning> {
  const { client, partner, binding } = known
  await journal.write({ ...known, step: 'binding' })
  try {
    await service.client.bindClient(partner, { clientid: client, id: binding, params: {} }, service.patience)
  } catch (error) {
    const already = error instanceof TailraceError && error.code === 'service_conflict' && again
    if (!already) throw error
  }
  const bound = { ...known, step: 'bound' } as const
  await journal.write(bound)
  return bound
}

/** The command that does what is left to do, to be copied. */
export function bindCommand(
  { client, partner, binding }: Bindable,
  options: AccessOptions & { journal: string },
): string {
  const what = ['--client', String(client), '--partner-id', String(partner), '--binding-id', String(binding)]
  return commandLine(['service', 'clients', 'bind', ...what, ...accessArguments(options), '--journal', options.journal])
}
