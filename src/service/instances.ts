// The clouds of the service by name. Their addresses are not documented: the configuration has them.

import { TailraceError } from '../errors.ts'

/**
 * The base URL of a named instance, without a trailing slash. Rejects with `config_invalid` when the
 * table has no URL for it, or one that cannot be used.
 */
export function resolveBaseUrl(instance: string, table: Readonly<Record<string, string>>): string {
  const url = Object.hasOwn(table, instance) ? table[instance] : undefined
  if (url) return checkBaseUrl(url, `service.instances.${instance}`)
  const known = Object.keys(table).filter((name) => table[name])
  throw new TailraceError(
    'config_invalid',
    `instance ${JSON.stringify(instance)} has no address: set service.instances.${instance} to its base URL, ` +
      `or baseUrl in the tenant's file (${known.length > 0 ? `known: ${known.join(', ')}` : 'no instance has one yet'})`,
  )
}

/** A base URL that requests can be made from, without a trailing slash. `key` is named in the error. */
export function checkBaseUrl(text: string, key: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const problem =
    url === undefined
      ? 'is not a URL'
      : url.protocol !== 'https:' && url.protocol !== 'http:'
        ? 'must begin with https:// or http://'
        : url.username || url.password
          ? 'must not hold credentials'
          : url.search || url.hash
            ? 'must not have a query or fragment'
            : undefined
  // The text is not repeated: it may hold the credentials that it must not hold.
  if (url === undefined || problem !== undefined) throw new TailraceError('config_invalid', `${key} ${problem}`)
  return url.origin + url.pathname.replace(/\/+$/, '')
}
