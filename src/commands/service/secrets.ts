// `tailrace service secrets renew`: a new secret, into the file that the old one came from.

import { resolve } from 'node:path'
import type { Command } from 'commander'
import { asTailraceError, TailraceError } from '../../errors.ts'
import { requests } from '../../service/requests.ts'
import type { ExitCode, Terminal } from '../command.ts'
import {
  declareAccess,
  misuse,
  openService,
  readAccount,
  type AccessOptions,
  type Account,
  type Act,
} from './access.ts'
import { confirmed, declareYes, mayHaveHappened, showRequest, type DestroyOptions } from './carry-out.ts'
import { leftOver, prepareSecretFile, saveElsewhere, type SecretFile } from './secret-file.ts'

interface RenewOptions extends AccessOptions, DestroyOptions {
  readonly to?: string
  readonly print: boolean
}

const help = `
The old secret is dead as soon as the service answers. The new one is written to the file that the old one came from:
that of \${file:…} in the tenant's file, or of --secret-from file:…; with mode 0600, the same owner, as a whole or not at
all. Whether it can be written is tried before the service is asked. A running daemon takes it without a restart.
Where the secret is in a variable, say --to FILE, or --print.
A run that was killed can be repeated: it finds out whether the secret was renewed, and does not renew it twice.`

export function declareSecrets(service: Command, act: Act): void {
  const secrets = service.command('secrets').description('the secret of the user')
  const renew = secrets
    .command('renew')
    .description('replace the secret of the user by a new one; the old one dies at once')
    .option('--to <file>', 'write it to this file instead')
    .option('--print', 'print it', false)
    .addHelpText('after', help)
    .action((options: RenewOptions) => act(async (terminal) => renewSecret(options, terminal)))
  declareAccess(declareYes(renew))
}

async function renewSecret(options: RenewOptions, terminal: Terminal): Promise<ExitCode> {
  const account = await readAccount(options, terminal.env)
  const target = targetOf(account, options)
  if (options.dryRun) {
    terminal.print(showRequest(account, requests.renewSecret()))
    terminal.print(`\nThe secret of the answer would be ${target === undefined ? 'printed' : `written to ${target}`}.`)
    return 0
  }
  if (target !== undefined && (await finishEarlier(account, target, { options, terminal }))) return 0
  if (!(await confirmed(questionOf(account, target), options, terminal))) return 1
  await assertAlive(account, terminal)
  const file = target === undefined ? undefined : await prepareSecretFile(target, account.credentials.secret)
  const secret = await askForSecret(account, file, terminal)
  if (secret === undefined) return 1
  if (options.print) terminal.print(secret)
  const kept = file === undefined || (await keep(secret, file, terminal))
  const works = await isAccepted(account, secret, terminal).catch((error: unknown) => asTailraceError(error))
  if (works !== true) {
    const why = works === false ? 'the service refuses it' : works.message
    terminal.complain(`The new secret was stored, but could not be tried: ${why}`)
  }
  return kept && works === true ? 0 : 1
}

function questionOf({ instance, tenant, config, credentials, baseUrl }: Account, target: string | undefined): string {
  const others = (config?.tenants ?? []).filter(
    (one) => one.name !== tenant?.name && one.baseUrl === baseUrl && one.credentials.uuid === credentials.uuid,
  )
  const also = others.length === 0 ? '' : ` Also of the same user: ${others.map(({ name }) => name).join(', ')}.`
  const where = target === undefined ? 'It will be printed only' : `It goes to ${target}`
  return `Renew the secret of ${tenant === undefined ? 'the user' : `tenant ${tenant.name}`} at ${instance}? The old one dies at once. ${where}.${also}`
}

/** Where the new secret goes. undefined: it is only printed. */
function targetOf(account: Account, { to, print, secretFrom }: RenewOptions): string | undefined {
  if (to !== undefined) return resolve(to)
  const { secret: reference } = account.references
  const path = /^\$\{file:([^}]*)\}$/s.exec(reference ?? '')?.[1]
  if (path !== undefined) return path
  if (print) return undefined
  const where = reference === undefined ? 'is written out in its file' : `comes from ${secretFrom ?? reference}`
  throw misuse(`the secret ${where}, which cannot be written to: say --to FILE, or --print`)
}

interface Circumstances {
  readonly options: RenewOptions
  readonly terminal: Terminal
}

/** Whether a run that was killed had the new secret, and only had to put it in its place. */
async function finishEarlier(account: Account, target: string, { options, terminal }: Circumstances): Promise<boolean> {
  const left = await leftOver(target)
  if (left?.secret === undefined || left.secret === account.credentials.secret) return false
  if (!(await isAccepted(account, left.secret, terminal))) return false
  await left.settle()
  if (options.print) terminal.print(left.secret)
  terminal.print(`An earlier run had renewed the secret: it is in ${target} now. It was not renewed again.`)
  return true
}

/** The secret must be right before it is replaced. One that died in a run that was killed cannot be brought back. */
async function assertAlive(account: Account, terminal: Terminal): Promise<void> {
  await using service = openService(account, terminal)
  try {
    await service.client.readUser(service.signal)
  } catch (error) {
    if (!(error instanceof TailraceError) || error.code !== 'service_refused') throw error
    const hint =
      'if an earlier renewal was cut off, the service has made a new secret that never arrived: log in, renew it in ' +
      'the reference interface, and put it where the old one was'
    throw new TailraceError(error.code, `${error.message}; ${hint}`, { cause: error })
  }
}

async function isAccepted(account: Account, secret: string, terminal: Terminal): Promise<boolean> {
  const credentials = { uuid: account.credentials.uuid, secret }
  await using service = openService({ ...account, credentials }, terminal)
  try {
    await service.client.readUser(service.patience)
    return true
  } catch (error) {
    if (error instanceof TailraceError && error.code === 'service_refused') return false
    throw error
  }
}

/** undefined: it is not known whether it was done; that has been told. */
async function askForSecret(
  account: Account,
  file: SecretFile | undefined,
  terminal: Terminal,
): Promise<string | undefined> {
  try {
    await using service = openService(account, terminal)
    return (await service.client.renewSecret(service.patience)).body.secret
  } catch (thrown) {
    const error = asTailraceError(thrown)
    if (!mayHaveHappened(error)) {
      await file?.discard()
      throw error
    }
    await file?.leave()
    terminal.complain(`tailrace: ${error.message}`)
    terminal.complain('Run the same command again: it finds out whether the old secret is still alive.')
    return undefined
  }
}

/** False: it is somewhere else than it should be, which has been told. */
async function keep(secret: string, file: SecretFile, terminal: Terminal): Promise<boolean> {
  try {
    const { modeBefore } = await file.keep(secret)
    terminal.print(`The secret was renewed: ${file.target}`)
    if (modeBefore !== undefined && (modeBefore & 0o077) !== 0)
      terminal.complain(`Its mode was ${modeBefore.toString(8).padStart(4, '0')}, and is 0600 now.`)
    return true
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    terminal.complain(`tailrace: ${file.target} cannot be written any more: ${why}`)
    const elsewhere = await saveElsewhere(secret, file.target)
    if (elsewhere === undefined) {
      terminal.complain('The new secret is lost. Log in, and renew it in the reference interface.')
      return false
    }
    terminal.complain('The secret was renewed, and the old one is dead. To put the new one in its place:')
    terminal.complain(`  mv ${elsewhere} ${file.target}`)
    return false
  }
}
