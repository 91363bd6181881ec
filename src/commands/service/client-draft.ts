// A client as an operator wants it, from options and a file, as the service wants it.

import { unknownOption } from '../../config-check.ts'
import { isTree } from '../../config-file.ts'
import type { ServiceRecord } from '../../event.ts'
import { resolveReferences, type Environment } from '../../secrets.ts'
import { newClientDefaults, type NewClient } from '../../service/operations.ts'
import { misuse, readReference } from './access.ts'
import { readYaml } from './yaml-file.ts'

export interface DraftOptions {
  readonly file?: string
  readonly name?: string
  readonly vulnPrefix?: string
  readonly language?: string
  readonly disabled?: boolean
  readonly notifications?: ServiceRecord
  readonly mode?: string
  readonly blockingType?: string
  readonly thirdpartyBlacklists?: boolean
  readonly scannerMode?: string
  readonly partnerUuidFrom?: string
  readonly thirdpartyMode?: string
  readonly scannerState?: ServiceRecord
  readonly bindingId?: number
}

export interface ClientDraft {
  readonly client: Omit<NewClient, 'vuln_prefix'>
  /** undefined: to be derived from the name. */
  readonly vulnPrefix: string | undefined
  /** undefined: the id of the client, once it has one. */
  readonly binding: number | undefined
}

/** Options count over the file. Throws `misuse`, or `secret_missing` for a reference that leads nowhere. */
export function readDraft(options: DraftOptions, env: Environment): ClientDraft {
  const file = options.file === undefined ? {} : readTable(options.file, env)
  const given = { ...newClientDefaults, ...file, ...fromOptions(options, env) }
  const { vuln_prefix: vulnPrefix, binding_id: binding, ...client }: ServiceRecord = given
  for (const [key, is] of Object.entries(kinds)) {
    const value = client[key]
    if (value === undefined || value === '') throw misuse(`${key} is missing: ${hints[key] ?? 'give it in the file'}`)
    if (!is.test(value)) throw misuse(`${key} must be ${is.words}`)
  }
  if (vulnPrefix !== undefined && !(typeof vulnPrefix === 'string' && /^[A-Za-z0-9]{4}$/.test(vulnPrefix)))
    throw misuse('vuln_prefix must be exactly four letters or digits')
  if (binding !== undefined && !isId(binding)) throw misuse('binding_id must be a positive whole number')
  // Looked at field by field above.
  return { client: client as unknown as ClientDraft['client'], vulnPrefix, binding }
}

interface FieldKind {
  readonly words: string
  test(value: unknown): boolean
}

const text: FieldKind = { words: 'text', test: (value) => typeof value === 'string' }
const flag: FieldKind = { words: 'true or false', test: (value) => typeof value === 'boolean' }
const object: FieldKind = { words: 'a table, such as {}', test: isTree }
const language: FieldKind = { words: 'en or ru', test: (value) => value === 'en' || value === 'ru' }

const kinds: Readonly<Record<keyof ClientDraft['client'], FieldKind>> = {
  name: text,
  language,
  enabled: flag,
  notifications: object,
  mode: text,
  blocking_type: text,
  thirdparty_blacklists: flag,
  scanner_mode: text,
  partner_uuid: text,
  thirdparty_mode: text,
  scanner_state: object,
}

const hints: Readonly<Record<string, string>> = {
  name: '--name, or name in the file',
  partner_uuid: '--partner-uuid-from env:NAME or file:/path, or partner_uuid: ${env:NAME} in the file',
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}

function readTable(file: string, env: Environment): ServiceRecord {
  const content = readYaml(file)
  if (!isTree(content)) throw misuse(`${file} must have the fields of a client, such as "name: Acme"`)
  const known = [...Object.keys(kinds), 'vuln_prefix', 'binding_id']
  for (const key of Object.keys(content))
    if (!known.includes(key)) throw misuse(`${file}: ${key} ${unknownOption(key, known)}`)
  const { partner_uuid: partner } = content
  if (typeof partner !== 'string') return content
  const found = resolveReferences(partner, env, process.cwd())
  if (!('value' in found)) throw misuse(`${file}: partner_uuid ${'missing' in found ? found.missing : found.invalid}`)
  return { ...content, partner_uuid: found.value }
}

function fromOptions(options: DraftOptions, env: Environment): ServiceRecord {
  const { partnerUuidFrom: partner } = options
  const all = {
    name: options.name,
    vuln_prefix: options.vulnPrefix,
    language: options.language,
    enabled: options.disabled === true ? false : undefined,
    notifications: options.notifications,
    mode: options.mode,
    blocking_type: options.blockingType,
    thirdparty_blacklists: options.thirdpartyBlacklists,
    scanner_mode: options.scannerMode,
    partner_uuid: partner === undefined ? undefined : readReference(partner, '--partner-uuid-from', env),
    thirdparty_mode: options.thirdpartyMode,
    scanner_state: options.scannerState,
    binding_id: options.bindingId,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
