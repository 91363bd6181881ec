// Elasticsearch as far as `_bulk` goes, strict: Elastic, "Bulk API", "Data streams", "Create index API", "Common options"
// (filter_path). As OpenSearch it says so in its version.

import { startHttpReceiver, type HttpReceiver, type Received, type Reply } from './http-receiver.ts'

export interface Stored {
  readonly index: string
  readonly id: string
  readonly document: Readonly<Record<string, unknown>>
}

export interface ElasticsearchSetup {
  /** Value of the header `authorization`; left out: nobody is asked who they are. */
  readonly authorization?: string
  readonly openSearch?: boolean
}

/** What is said of one document instead of storing it. */
export interface ItemError {
  readonly status: number
  readonly type?: string
  readonly reason?: string
  readonly failureStore?: string
}

export interface Elasticsearch extends HttpReceiver {
  readonly stored: readonly Stored[]
  /** From now on this is the answer to whole requests; undefined: it is as it was. */
  says(reply: Reply | 'reset' | undefined): void
  /** From now on asked about each document. */
  refuses(why: (document: Stored) => ItemError | undefined): void
  /** From now on changes the answer of a request that was carried out. */
  answers(change: (reply: Reply) => Reply | 'reset'): void
}

export async function startElasticsearch({
  authorization,
  openSearch = false,
}: ElasticsearchSetup = {}): Promise<Elasticsearch> {
  const stored: Stored[] = []
  let said: Reply | 'reset' | undefined
  let refusal: (document: Stored) => ItemError | undefined = () => undefined
  let change: (reply: Reply) => Reply | 'reset' = (reply) => reply

  function create(document: Stored): ItemError {
    const wrong = refusal(document) ?? invalid(document)
    if (wrong !== undefined) return wrong
    if (stored.some(({ index, id }) => index === document.index && id === document.id)) {
      const reason = `[${document.id}]: version conflict, document already exists (current version [1])`
      return { status: 409, type: 'version_conflict_engine_exception', reason }
    }
    stored.push(document)
    return { status: 201 }
  }

  const receiver = await startHttpReceiver((request) => {
    const { method, url, headers } = request
    if (authorization !== undefined && headers.authorization !== authorization) {
      return failure(
        401,
        'security_exception',
        'unable to authenticate with provided credentials and anonymous access is not allowed',
      )
    }
    if (said !== undefined) return said
    if (method === 'GET' && url.pathname === '/') return { status: 200, body: greeting(openSearch) }
    if (url.pathname !== '/_bulk') return failure(404, 'index_not_found_exception', 'no such index')
    if (method !== 'POST') return { status: 405 }
    if (headers['content-type'] !== 'application/x-ndjson')
      return failure(406, 'media_type_header_exception', 'Content-Type')
    const documents = readBody(request)
    if (typeof documents === 'string') return failure(400, 'illegal_argument_exception', documents)
    const items = documents.map((document) => itemOf(document, create(document)))
    const errors = items.some(({ create: { status } }) => status > 299)
    const whole = { took: 3, ingest_took: 1, errors, items }
    return change({ status: 200, body: filtered(whole, url.searchParams.get('filter_path')) })
  })
  return {
    ...receiver,
    stored,
    says: (reply) => void (said = reply),
    refuses: (why) => void (refusal = why),
    answers: (how) => void (change = how),
  }
}

export function failure(status: number, type: string, reason: string): Reply {
  return { status, body: { error: { root_cause: [{ type, reason }], type, reason }, status } }
}

function greeting(openSearch: boolean): object {
  const distribution = openSearch ? { distribution: 'opensearch' } : { build_flavor: 'default' }
  return { name: 'n', cluster_name: 'c', version: { number: openSearch ? '3.2.0' : '9.1.4', ...distribution } }
}

/** The documents, or why the whole request is refused. */
function readBody({ body }: Received): Stored[] | string {
  const text = body.toString()
  if (!text.endsWith('\n')) return 'The bulk request must be terminated by a newline [\\n]'
  const all = text.slice(0, -1).split('\n')
  if (all.length % 2 === 1) return 'Malformed content, found extra data after parsing'
  const documents: Stored[] = []
  for (let line = 0; line < all.length; line += 2) {
    const action = JSON.parse(all[line] ?? '') as { create?: { _index: string; _id: string } }
    if (Object.keys(action).join(',') !== 'create' || action.create === undefined) return 'only create'
    const document = JSON.parse(all[line + 1] ?? '') as Stored['document']
    documents.push({ index: action.create._index, id: action.create._id, document })
  }
  return documents
}

function invalid({ index, id, document }: Stored): ItemError | undefined {
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(index) || index.length > 255) {
    return { status: 400, type: 'invalid_index_name_exception', reason: `Invalid index name [${index}]` }
  }
  if (id === '' || Buffer.byteLength(id) > 512) {
    return {
      status: 400,
      type: 'illegal_argument_exception',
      reason: 'id is too long, must be no longer than 512 bytes',
    }
  }
  if (/^logs-[^-]+-[^-]+$/.test(index) && typeof document['@timestamp'] !== 'string') {
    return {
      status: 400,
      type: 'document_parsing_exception',
      reason: 'data stream timestamp field [@timestamp] is missing',
    }
  }
  return undefined
}

function itemOf({ index, id }: Stored, { status, type, reason, failureStore }: ItemError) {
  const error = type === undefined ? {} : { error: { type, reason, index_uuid: 'u', index } }
  const store = failureStore === undefined ? {} : { failure_store: failureStore }
  return { create: { _index: `.ds-${index}-000001`, _id: id, status, ...store, ...error, _shards: { total: 1 } } }
}

/** `filter_path`: only what one of the paths leads to; `*` stands for any key. Lists are gone through. */
function filtered(value: unknown, paths: string | null): unknown {
  return paths === null
    ? value
    : pick(
        value,
        paths.split(',').map((path) => path.split('.')),
      )
}

function pick(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (paths.some((path) => path.length === 0)) return value
  if (Array.isArray(value)) return value.map((one) => pick(one, paths)).filter((one) => one !== undefined)
  if (typeof value !== 'object' || value === null) return undefined
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const rest = paths.filter(([first]) => first === key || first === '*').map((path) => path.slice(1))
    const left = rest.length === 0 ? undefined : pick(inner, rest)
    return left === undefined ? [] : [[key, left] as const]
  })
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}
