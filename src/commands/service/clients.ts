// `tailrace service clients create|bind`, as commander knows them.

import { InvalidArgumentError, Option, type Command } from 'commander'
import { newClientDefaults } from '../../service/operations.ts'
import { declareAccess, type Act } from './access.ts'
import { declareDryRun } from './carry-out.ts'
import { bindClient, type BindOptions } from './client-bind.ts'
import { createClient, type CreateOptions } from './client-create.ts'
import { usualJournal } from './journal.ts'
import { id, json } from './values.ts'

const createHelp = `
Needs a partner account: its user's UUID and secret, and the partner UUID.
  tailrace service clients create --name Acme --instance eu --uuid-from env:UUID --secret-from file:/run/secrets/key \\
    --partner-uuid-from env:PARTNER_UUID --write-tenant
The client is created, then bound to the partner. What happened is recorded in the journal before and after each
request: run the same command again after a failure, and it goes on where it was. Where the answer to the creation
never came, nobody but you can find out whether it was done, as the service has no list of clients: look in its console,
then say --resume created=ID --partner-id ID, or --start-over.
vuln_prefix: the first four letters or digits of the name; counted up where the journal knows of a client that has them.
With --file client.yaml (options count over it):
  name: Acme
  language: en
  partner_uuid: \${env:PARTNER_UUID}
  notifications: {}
  vuln_prefix: ACME     # may be left out
  binding_id: 4712      # may be left out: the id of the client`

export function declareClients(service: Command, act: Act): void {
  const clients = service.command('clients').description('create clients and bind them to the partner')
  const create = clients.command('create').description('create a client and bind it to the partner')
  declareFields(create)
  create
    .option('--binding-id <number>', 'the number to bind it by, of your choice (default: the id of the client)', id)
    .option('--journal <folder>', 'where is recorded what has been done', usualJournal)
    .option('--resume <created=id>', 'the client was created, and has this id: go on with binding it', created)
    .option('--partner-id <number>', 'with --resume: the id of the partner', id)
    .option('--start-over', 'the client was not created: create it', false)
    .option('--write-tenant [name]', 'write a file for the tenant, which a running daemon picks up')
    .option('--tenants <folder>', 'where to, instead of the folder of the configuration')
    .option(
      '--tenant-uuid-from <reference>',
      'with other credentials than those of this command: env:NAME or file:/path',
    )
    .option('--tenant-secret-from <reference>', 'the same for the secret')
    .option('--json', 'for programs', false)
    .addHelpText('after', createHelp)
    .action((options: CreateOptions) => act(async (terminal) => createClient(options, terminal)))
  declareAccess(declareDryRun(create))

  const bind = clients
    .command('bind')
    .description('bind a client that exists to the partner')
    .requiredOption('--client <id>', 'the id of the client, from its creation', id)
    .requiredOption('--partner-id <number>', 'the id of the partner, from the creation', id)
    .option('--binding-id <number>', 'the number to bind it by, of your choice (default: the id of the client)', id)
    .option('--journal <folder>', 'where clients create has recorded what has been done', usualJournal)
    .option('--json', 'for programs', false)
    .action((options: BindOptions) => act(async (terminal) => bindClient(options, terminal)))
  declareAccess(declareDryRun(bind))
}

/** The fields of a client. Without defaults of commander's, so that a file counts where an option is not given. */
function declareFields(create: Command): void {
  const usual = newClientDefaults
  create
    .option('--file <file>', 'YAML file with the fields of the client, in the names of the service')
    .option('--name <text>', 'its name')
    .option(
      '--vuln-prefix <text>',
      'four letters or digits that its vulnerabilities begin with (default: from the name)',
    )
    .addOption(
      new Option('--language <name>', `of its web interface (default: ${usual.language})`).choices(['en', 'ru']),
    )
    .option('--disabled', 'create it disabled')
    .option('--notifications <json>', 'its notification settings (default: {})', json)
    .option('--mode <name>', `working mode (default: ${usual.mode})`)
    .option('--blocking-type <name>', `(default: ${usual.blocking_type})`)
    .option('--thirdparty-blacklists', 'use the external blacklists')
    .option('--scanner-mode <name>', `(default: ${usual.scanner_mode})`)
    .option('--scanner-state <json>', '(default: {})', json)
    .option('--thirdparty-mode <name>', `(default: ${usual.thirdparty_mode})`)
    .option('--partner-uuid-from <reference>', 'where the UUID of the partner is: env:NAME or file:/path')
}

function created(text: string): number {
  const [, given] = /^created=(\d+)$/.exec(text) ?? []
  if (given === undefined) throw new InvalidArgumentError('It must be created=ID, with the id of the client.')
  return id(given)
}
