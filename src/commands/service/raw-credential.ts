// What a tenant's file says of its credentials, before references are resolved.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { Tenant } from '../../config.ts'
import { isTree } from '../../config-file.ts'

/** The reference as it is written, such as `${file:/run/secrets/acme}`; undefined: the value itself is there. */
export function rawCredential({ file, name }: Tenant, key: 'uuid' | 'secret'): string | undefined {
  const content: unknown = parse(readFileSync(file, 'utf8'), { prettyErrors: false })
  const inline = isTree(content) ? content['inlineTenants'] : undefined
  const own: unknown = Array.isArray(inline) ? inline.find((one) => isTree(one) && one['name'] === name) : content
  const credentials = isTree(own) ? own['credentials'] : undefined
  const text = isTree(credentials) ? credentials[key] : undefined
  return typeof text === 'string' && /(?<!\$)\$\{/.test(text) ? text.trim() : undefined
}
