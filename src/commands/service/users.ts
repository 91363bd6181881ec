// `tailrace service users show`: whose credentials these are.

import type { Command } from 'commander'
import type { ServiceRecord } from '../../event.ts'
import { masking, presentable, secretsIn } from '../../service/words.ts'
import type { ExitCode, Terminal } from '../command.ts'
import { table } from '../table.ts'
import { declareAccess, openService, readAccount, type AccessOptions, type Act } from './access.ts'
import { showJson } from './carry-out.ts'

interface ShowOptions extends AccessOptions {
  readonly print: boolean
  readonly json: boolean
}

export function declareUsers(service: Command, act: Act): void {
  const users = service.command('users').description('the user of the credentials')
  const show = users
    .command('show')
    .description('show the user whose credentials these are: also the way to see whether they are right')
    .option('--print', 'print the UUID in full; otherwise it is masked, as everything secret is', false)
    .option('--json', 'for programs', false)
    .action((options: ShowOptions) => act(async (terminal) => showUser(options, terminal)))
  declareAccess(show)
}

async function showUser(options: ShowOptions, terminal: Terminal): Promise<ExitCode> {
  const account = await readAccount(options, terminal.env)
  await using service = openService(account, terminal)
  const { record, uuid } = (await service.client.readUser(service.signal)).body
  const hide = masking(secretsIn(record).filter((secret) => !(options.print && secret === uuid)))
  terminal.print(options.json ? hide(showJson(record)) : hide(rows(record)))
  return 0
}

function rows(record: ServiceRecord): string {
  const cells = Object.entries(record).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return table(
    ['field', 'value'],
    cells.map((row) => row.map((cell) => presentable(cell ?? '-', (same) => same))),
  )
}
