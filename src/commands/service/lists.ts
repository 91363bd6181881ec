// `tailrace service attacks|incidents|vulnerabilities|rules|conditions list`

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { TailraceError } from '../../errors.ts'
import type { ServiceRecord } from '../../event.ts'
import type { ListQuery } from '../../service/operations.ts'
import type { ExitCode, Terminal } from '../command.ts'
import { clientsOf, declareAccess, misuse, openService, readAccount, type Act, type OpenService } from './access.ts'
import { showJson } from './carry-out.ts'
import { recordTable } from './columns.ts'
import { listKinds, type ListKind } from './list-kinds.ts'
import { queryOf, type ListOptions } from './list-query.ts'
import { count, id, ids, json, moment, texts } from './values.ts'

const help = `
One request at a time is sent, also with --all: that stays far below the limit of the service, which counts them
together with those of a daemon behind the same address. When the service says so, it waits.
--all pages by offset until a page is empty. Records that come or go meanwhile may be missed; none is shown twice.
The service may refuse deep offsets: narrow --from and --to then. Filters other than the client, the time and
(for rules) the condition are not documented by the service: it may refuse them.
For long lists use --ndjson, which prints each page as it comes.`

/** Returns the command `rules`, for what else there is to do with rules. */
export function declareLists(service: Command, act: Act): Command {
  const [, , , rules] = listKinds.map((kind) => declareList(service, kind, act))
  return rules ?? service
}

function declareList(service: Command, kind: ListKind, act: Act): Command {
  const parent = service
    .command(kind.name)
    .description(kind.name === 'rules' ? 'list, create, delete rules' : kind.summary)
  const command = parent.command('list').description(`list ${kind.summary}`)
  command.option('--client <ids>', 'client ids (default: those of the tenant)', ids)
  for (const { flag, numbers, doc } of kind.flags)
    if (numbers) command.option(flag, doc, ids)
    else command.option(flag, doc, texts)
  if (kind.timed) {
    const usual = kind.recent === undefined ? '' : `; 0: all (default: ${kind.recent}, unless --to is given)`
    command.option('--from <time>', `not before: 24h (ago), 2026-11-21T09:00Z, or Unix seconds${usual}`, moment)
    command.option('--to <time>', 'not after, in the same forms', moment)
  }
  if (Object.keys(kind.usual).length > 0) command.option('--any', 'all of them, not only active ones', false)
  command
    .option('--filter <json>', 'whatever else the service can filter by, such as \'{"!type":"scanner"}\'', json)
    .option('--order <key>', `key:asc or key:desc (default: ${kind.order ?? "the service's own"})`)
    .option('--limit <number>', `records to ask for at once (default: ${kind.limit}; with --all 1000)`, id)
    .option('--offset <number>', 'records to leave out', count, 0)
    .option('--all', 'everything from there on, page by page', false)
    .option('--json', 'the records as one JSON array', false)
    .option('--ndjson', 'the records as they came, one in each line', false)
    .addHelpText('after', help)
    .action((options: ListOptions) => act(async (terminal) => list(kind, options, terminal)))
  declareAccess(command)
  return parent
}

async function list(kind: ListKind, options: ListOptions, terminal: Terminal): Promise<ExitCode> {
  if (options.json && options.ndjson) throw misuse('--json and --ndjson exclude one another')
  const account = await readAccount(options, terminal.env)
  const query = queryOf(kind, options, clientsOf(options.client, account))
  await using service = openService(account, terminal)
  const pages = options.all ? allPages(kind, query, service) : onePage(kind, query, service)
  if (options.ndjson) return await stream(pages, terminal)
  const records: ServiceRecord[] = []
  for await (const page of pages) for (const record of page) records.push(record)
  if (options.json) terminal.print(showJson(records))
  else terminal.print(`${recordTable(kind.name, records)}\n${footer(records.length, query, options)}`)
  return 0
}

/** Ends where nobody reads any more: who takes the first lines only has what they want. */
async function stream(pages: Pages, terminal: Terminal): Promise<ExitCode> {
  let unread = false
  terminal.onUnread?.(() => (unread = true))
  for await (const page of pages) {
    if (unread) break
    if (page.length > 0) terminal.print(page.map((record) => showJson(record, 0)).join('\n'))
  }
  return 0
}

function footer(found: number, query: ListQuery, { all }: ListOptions): string {
  const more = !all && found >= query.limit ? `; for more: --offset ${query.offset + found}, or --all` : ''
  return `\n${found} ${found === 1 ? 'record' : 'records'}${more}`
}

type Pages = AsyncGenerator<readonly ServiceRecord[]>

async function* onePage(kind: ListKind, query: ListQuery, service: OpenService): Pages {
  yield await readPage(kind, query, service)
}

/** A short page is not the last one, as the service may give fewer than asked for; an empty one is. */
async function* allPages(kind: ListKind, query: ListQuery, service: OpenService): Pages {
  const seen = new Set<string>()
  for (let offset = query.offset; ;) {
    const page = await readPage(kind, { ...query, offset }, service).catch((error: unknown) => {
      throw offset === query.offset ? error : cutShort(error, offset)
    })
    if (page.length === 0) return
    yield page.filter((record) => isNew(seen, record))
    offset += page.length
  }
}

function isNew(seen: Set<string>, record: ServiceRecord): boolean {
  const identity = JSON.stringify([record['attackid'] ?? record['id'], record['clientid']])
  if (seen.has(identity)) return false
  if (record['attackid'] !== undefined || record['id'] !== undefined) seen.add(identity)
  return true
}

function cutShort(error: unknown, offset: number): unknown {
  if (!(error instanceof TailraceError) || error.code !== 'service_rejected') return error
  const message = `${error.message}; the list is incomplete, as it could be read up to offset ${offset} only: narrow it`
  return new TailraceError(error.code, message, { cause: error })
}

const pausesMax = 10
const pauseUsualMs = 1_000
const pauseMaxMs = 60_000

/** Waits as the service asks, but not for ever. */
async function readPage(
  kind: ListKind,
  query: ListQuery,
  { client, signal }: OpenService,
): Promise<readonly ServiceRecord[]> {
  for (let pauses = 0; ; pauses++) {
    try {
      return (await client.list(kind.operation, query, signal)).body
    } catch (error) {
      const throttled = error instanceof TailraceError && error.code === 'service_throttled'
      if (!throttled || pauses >= pausesMax || (error.waitMs ?? 0) > pauseMaxMs) throw error
      await sleep(error.waitMs ?? pauseUsualMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}
