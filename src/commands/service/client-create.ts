// Creates a client and binds it to the partner. Each step is recorded before and after it is taken.

import { asTailraceError } from '../../errors.ts'
import { digestOf } from '../../secrets.ts'
import { vulnPrefixOf, type NewClient } from '../../service/operations.ts'
import { requests } from '../../service/requests.ts'
import type { ExitCode, Terminal } from '../command.ts'
import { table } from '../table.ts'
import { misuse, openService, readAccount, type AccessOptions, type Account, type OpenService } from './access.ts'
import { mayHaveHappened, showJson, showRequest, type WriteOptions } from './carry-out.ts'
import { bindCommand, bindRecorded, type Bindable } from './client-bind.ts'
import { readDraft, type ClientDraft, type DraftOptions } from './client-draft.ts'
import { listProvisioned, openJournal, type Journal, type Provisioning } from './journal.ts'
import { assertNotTaken, planTenantFile, writeTenantFile, type TenantFileOptions } from './tenant-file.ts'

export interface CreateOptions extends AccessOptions, WriteOptions, DraftOptions, TenantFileOptions {
  readonly journal: string
  /** The id of a client that was created. */
  readonly resume?: number
  readonly partnerId?: number
  readonly startOver: boolean
  readonly json: boolean
}

interface Undertaking {
  readonly options: CreateOptions
  readonly terminal: Terminal
  readonly account: Account
  readonly draft: ClientDraft
  readonly client: NewClient
  readonly journal: Journal
  readonly known: Provisioning | undefined
}

export async function createClient(options: CreateOptions, terminal: Terminal): Promise<ExitCode> {
  const account = await readAccount(options, terminal.env)
  const draft = readDraft(options, terminal.env)
  const journal = openJournal(options.journal, account.baseUrl, draft.client.name)
  const known = await journal.read()
  const client = { ...draft.client, vuln_prefix: await prefixFor(draft, known, options.journal) }
  const undertaking = { options, terminal, account, draft, client, journal, known }
  if (options.dryRun) return showCreation(undertaking)
  const plan = await planTenantFile(options, client.name, account, terminal.env)
  if (plan !== undefined) await assertNotTaken(plan.path, options.resume ?? known?.client ?? null)

  const earlier = findOut(undertaking)
  await using service = openService(account, terminal)
  const created = earlier ?? (await create(undertaking, service))
  if (created === undefined) return 1
  const done = await bind(undertaking, created, service)
  if (done === undefined) return 1
  const isNew = plan === undefined ? false : await writeTenantFile(plan, done, account)
  const { client: id, partner, binding } = done
  const tenantFile = plan?.path ?? null
  const result = {
    name: done.name,
    client: id,
    partner,
    binding,
    vulnPrefix: done.vulnPrefix,
    journal: journal.file,
    tenantFile,
  }
  if (options.json) terminal.print(showJson(result))
  else {
    const what = known?.step === 'bound' ? 'There already; nothing was created:' : 'Created and bound:'
    const file = tenantFile === null ? '-' : `${tenantFile}${isNew ? '' : ' (was there)'}`
    const rows = { ...result, tenantFile: file, name: JSON.stringify(result.name) }
    terminal.print(
      `${what}\n${table(
        ['', ''],
        Object.entries(rows).map(([name, value]) => [name, String(value)]),
      ).trimStart()}`,
    )
  }
  return 0
}

/** What the journal knows of the same client, or else one that no other client in the journal has. */
async function prefixFor(draft: ClientDraft, known: Provisioning | undefined, folder: string): Promise<string> {
  const others = (await listProvisioned(folder)).filter(
    (one) => one.name !== draft.client.name && one.step !== 'refused',
  )
  const { vulnPrefix: wanted } = draft
  if (known !== undefined && known.step !== 'refused' && (wanted === undefined || known.client !== null))
    return known.vulnPrefix
  if (wanted === undefined) return vulnPrefixOf(draft.client.name, new Set(others.map(upperPrefix)))
  const taken = others.find((one) => upperPrefix(one) === wanted.toUpperCase())
  if (taken === undefined) return wanted
  throw misuse(`the vuln_prefix ${wanted} is that of ${JSON.stringify(taken.name)} (${taken.file}): choose another one`)
}

function upperPrefix({ vulnPrefix }: Provisioning): string {
  return vulnPrefix.toUpperCase()
}

function showCreation({ account, client, draft, terminal, known }: Undertaking): ExitCode {
  const partner = known?.partner ?? '<partnerid of the answer>'
  const clientid = known?.client ?? '<id of the answer>'
  const binding = { clientid, id: draft.binding ?? clientid, params: {} }
  const second = showRequest(account, { path: `/v2/partner/${partner}/partner_client`, body: binding })
  if (known?.step === 'bound') terminal.print('Nothing would be sent: the journal says that it is created and bound.')
  else if (known?.client == null) terminal.print(`${showRequest(account, requests.createClient(client))}\n\n${second}`)
  else terminal.print(second)
  return 0
}

/** A client that exists, by what the journal or the operator says; undefined: it is to be created. */
function findOut({ options, account, draft, client, journal, known, terminal }: Undertaking): Bindable | undefined {
  const { resume, partnerId, startOver } = options
  if (resume !== undefined && startOver) throw misuse('--resume and --start-over exclude one another')
  if (resume !== undefined) {
    const partner = partnerId ?? known?.partner ?? null
    if (partner === null) throw misuse('--resume needs --partner-id: the id of the partner, as for its other clients')
    if (known !== undefined && known.client !== null && known.client !== resume)
      throw misuse(`--resume says that it has the id ${resume}, but ${journal.file} says ${known.client}`)
    const fresh = provisioningOf({ account, client, request: digestOf(client) })
    return {
      ...(known ?? fresh),
      client: resume,
      partner,
      binding: draft.binding ?? resume,
      step: known?.step ?? 'created',
    }
  }
  if (known === undefined || known.step === 'refused') return undefined
  const { client: id, partner, binding } = known
  if (id === null || partner === null) {
    if (startOver) return undefined
    terminal.complain(unknownOutcome(client, journal))
    throw misuse('an earlier run was cut off: say --resume created=ID, or --start-over')
  }
  if (startOver) throw misuse(`--start-over: ${journal.file} says that it was created, with the id ${id}`)
  if (known.request !== digestOf(client))
    terminal.complain('It was created with other settings than those given now, and keeps them.')
  return { ...known, client: id, partner, binding: binding ?? draft.binding ?? id }
}

/** undefined: it is not known whether it was done; that has been told. */
async function create(undertaking: Undertaking, service: OpenService): Promise<Bindable | undefined> {
  const { account, client, draft, journal, known, terminal, options } = undertaking
  terminal.signal.throwIfAborted()
  const creating = provisioningOf({ account, client, request: digestOf(client) })
  if (known !== undefined) await journal.write(creating)
  else if (!(await journal.begin(creating))) throw misuse(`${journal.file}: another run has just begun to create it`)
  const answer = await service.client
    .createClient(client, service.patience)
    .catch((error: unknown) => asTailraceError(error))
  if (answer instanceof Error) {
    if (!mayHaveHappened(answer)) {
      await journal.write({ ...creating, step: 'refused' })
      if (answer.code === 'service_conflict') terminal.complain(conflictHint(client))
      throw answer
    }
    terminal.complain(`tailrace: ${answer.message}`)
    terminal.complain(unknownOutcome(client, journal))
    return undefined
  }
  const { id, partnerId: partner } = answer.body
  const created = { ...creating, step: 'created', client: id, partner, binding: draft.binding ?? id } as const
  try {
    await journal.write(created)
  } catch (error) {
    // What exists must not be forgotten because a disk is full.
    terminal.complain(
      `Client ${id} of the partner ${partner} exists, and is not bound. To go on:\n  ${bindCommand(created, options)}`,
    )
    throw error
  }
  return created
}

/** undefined: it failed; what exists and how to go on has been told. */
async function bind(
  { journal, known, options, terminal }: Undertaking,
  created: Bindable,
  service: OpenService,
): Promise<Provisioning | undefined> {
  if (created.step === 'bound') return created
  try {
    return await bindRecorded(created, { service, journal, again: known !== undefined })
  } catch (thrown) {
    const error = asTailraceError(thrown)
    const whether = mayHaveHappened(error) ? 'it is not known whether it is bound' : 'it is not bound'
    terminal.complain(
      [
        `tailrace: ${error.message}`,
        `Client ${created.client} of the partner ${created.partner} exists, and ${whether}. To go on, run the same command again, or:`,
        `  ${bindCommand(created, options)}`,
        `Recorded in ${journal.file}`,
      ].join('\n'),
    )
    return undefined
  }
}

function provisioningOf(about: {
  readonly account: Account
  readonly client: NewClient
  readonly request: string
}): Provisioning {
  const { account, client, request } = about
  const nothingYet = { client: null, partner: null, binding: null, updatedAt: '' }
  const { name, vuln_prefix: vulnPrefix } = client
  return { name, baseUrl: account.baseUrl, vulnPrefix, request, step: 'creating', ...nothingYet }
}

function conflictHint({ name, vuln_prefix: prefix }: NewClient): string {
  return (
    `Another client is called ${JSON.stringify(name)}, or has the prefix ${prefix}: choose another --vuln-prefix or --name. ` +
    'If it is the one that an earlier run has created, say --resume created=ID --partner-id ID.'
  )
}

function unknownOutcome({ name, vuln_prefix: prefix }: NewClient, { file }: Journal): string {
  return [
    `Whether the client ${JSON.stringify(name)} was created is not known: no answer came, and the service has no list of clients.`,
    `Look in its console for a client of this name, with the prefix ${prefix}. Then run the same command again, with`,
    '  --resume created=ID --partner-id ID   if it is there: its id, and that of your partner account',
    '  --start-over                          if it is not there',
    `Recorded in ${file}`,
  ].join('\n')
}
