// The file of a new tenant, for a daemon to pick up. It refers to secrets, and has none in it.

import { access, constants, readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import { isTree, readConfigFile } from '../../config-file.ts'
import { mainOptions } from '../../config-options.ts'
import type { Environment } from '../../secrets.ts'
import { asConfigReference, misuse, type Account } from './access.ts'
import type { Provisioning } from './journal.ts'
import { createFile } from './whole-file.ts'

export interface TenantFileOptions {
  /** Its name, or true for one that is made from the name of the client. */
  readonly writeTenant?: string | true
  /** The folder, instead of that of the configuration. */
  readonly tenants?: string
  readonly tenantUuidFrom?: string
  readonly tenantSecretFrom?: string
}

export interface TenantFile {
  readonly path: string
  readonly uuid: string
  readonly secret: string
}

/** Where it will be, and with which references. Throws `misuse` where it could not be written. */
export async function planTenantFile(
  options: TenantFileOptions,
  clientName: string,
  account: Account,
  env: Environment,
): Promise<TenantFile | undefined> {
  const { writeTenant: wanted, tenantUuidFrom, tenantSecretFrom } = options
  if (wanted === undefined) return undefined
  const name =
    wanted === true
      ? clientName
          .toLowerCase()
          .replaceAll(/[^a-z0-9]+/g, '-')
          .replaceAll(/^-|-$/g, '')
      : wanted
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name))
    throw misuse('--write-tenant needs a name of 1 to 63 letters, digits, dots, hyphens and underscores')
  const folder = options.tenants ?? tenantsFolder(account, env)
  await assertWritable(folder)
  const uuid = tenantUuidFrom === undefined ? account.references.uuid : asConfigReference(tenantUuidFrom)
  const secret = tenantSecretFrom === undefined ? account.references.secret : asConfigReference(tenantSecretFrom)
  if (uuid === undefined || secret === undefined)
    throw misuse('--write-tenant needs references to the credentials: --tenant-uuid-from and --tenant-secret-from')
  return { path: join(folder, `${name}.yaml`), uuid, secret }
}

/** Throws `misuse` if the file is there and is of another client; `client` null: of any. */
export async function assertNotTaken(path: string, client: number | null): Promise<void> {
  const clients = await clientsIn(path)
  if (clients !== undefined && (client === null || !clients.includes(client)))
    throw misuse(`${path} is there already, for another client: choose another name with --write-tenant <name>`)
}

/** False: it was there already, for the same client. Readable for everybody, as the daemon may be another user. */
export async function writeTenantFile(plan: TenantFile, done: Provisioning, account: Account): Promise<boolean> {
  const { instance, baseUrl, config } = account
  const isNamed =
    config !== undefined && (instance === 'simulator' || Object.hasOwn(config.service.instances, instance))
  const about = `client ${JSON.stringify(done.name)}, partner ${done.partner}, bound as ${done.binding}, vuln_prefix ${done.vulnPrefix}`
  const content = {
    ...(isNamed ? { instance } : { baseUrl }),
    credentials: { uuid: plan.uuid, secret: plan.secret },
    clients: [done.client],
  }
  const text = `# Written by tailrace service clients create: ${about}.\n${stringify(content)}`
  if (await createFile(plan.path, text, 0o644)) return true
  await assertNotTaken(plan.path, done.client)
  return false
}

function tenantsFolder({ config }: Account, env: Environment): string {
  const named = config === undefined ? undefined : readConfigFile(config.file, env, mainOptions).at(['tenants'])
  if (config === undefined || typeof named !== 'string' || named === '')
    throw misuse('--write-tenant needs --tenants <folder>: the configuration names none')
  return resolve(dirname(config.file), named)
}

async function assertWritable(folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK)
    if ((await stat(folder)).isDirectory()) return
  } catch {
    // Said below.
  }
  throw misuse(`the folder of tenants, ${folder}, cannot be written to: create it, or name another with --tenants`)
}

/** undefined: there is no such file. */
async function clientsIn(path: string): Promise<readonly unknown[] | undefined> {
  try {
    const content: unknown = parse(await readFile(path, 'utf8'), { prettyErrors: false })
    const clients = isTree(content) ? content['clients'] : undefined
    return Array.isArray(clients) ? clients : []
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? undefined : []
  }
}
