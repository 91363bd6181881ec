// Who asks the service, and where: a tenant of the configuration, or an instance with references to credentials.

import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../../config.ts'
import type { Config, Tenant } from '../../config.ts'
import { TailraceError } from '../../errors.ts'
import { guard, resolveReferences, unreadable, type Environment } from '../../secrets.ts'
import { createServiceClient, type ServiceClient } from '../../service/client.ts'
import { openConnections } from '../../service/connections.ts'
import { checkBaseUrl, resolveBaseUrl } from '../../service/instances.ts'
import { usualConfig } from '../command.ts'
import type { ExitCode, Terminal } from '../command.ts'
import { registers } from '../registers.ts'
import { rawCredential } from './raw-credential.ts'

/** Chooses what the process does: a command hands over its work. */
export type Act = (work: (terminal: Terminal) => Promise<ExitCode>) => void

export interface AccessOptions {
  readonly config?: string
  readonly tenant?: string
  readonly instance?: string
  readonly uuidFrom?: string
  readonly secretFrom?: string
  readonly headerPrefix?: string
  readonly ca?: string
}

export interface Account {
  /** The instance's name, or the host of the base URL. */
  readonly instance: string
  readonly baseUrl: string
  readonly credentials: { readonly uuid: string; readonly secret: string }
  /** The same as references, as a tenant's file has them; a secret that is written out there is undefined. */
  readonly references: { readonly uuid: string | undefined; readonly secret: string | undefined }
  readonly headerPrefix: string | undefined
  readonly ca: string | undefined
  readonly tenant: Tenant | undefined
  readonly config: Config | undefined
}

export interface OpenService extends AsyncDisposable {
  readonly client: ServiceClient
  /** For what only reads. */
  readonly signal: AbortSignal
  /** For what changes something: it is not broken off, as its answer may be all there is to know of it. */
  readonly patience: AbortSignal
}

export const accessHelp = `
Who asks, and where:
  --tenant acme                          as the configuration has it
  --instance eu --uuid-from env:UUID --secret-from file:/run/secrets/key
  --instance https://service.example.org --uuid-from … --secret-from …   needs no configuration
Credentials are given as references, never as such: a list of processes shows command lines.`

export function declareAccess(command: Command): Command {
  return command
    .option('-c, --config <file>', `the configuration (default: TAILRACE_CONFIG, or ${usualConfig})`)
    .option('--tenant <name>', 'a tenant of the configuration: its instance, credentials and clients')
    .option('--instance <name>', 'an instance of the configuration, or a base URL; with --uuid-from and --secret-from')
    .option('--uuid-from <reference>', "where the user's UUID is: env:NAME or file:/path")
    .option('--secret-from <reference>', "where the user's secret is: env:NAME or file:/path")
    .option('--header-prefix <text>', 'what the names of the headers UUID and Secret begin with')
    .option('--ca <file>', 'PEM file of issuers that are trusted besides the usual ones')
    .addHelpText('after', accessHelp)
}

export function misuse(message: string): TailraceError {
  return new TailraceError('misuse', message)
}

/** Rejects with `misuse`, `config_invalid` or `secret_missing`. */
export async function readAccount(options: AccessOptions, env: Environment): Promise<Account> {
  const config = await configOf(options, env)
  const who =
    options.tenant === undefined ? strangerOf(options, config, env) : tenantOf(options, options.tenant, config)
  return {
    ...who,
    config,
    headerPrefix: options.headerPrefix ?? config?.service.headerPrefix,
    ca: options.ca === undefined ? config?.service.ca : readPem(options.ca),
  }
}

export function openService(account: Account, terminal: Terminal): OpenService {
  const { config, headerPrefix, ca } = account
  const connectMs = config?.service.connectTimeout
  const connections = openConnections({
    connections: 1,
    ...(connectMs === undefined ? {} : { connectMs }),
    ...(ca === undefined ? {} : { ca }),
  })
  const client = createServiceClient({
    baseUrl: account.baseUrl,
    instance: account.instance,
    credentials: account.credentials,
    connections,
    retries: 2,
    ...(headerPrefix === undefined ? {} : { headerPrefix }),
    ...(config === undefined
      ? {}
      : {
          timeouts: { headersMs: config.service.headersTimeout, bodyMs: config.service.bodyTimeout },
          maxAnswerBytes: config.service.maxAnswerBytes,
        }),
  })
  const tell = (): void => terminal.complain('Waiting for what is under way; once more ends at once.')
  terminal.signal.addEventListener('abort', tell, { once: true })
  return {
    client,
    signal: terminal.signal,
    patience: new AbortController().signal,
    async [Symbol.asyncDispose]() {
      terminal.signal.removeEventListener('abort', tell)
      await connections[Symbol.asyncDispose]()
    },
  }
}

/** The value behind `env:NAME` or `file:/path`. The text itself is not repeated: it may be the secret. */
export function readReference(reference: string, flag: string, env: Environment): string {
  if (!/^(env|file):./.test(reference)) throw misuse(`${flag} must be a reference: env:NAME or file:/path`)
  const found = resolveReferences(`\${${reference}}`, env, process.cwd())
  if ('value' in found) return found.value
  throw new TailraceError('secret_missing', `${flag} ${'missing' in found ? found.missing : found.invalid}`)
}

/** The same as a file of the configuration has it: a path does not depend on the working directory there. */
export function asConfigReference(reference: string): string {
  if (!/^(env|file):./.test(reference)) throw misuse('credentials are given as references: env:NAME or file:/path')
  const path = /^file:(.*)$/s.exec(reference)?.[1]
  return path === undefined ? `\${${reference}}` : `\${file:${resolve(path.trim())}}`
}

/** The clients that are named, or else those of the tenant. */
export function clientsOf(named: readonly number[] | undefined, account: Account): readonly number[] {
  const clients = named ?? account.tenant?.clients ?? []
  if (clients.length === 0) throw misuse('--client is missing: name the client by its id, or a --tenant that has one')
  return clients
}

export function onlyClientOf(named: readonly number[] | undefined, account: Account): number {
  const [client, another] = clientsOf(named, account)
  if (client === undefined || another !== undefined) throw misuse('--client must name one client: there are several')
  return client
}

/** The arguments that name the same account again, for a command to be copied. */
export function accessArguments(options: AccessOptions): string[] {
  const names = { config: '--config', tenant: '--tenant', instance: '--instance', uuidFrom: '--uuid-from' } as const
  const more = { secretFrom: '--secret-from', headerPrefix: '--header-prefix', ca: '--ca' } as const
  const flags = { ...names, ...more }
  return Object.entries(flags).flatMap(([name, flag]) => {
    const value: unknown = Reflect.get(options, name)
    return typeof value === 'string' ? [flag, value] : []
  })
}

/** A command line for a shell. */
export function commandLine(words: readonly string[]): string {
  const quoted = words.map((word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`,
  )
  return ['tailrace', ...quoted].join(' ')
}

/** The configuration, unless it is neither needed nor there. */
async function configOf(options: AccessOptions, env: Environment): Promise<Config | undefined> {
  const named = options.config ?? env['TAILRACE_CONFIG']
  const needless = options.tenant === undefined && (options.instance === undefined || isUrl(options.instance))
  if (needless && named === undefined && !existsSync(usualConfig)) return undefined
  return await loadConfig(named ?? usualConfig, env, registers)
}

type Who = Pick<Account, 'instance' | 'baseUrl' | 'credentials' | 'references' | 'tenant'>

function tenantOf(options: AccessOptions, name: string, config: Config | undefined): Who {
  const excluded = [options.instance, options.uuidFrom, options.secretFrom].some((value) => value !== undefined)
  if (excluded) throw misuse('--tenant has an instance and credentials already: leave out the other options')
  const broken = config?.brokenTenants.find((one) => one.name === name)
  if (broken !== undefined) throw broken.error
  const tenant = config?.tenants.find((one) => one.name === name)
  if (tenant === undefined) {
    const names = config?.tenants.map((one) => one.name) ?? []
    throw misuse(`no tenant is called ${JSON.stringify(name)}; there are: ${names.join(', ') || 'none'}`)
  }
  const { instance, baseUrl, credentials } = tenant
  const references = { uuid: rawCredential(tenant, 'uuid'), secret: rawCredential(tenant, 'secret') }
  return { instance, baseUrl, credentials, references, tenant }
}

function strangerOf(options: AccessOptions, config: Config | undefined, env: Environment): Who {
  const { instance, uuidFrom, secretFrom } = options
  if (instance === undefined) throw misuse('name a --tenant, or an --instance with --uuid-from and --secret-from')
  if (uuidFrom === undefined || secretFrom === undefined)
    throw misuse('--instance needs --uuid-from and --secret-from, such as env:NAME or file:/path')
  const uuid = readReference(uuidFrom, '--uuid-from', env)
  const secret = readReference(secretFrom, '--secret-from', env)
  return {
    ...placeOf(instance, config),
    credentials: guard({ uuid, secret }, ['uuid', 'secret']),
    references: { uuid: asConfigReference(uuidFrom), secret: asConfigReference(secretFrom) },
    tenant: undefined,
  }
}

function placeOf(instance: string, config: Config | undefined): Pick<Account, 'instance' | 'baseUrl'> {
  if (isUrl(instance)) {
    const baseUrl = checkBaseUrl(instance, '--instance')
    return { instance: new URL(baseUrl).host, baseUrl }
  }
  if (instance === 'simulator' && config?.simulator.enabled === true)
    return { instance, baseUrl: `http://127.0.0.1:${config.simulator.port}` }
  return { instance, baseUrl: resolveBaseUrl(instance, config?.service.instances ?? {}) }
}

function isUrl(text: string): boolean {
  return text.includes('://')
}

function readPem(file: string): string {
  try {
    const text = readFileSync(file, 'utf8')
    if (text.includes('-----BEGIN')) return text
  } catch (error) {
    throw new TailraceError('misuse', `--ca names ${file}, a file ${unreadable(error)}`, { cause: error })
  }
  throw misuse(`--ca names ${file}, which has no PEM text`)
}
