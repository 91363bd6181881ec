// What a tenant's file says of its credentials, before references are resolved.

import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import type { Tenant } from '../../config.ts'
import { isTree } from '../../config-file.ts'

/** The reference, such as `${file:/run/secrets/acme}`, its path made absolute; undefined: the value itself is there. */
export function rawCredential({ file, name }: Tenant, key: 'uuid' | 'secret'): string | undefined {
  const content: unknown = parse(readFileSync(file, 'utf8'), { prettyErrors: false })
  const inline = isTree(content) ? content['inlineTenants'] : undefined
  const own: unknown = Array.isArray(inline) ? inline.find((one) => isTree(one) && one['name'] === name) : content
  const credentials = isTree(own) ? own['credentials'] : undefined
  const text = isTree(credentials) ? credentials[key] : undefined
  if (typeof text !== 'string' || !/(?<!\$)\$\{/.test(text)) return undefined
  const absolute = (_: string, path: string): string => `\${file:${resolve(dirname(file), path.trim())}}`
  return text.trim().replaceAll(/(?<!\$)\$\{\s*file:([^}]*)\}/g, absolute)
}
