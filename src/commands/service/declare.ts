// `tailrace service …`: every operation of the service's interface, for operators.

import type { Command } from 'commander'
import type { ExitCode, Terminal } from '../command.ts'
import type { Act } from './access.ts'
import { declareClients } from './clients.ts'
import { declareLists } from './lists.ts'
import { declareRuleChanges } from './rules.ts'
import { declareSecrets } from './secrets.ts'
import { declareUsers } from './users.ts'

const help = `
Examples:
  tailrace service attacks list --tenant acme --from 24h
  tailrace service rules create vpatch --tenant acme --path /api/v1 --header HOST=example.com --dry-run
  tailrace service rules delete 1001 1002 --tenant acme
  tailrace service secrets renew --tenant acme
  tailrace service clients create --name Acme --instance eu --uuid-from env:UUID --secret-from file:key \\
    --partner-uuid-from env:PARTNER_UUID

Ends with 0 when done, 1 when it failed or the service refused, 2 on misuse. Errors have the service's own words.`

export function declareServiceCommands(program: Command, choose: Act): void {
  const act: Act = (work) => choose(async (terminal) => unlessStopped(work, terminal))
  const service = program
    .command('service')
    .description('manage the service: clients, users, secrets, attacks, incidents, vulnerabilities, rules, conditions')
    .addHelpText('after', help)
  declareClients(service, act)
  declareUsers(service, act)
  declareSecrets(service, act)
  const rules = declareLists(service, act)
  declareRuleChanges(rules, act)
}

/** A command that was stopped has not done what it was told. */
async function unlessStopped(work: Parameters<Act>[0], terminal: Terminal): Promise<ExitCode> {
  try {
    return await work(terminal)
  } catch (thrown) {
    if (!terminal.signal.aborted || thrown !== terminal.signal.reason) throw thrown
    terminal.complain('Stopped before the end.')
    return 1
  }
}
