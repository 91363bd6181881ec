// `tailrace service rules create|delete`

import { Option, type Command } from 'commander'
import { asTailraceError } from '../../errors.ts'
import type { NewRule } from '../../service/operations.ts'
import { requests } from '../../service/requests.ts'
import type { ExitCode, Terminal } from '../command.ts'
import {
  clientsOf,
  declareAccess,
  misuse,
  onlyClientOf,
  openService,
  readAccount,
  type AccessOptions,
  type Account,
  type Act,
} from './access.ts'
import {
  confirmed,
  declareDryRun,
  declareYes,
  mayHaveHappened,
  showJson,
  showRequest,
  type DestroyOptions,
  type WriteOptions,
} from './carry-out.ts'
import { recordTable } from './columns.ts'
import { readRule, regexRuleOf, vpatchOf, type RegexDraft } from './rule-draft.ts'
import { count, id, ids, repeated } from './values.ts'
import { readYaml } from './yaml-file.ts'

interface CreateOptions extends AccessOptions, WriteOptions {
  readonly client?: readonly number[]
  readonly json: boolean
}

interface FileOptions extends CreateOptions {
  readonly file?: string
  readonly skip: number
}

interface VpatchOptions extends CreateOptions {
  readonly path?: string
  readonly header?: readonly string[]
  readonly application?: number
  readonly point?: readonly string[]
  readonly attackType: 'any' | 'scanner'
  readonly validated: boolean
}

interface RegexOptions extends CreateOptions, Omit<RegexDraft, 'clientid'> {}

interface DeleteOptions extends AccessOptions, DestroyOptions {
  readonly client?: readonly number[]
  readonly json: boolean
}

const fileHelp = `
The file has one rule, or a list of them, in the names of the service; what is left out is as with the options:
  - type: vpatch
    action:
      - { type: equal, point: [path, 0], value: api }
      - { type: equal, point: [header, HOST], value: example.com }
  - type: regex
    action: [{ type: equal, point: [header, HOST], value: example.com }]
    point: [[header, X-FORWARDED-FOR]]
    regex: ^(~(44[.]33[.]22[.]11))$
    comment: only from the office
They are created one after the other. Where one is refused the others have been created, or were not sent: what is
printed says so, and with which --skip to go on. Further forms: rules create vpatch|regex --help.`

const vpatchHelp = `
Examples:
  tailrace service rules create vpatch --tenant acme --path /api/v1 --header HOST=example.com
      blocks every request to example.com below /api/v1
  tailrace service rules create vpatch --tenant acme --path /api/v1 --application 7
      the same in the application 7 only; the weights of the conditions are 1, 2, 3, … (others: --file)`

const regexHelp = `
Example:
  tailrace service rules create regex --tenant acme --header HOST=example.com --point X-FORWARDED-FOR \\
    --regex '^(~(44[.]33[.]22[.]11))$' --comment 'only from the office'
      blocks requests to example.com but for those whose X-FORWARDED-FOR matches`

export function declareRuleChanges(rules: Command, act: Act): void {
  const create = rules.command('create').description('create rules: from a file, or one by options (vpatch, regex)')
  create
    .option('--file <file>', 'YAML file with the rules')
    .option('--skip <number>', 'how many rules at the beginning of the file to leave out', count, 0)
    .action((options: FileOptions) => act(async (terminal) => createFromFile(options, terminal)))
  declareCreate(create).addHelpText('after', fileHelp)
  declareVpatch(create, act)
  declareRegex(create, act)
  const remove = rules
    .command('delete')
    .description('delete rules by their ids; ends with 1 when one of them was not there')
    .argument('<ids...>', 'ids of rules')
    .option('--client <ids>', 'client ids (default: those of the tenant)', ids)
    .option('--json', 'for programs', false)
    .action((given: readonly string[], options: DeleteOptions) =>
      act(async (terminal) => deleteRules(readIds(given), options, terminal)),
    )
  declareAccess(declareYes(remove))
}

function declareCreate(command: Command): Command {
  command
    .option('--client <id>', 'the client (default: that of the tenant)', ids)
    .option('--json', 'for programs', false)
  return declareAccess(declareDryRun(command))
}

function declareVpatch(create: Command, act: Act): void {
  const command = create
    .command('vpatch')
    .description('a virtual patch: blocks the requests that meet all conditions')
    .option('--path <prefix>', 'everything below this path, such as /api/v1')
    .option('--header <name=value>', 'with this header; may be given several times', repeated)
    .option('--application <id>', 'in this application only', id)
    .option(
      '--point <header>',
      'part of requests that is looked at; may be given several times (default: HOST)',
      repeated,
    )
    .addOption(attackType('any'))
    .option('--validated', 'sets the flag of the same name', false)
    .action((options: VpatchOptions, self: Command) =>
      act(async (terminal) => createVpatch(inherited(options, self), terminal)),
    )
  declareCreate(command).addHelpText('after', vpatchHelp)
}

function declareRegex(create: Command, act: Act): void {
  const command = create
    .command('regex')
    .description('a rule that looks for a regular expression in a header')
    .requiredOption('--header <name=value>', 'requests with this header')
    .requiredOption('--point <header>', 'the header that is looked at')
    .requiredOption('--regex <expression>', "the expression, in the service's own dialect")
    .option('--comment <text>', 'what it is for', '')
    .addOption(attackType('scanner'))
    .option('--validated', 'sets the flag of the same name', false)
    .action((options: RegexOptions, self: Command) =>
      act(async (terminal) => createRegex(inherited(options, self), terminal)),
    )
  declareCreate(command).addHelpText('after', regexHelp)
}

function attackType(usual: string): Option {
  return new Option('--attack-type <name>', 'kind of attack that it counts as')
    .choices(['any', 'scanner'])
    .default(usual)
}

/** `create` has the same options as its forms; one given before the form's name belongs to it as well. */
function inherited<T extends object>(options: T, self: Command): T {
  const { parent } = self
  const own = Object.entries(options).filter(([name]) => self.getOptionValueSource(name) !== 'default')
  const above = Object.entries(parent?.opts() ?? {}).filter(([name]) => parent?.getOptionValueSource(name) === 'cli')
  return { ...options, ...Object.fromEntries(above), ...Object.fromEntries(own) }
}

async function createVpatch(options: VpatchOptions, terminal: Terminal): Promise<ExitCode> {
  const account = await readAccount(options, terminal.env)
  const { path, header: headers = [], application, point: points = ['HOST'], attackType, validated } = options
  const clientid = onlyClientOf(options.client, account)
  const rule = vpatchOf({ clientid, path, headers, application, points, attackType, validated })
  return await create([rule], options, { account, terminal })
}

async function createRegex(options: RegexOptions, terminal: Terminal): Promise<ExitCode> {
  const account = await readAccount(options, terminal.env)
  const rule = regexRuleOf({ ...options, clientid: onlyClientOf(options.client, account) })
  return await create([rule], options, { account, terminal })
}

async function createFromFile(options: FileOptions, terminal: Terminal): Promise<ExitCode> {
  const { file, skip } = options
  if (file === undefined) throw misuse('rules create needs --file, or one of its forms: vpatch, regex; see --help')
  const account = await readAccount(options, terminal.env)
  const content = readYaml(file)
  const list: readonly unknown[] = Array.isArray(content) ? content : [content]
  const clientid = (): number => onlyClientOf(options.client, account)
  const rules = list.map((one, index) => readRule(one, clientid, `${file}, rule ${index + 1}`))
  if (rules.length <= skip) throw misuse(`${file} has ${rules.length} rules, and --skip leaves out ${skip}`)
  return await create(rules.slice(skip), options, { account, terminal, skipped: skip })
}

interface Creation {
  readonly account: Account
  readonly terminal: Terminal
  /** How many of the file came before. */
  readonly skipped?: number
}

async function create(
  rules: readonly NewRule[],
  { dryRun, json }: CreateOptions,
  { account, terminal, skipped = 0 }: Creation,
): Promise<ExitCode> {
  if (dryRun) {
    terminal.print(rules.map((rule) => showRequest(account, requests.createRule(rule))).join('\n\n'))
    return 0
  }
  await using service = openService(account, terminal)
  const created = []
  let failure: Error | undefined
  for (const rule of rules) {
    try {
      terminal.signal.throwIfAborted()
      created.push((await service.client.createRule(rule, service.patience)).body)
    } catch (error) {
      failure = error instanceof Error ? error : asTailraceError(error)
      break
    }
  }
  if (created.length > 0) terminal.print(json ? showJson(created) : `Created:\n${recordTable('rules', created)}`)
  if (failure === undefined) return 0
  if (rules.length + skipped === 1) throw failure
  const done = skipped + created.length
  const doubt = mayHaveHappened(failure)
    ? ` Rule ${done + 1} may have been created all the same: look with rules list first.`
    : ''
  terminal.complain(`Rule ${done + 1} of ${skipped + rules.length} failed; ${done} exist.${doubt}`)
  terminal.complain(`To go on there, run the same command with --skip ${done}.`)
  throw failure
}

function readIds(given: readonly string[]): number[] {
  const wanted = given.flatMap((text) => text.split(',')).map(Number)
  if (wanted.every((number) => Number.isSafeInteger(number) && number > 0)) return [...new Set(wanted)]
  throw misuse('ids of rules must be positive whole numbers')
}

async function deleteRules(wanted: readonly number[], options: DeleteOptions, terminal: Terminal): Promise<ExitCode> {
  const account = await readAccount(options, terminal.env)
  const clientid = clientsOf(options.client, account)
  if (options.dryRun) {
    const shown = wanted.map((one) => showRequest(account, requests.deleteRules({ clientid, id: one })))
    terminal.print(shown.join('\n\n'))
    return 0
  }
  const what = `${wanted.length === 1 ? 'rule' : 'rules'} ${wanted.join(', ')}`
  const question = `Delete ${what} of client ${clientid.join(', ')} at ${account.instance}?`
  if (!(await confirmed(question, options, terminal))) return 1
  await using service = openService(account, terminal)
  const found: { readonly id: number; readonly deleted: boolean }[] = []
  try {
    for (const one of wanted) {
      terminal.signal.throwIfAborted()
      const { body } = await service.client.deleteRules({ clientid, id: one }, service.patience)
      found.push({ id: one, deleted: body.length > 0 })
    }
  } finally {
    if (options.json) terminal.print(showJson(found))
    else for (const { id: one, deleted } of found) if (deleted) terminal.print(`Deleted rule ${one}.`)
  }
  const missing = found.filter(({ deleted }) => !deleted).map(({ id: one }) => one)
  if (missing.length === 0) return 0
  terminal.complain(
    `tailrace: nothing matched: client ${clientid.join(', ')} has no rule ${missing.join(', ')} (the service answers 200 to that)`,
  )
  return 1
}
