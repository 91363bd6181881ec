// What is known of clients that were, or are being, created: a small file for each, written before and after every
// request, so that a run that was killed can be continued and nothing is created twice. There is no secret in it.

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TailraceError } from '../../errors.ts'
import { isTree } from '../../config-file.ts'
import { createFile, replaceFile } from './whole-file.ts'

export const usualJournal = 'data/provisioning'

/**
 * How far it has come. `creating`, `binding`: the request was about to be sent, and its outcome is not known.
 * `refused`: the service has not created the client.
 */
export const steps = ['creating', 'refused', 'created', 'binding', 'bound'] as const
export type Step = (typeof steps)[number]

export interface Provisioning {
  readonly name: string
  readonly baseUrl: string
  readonly vulnPrefix: string
  /** A digest of what was sent, so that a changed wish is noticed. */
  readonly request: string
  readonly step: Step
  readonly client: number | null
  readonly partner: number | null
  /** The number that the client is bound by. */
  readonly binding: number | null
  readonly updatedAt: string
}

export interface Journal {
  readonly file: string
  read(): Promise<Provisioning | undefined>
  /** False: somebody else has begun meanwhile. */
  begin(provisioning: Provisioning): Promise<boolean>
  write(provisioning: Provisioning): Promise<void>
}

/** One client of one instance, by its name. */
export function openJournal(folder: string, baseUrl: string, name: string): Journal {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[.-]+/, '')
  const digest = createHash('sha256')
    .update(JSON.stringify([baseUrl, name]))
    .digest('hex')
  return journalAt(join(folder, `${plain.slice(0, 64) || 'client'}-${digest.slice(0, 8)}.json`))
}

/** All that the folder knows of, right or left half done. */
export async function listProvisioned(folder: string): Promise<(Provisioning & { readonly file: string })[]> {
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => /^[^.].*\.json$/.test(name)).map((name) => join(folder, name))
  const found = await Promise.all(files.map(async (file) => ({ file, content: await journalAt(file).read() })))
  return found.flatMap(({ file, content }) => (content === undefined ? [] : [{ ...content, file }]))
}

export function journalAt(file: string): Journal {
  const textOf = (provisioning: Provisioning): string =>
    `${JSON.stringify({ ...provisioning, updatedAt: new Date().toISOString() }, null, 2)}\n`
  return {
    file,
    async read() {
      let text: string
      try {
        text = await readFile(file, 'utf8')
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      }
      return parse(text, file)
    },
    begin: async (provisioning) => createFile(file, textOf(provisioning), 0o600),
    write: async (provisioning) => replaceFile(file, textOf(provisioning), 0o600),
  }
}

function parse(text: string, file: string): Provisioning {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    throw unreadable(file)
  }
  if (!isTree(content)) throw unreadable(file)
  const step = steps.find((known) => known === content['step'])
  const [name, baseUrl, vulnPrefix, request, updatedAt] = texts.map((key) => content[key])
  const [client, partner, binding] = numbers.map((key) => numberAt(content, key))
  if (typeof name !== 'string' || typeof baseUrl !== 'string' || typeof vulnPrefix !== 'string') throw unreadable(file)
  if (typeof request !== 'string' || typeof updatedAt !== 'string' || step === undefined) throw unreadable(file)
  if (client === undefined || partner === undefined || binding === undefined) throw unreadable(file)
  return { name, baseUrl, vulnPrefix, request, updatedAt, step, client, partner, binding }
}

const texts = ['name', 'baseUrl', 'vulnPrefix', 'request', 'updatedAt'] as const
const numbers = ['client', 'partner', 'binding'] as const

/** undefined: neither a number nor null. */
function numberAt(content: Readonly<Record<string, unknown>>, key: string): number | null | undefined {
  const value = content[key]
  if (value === null) return null
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
}

function unreadable(file: string): TailraceError {
  return new TailraceError(
    'misuse',
    `${file} cannot be understood: it should say what is known of a client that was created; put it right or aside`,
  )
}
