// Reads the configuration: the main file, the variables over it, and a file for each tenant.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, extname, join, resolve } from 'node:path'
import { asTailraceError, type TailraceError } from './errors.ts'
import { streamNames, type StreamName } from './event.ts'
import { checkOptions, didYouMean, refuseUnknown } from './config-check.ts'
import { isTree, readConfigFile, type ConfigFile, type Path, type Tree } from './config-file.ts'
import { destinationOptions, isOption, mainOptions, type Section, type Values } from './config-options.ts'
import { readTenant, type Known, type Tenant } from './config-tenant.ts'
import { guard, unreadable, type Environment } from './secrets.ts'
import { formats } from './ship/formats/all.ts'
import { sinkTypes } from './ship/sinks/all.ts'
import type { Filter } from './ship/select/filter.ts'
import type { Format } from './ship/format.ts'
import type { Redaction } from './ship/select/redaction.ts'
import type { SinkType } from './ship/sink.ts'

export type { StreamSettings, Tenant } from './config-tenant.ts'

type MainValues = Values<typeof mainOptions>

/** Durations in milliseconds, sizes in bytes. Secrets are readable, but show in neither JSON nor inspection. */
export interface Config extends Omit<MainValues, 'redis' | 'service' | 'tenants'> {
  /** Absolute. */
  readonly file: string
  readonly redis: RedisConfig
  readonly service: Omit<MainValues['service'], 'ca'> & { /** PEM text. */ readonly ca?: string }
  readonly destinations: readonly Destination[]
  readonly tenants: readonly Tenant[]
  /** Tenants whose files are wrong; the others run. */
  readonly brokenTenants: readonly BrokenTenant[]
  /** Files and folders that it was read from, secrets and certificates included: what to watch. Absolute. */
  readonly sources: ReadonlySet<string>
}

export interface RedisConfig {
  /** Empty: embedded, in the folder `data` (absolute). */
  readonly url: string
  readonly data: string
  readonly prefix: string
  readonly username?: string
  readonly password?: string
  /** PEM text, not file names. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string; readonly servername?: string }
}

export interface Destination {
  readonly name: string
  readonly sink: SinkType
  readonly format: Format
  readonly formatOptions: object
  /** Those of the sink, checked by its own declaration. */
  readonly options: object
  readonly backlogBytes: number
  readonly concurrency: number
  readonly streams: readonly StreamName[]
  readonly labels: Readonly<Record<string, string>>
  readonly filter: Filter
  readonly redaction: Redaction
}

export interface BrokenTenant {
  readonly name: string
  readonly file: string
  readonly error: TailraceError
}

/** What destinations can be made of. */
export interface Registers {
  readonly sinkTypes: readonly SinkType[]
  readonly formats: readonly Format[]
}

/**
 * Rejects with `config_invalid` or `secret_missing`, which name every mistake of the main file. A mistake in
 * a tenant's file breaks that tenant only.
 */
export async function loadConfig(
  path: string,
  env: Environment,
  registers: Registers = { sinkTypes, formats },
): Promise<Config> {
  const file = readConfigFile(resolve(path), env, mainOptions)
  const lists = ['destinations', 'inlineTenants']
  // What convict gives back has the shape of the declarations.
  const main = checkOptions(file, mainOptions, [], lists) as MainValues
  const destinations = readDestinations(file, main, registers)
  // By what is declared, right or wrong: a mistake in a destination is none in the tenants that name it.
  const known = { main, destinations: namesAt(file, ['destinations']) }
  const inline = listAt(file, ['inlineTenants']).map((_, index) => readTenant(file, ['inlineTenants', index], known))
  for (const list of lists) refuseTwins(file, list)
  const redis = redisOf(file, main.redis)
  const { ca: caFile, ...service } = main.service
  const ca = pemOf(file, ['service', 'ca'], caFile)
  const tenantFiles = listTenants(file, main.tenants)
  file.settle()
  const { tenants, brokenTenants, sources } = readTenants(tenantFiles, env, known, inline)
  if (main.tenants !== '') sources.add(resolve(file.folder, main.tenants))
  for (const { options } of destinations) for (const path of filesIn(options)) sources.add(resolve(path))
  return {
    ...main,
    file: file.file,
    redis,
    http: guard({ ...main.http }, ['token']),
    tracing: guard({ ...main.tracing }, ['headers']),
    service: { ...service, ...present({ ca }) },
    destinations,
    tenants,
    brokenTenants,
    sources: new Set([...file.sources, ...sources]),
  }
}

function readDestinations(file: ConfigFile, main: MainValues, registers: Registers): Destination[] {
  const found = listAt(file, ['destinations']).flatMap((content, index) => {
    const destination = readDestination(file, ['destinations', index], content, registers)
    return destination === undefined ? [] : [destination]
  })
  return found.map((destination) => ({
    ...destination,
    backlogBytes: destination.backlogBytes || main.queue.backlogBytes,
  }))
}

function readDestination(
  file: ConfigFile,
  path: Path,
  content: unknown,
  { sinkTypes, formats }: Registers,
): Destination | undefined {
  const wanted = isTree(content) ? content['sink'] : undefined
  const sink = sinkTypes.find(({ name }) => name === wanted)
  if (sink === undefined) {
    const names = sinkTypes.map(({ name }) => name)
    const text = typeof wanted === 'string' ? `is not a sink${didYouMean(wanted, names)}` : 'is missing'
    file.problem([...path, 'sink'], `${text}; there are: ${names.join(', ')}`)
    return undefined
  }
  // The declarations of sinks are of the same form; convict's type of them is only wider.
  const own = sink.options as Section
  const sections = formats.map(({ name }) => name)
  const values = checkOptions(file, { ...own, ...destinationOptions }, path, sections)
  const common = values as Values<typeof destinationOptions>
  const options = guardAll(pick(values, Object.keys(own)), own)
  const format = formatOf(file, path, { formats, name: common.format, carried: sink.formats?.(options) })
  const formatOptions =
    format === undefined ? {} : checkOptions(file, format.options as Section, [...path, format.name])
  for (const name of sections) {
    if (isTree(content) && name in content && name !== format?.name)
      file.problem([...path, name], `is for the format ${name}, and format is ${format?.name ?? 'wrong'}`)
  }
  const streams = streamNames.filter((name) => common.streams.includes(name))
  refuseUnknown(file, [...path, 'streams'], common.streams, streamNames)
  if (common.streams.length === 0) file.problem([...path, 'streams'], 'is empty: leave it out for all streams')
  const redaction = redactionOf(file, path, common)
  if (format === undefined || file.isBroken(path)) return undefined
  const { name, backlogBytes, concurrency, labels, filter } = common
  const sending = { name, sink, options, backlogBytes, concurrency }
  return { ...sending, format, formatOptions, streams, labels, filter, redaction }
}

/** Addresses are few: with a key that can be guessed, so can whatever was hashed. */
const redactKeyLength = 16

function redactionOf(
  file: ConfigFile,
  path: Path,
  { redact, redactKey }: Pick<Values<typeof destinationOptions>, 'redact' | 'redactKey'>,
): Redaction {
  const at = [...path, 'redactKey']
  const hashes = !file.isBroken([...path, 'redact']) && redact.some((field) => field.do === 'hash')
  // A reference that leads nowhere is reported already.
  if (hashes && redactKey === '' && !file.isBroken(at)) file.problem(at, 'is missing: redact hashes, and needs a key')
  if (redactKey !== '' && redactKey.length < redactKeyLength)
    file.problem(at, `is too short: it must have at least ${redactKeyLength} characters`)
  return guard({ fields: redact, key: redactKey }, ['key'])
}

/** The format that is named, or else the usual one of the sink; the sink must be able to carry it. */
function formatOf(
  file: ConfigFile,
  path: Path,
  { formats, name, carried }: { formats: readonly Format[]; name: string; carried: readonly string[] | undefined },
): Format | undefined {
  const names = carried ?? formats.map((format) => format.name)
  const wanted = name || (carried?.[0] ?? 'json')
  const format = formats.find((known) => known.name === wanted)
  if (format !== undefined && names.includes(wanted)) return format
  const problem =
    format === undefined ? `is not a format${didYouMean(wanted, names)}` : 'is no format that this sink can send'
  file.problem([...path, 'format'], `${problem}; there are: ${names.join(', ')}`)
  return undefined
}

function readTenants(
  files: readonly string[],
  env: Environment,
  known: Known,
  inline: readonly Tenant[],
): Pick<Config, 'tenants' | 'brokenTenants'> & { readonly sources: Set<string> } {
  const tenants = [...inline]
  const brokenTenants: BrokenTenant[] = []
  const sources = new Set<string>()
  for (const path of files) {
    const name = basename(path, extname(path))
    const file = readConfigFile(path, env)
    for (const source of file.sources) sources.add(source)
    try {
      if (tenants.some((tenant) => tenant.name === name))
        file.problem([], `there is a tenant ${name} already: rename it`)
      const tenant = readTenant(file, [], known, name)
      file.settle()
      tenants.push(tenant)
    } catch (error) {
      brokenTenants.push({ name, file: path, error: asTailraceError(error) })
    }
  }
  return { tenants, brokenTenants, sources }
}

function redisOf(file: ConfigFile, options: MainValues['redis']): RedisConfig {
  const { url, data, prefix, username, password, tls } = options
  const pem = (name: 'ca' | 'cert' | 'key'): string | undefined => pemOf(file, ['redis', 'tls', name], tls[name])
  const given = present({ ca: pem('ca'), cert: pem('cert'), key: pem('key'), servername: tls.servername || undefined })
  const isTls = Object.keys(given).length > 0
  if (isTls && !url.startsWith('rediss')) file.problem(['redis', 'tls'], 'needs a redis.url that begins with rediss://')
  if ('cert' in given !== 'key' in given) file.problem(['redis', 'tls'], 'needs cert and key together')
  const login = present({ username: username || undefined, password: password || undefined })
  const value = { url, data: resolve(data), prefix, ...login, ...(isTls ? { tls: guard(given, ['key']) } : {}) }
  return guard(value, ['url', 'password'])
}

/** PEM text, given as such or as the name of a file relative to that of the configuration. */
function pemOf(file: ConfigFile, path: Path, value: string): string | undefined {
  if (value === '' || value.includes('-----BEGIN')) return value || undefined
  const source = resolve(file.folder, value)
  file.sources.add(source)
  try {
    const text = readFileSync(source, 'utf8')
    if (text.includes('-----BEGIN')) return text
    file.problem(path, 'is a file without PEM text: it must have -----BEGIN …-----')
  } catch (error) {
    file.problem(path, `is a file ${unreadable(error)}`)
  }
  return undefined
}

/** Dot files are left out: Kubernetes keeps its versions of a folder in such. */
function listTenants(file: ConfigFile, folder: string): string[] {
  if (folder === '' || file.isBroken(['tenants'])) return []
  const path = resolve(file.folder, folder)
  try {
    const names = readdirSync(path).filter((name) => /^[^.].*\.ya?ml$/.test(name))
    return names.toSorted().map((name) => join(path, name))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    file.problem(
      ['tenants'],
      `names the folder ${path}, which cannot be read (${code}): create it, or correct the name`,
    )
    return []
  }
}

function listAt(file: ConfigFile, path: readonly [string]): readonly unknown[] {
  const list = file.at(path) ?? []
  if (Array.isArray(list)) return list
  if (!file.isBroken(path)) file.problem(path, 'must be a list: each element begins with a hyphen')
  return []
}

function namesAt(file: ConfigFile, path: readonly [string]): string[] {
  return listAt(file, path).map((content) => {
    const name = isTree(content) ? content['name'] : undefined
    return typeof name === 'string' ? name : ''
  })
}

function refuseTwins(file: ConfigFile, list: string): void {
  const names = namesAt(file, [list])
  for (const [index, name] of names.entries()) {
    if (name !== '' && names.indexOf(name) < index)
      file.problem([list, index, 'name'], `${name} is taken: names are unique`)
  }
}

/** The same options, with what the declarations call sensitive out of sight. */
function guardAll(values: Tree, section: Section): object {
  const inner = Object.entries(values).map(([name, value]) => {
    const node = section[name]
    return [name, node !== undefined && !isOption(node) && isTree(value) ? guardAll(value, node) : value]
  })
  const secrets = Object.entries(section).flatMap(([name, node]) => (isOption(node) && node.sensitive ? [name] : []))
  return guard(Object.fromEntries(inner), secrets)
}

function pick(tree: Tree, names: readonly string[]): Tree {
  return Object.fromEntries(names.map((name) => [name, tree[name]]))
}

/**
 * Certificates and keys that a sink reads by itself: `tls.ca`, `tls.cert`, `tls.key` where they are the names of files.
 * What is no file is left out: it may be a key that was written down in the wrong way.
 */
export function filesIn(options: object): string[] {
  const tls: unknown = Reflect.get(options, 'tls')
  if (typeof tls !== 'object' || tls === null) return []
  const names = ['ca', 'cert', 'key'].map((name): unknown => Reflect.get(tls, name))
  return names.filter((name): name is string => typeof name === 'string' && name !== '' && existsSync(name))
}

/** Without what is undefined. */
function present<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
