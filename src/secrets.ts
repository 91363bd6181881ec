// References to secrets in the configuration, and what keeps the secrets out of sight afterwards.

import { hash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { inspect } from 'node:util'

export type Environment = Readonly<Record<string, string | undefined>>

/** Told the path of each file that is looked into. */
export type Note = (path: string) => void

export type Resolved =
  | { readonly value: string; readonly referred: boolean }
  | { readonly missing: string }
  | { readonly invalid: string }

const secretBytesMax = 1024 * 1024
const reference = /(\$?)\$\{([^}]*)\}/g

/**
 * A text with `${env:NAME}` and `${file:/path}` replaced, wherever they are in it; a file name is relative
 * to `folder`. `$${` stands for `${`. What was put in is not looked at again.
 */
export function resolveReferences(text: string, env: Environment, folder: string, note?: Note): Resolved {
  let problem: Resolved | undefined
  let referred = false
  const value = text.replaceAll(reference, (whole: string, escape: string, inner: string) => {
    if (escape !== '') return whole.slice(1)
    referred = true
    const found = lookUp(inner.trim(), { env, folder, note })
    if ('value' in found) return found.value
    problem ??= found
    return ''
  })
  return problem ?? { value, referred }
}

interface Places {
  readonly env: Environment
  readonly folder: string
  readonly note: Note | undefined
}

function lookUp(inner: string, { env, folder, note }: Places): Resolved {
  const [, kind, name = ''] = /^(env|file):(.*)$/s.exec(inner) ?? []
  if (kind === 'env') return fromVariable(name.trim(), env)
  if (kind === 'file') {
    const path = resolve(folder, name.trim())
    note?.(path)
    return fromFile(path)
  }
  // What is in the braces is not repeated: it may be a part of a password.
  return { invalid: 'has a ${…} that is no reference: write ${env:NAME} or ${file:/path}, or $${ for the characters' }
}

function fromVariable(name: string, env: Environment): Resolved {
  const value = env[name]
  if (value === undefined) return { missing: `refers to the variable ${name}, which is not set: set it` }
  if (value === '') return { missing: `refers to the variable ${name}, which is empty: set it to the secret` }
  return { value, referred: true }
}

function fromFile(path: string): Resolved {
  let text: string
  try {
    if (statSync(path).size > secretBytesMax) return { missing: `refers to ${path}, which is too large for a secret` }
    text = readFileSync(path, 'utf8')
  } catch (error) {
    return { missing: `refers to the file ${path}, ${unreadable(error)}` }
  }
  const value = text.replace(/\r?\n$/, '')
  if (value === '') return { missing: `refers to the file ${path}, which is empty: put the secret into it` }
  return { value, referred: true }
}

/** Why a file could not be read, and what to do, as the end of a sentence. */
export function unreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  if (code === 'ENOENT') return 'which does not exist: create it, or correct the path'
  if (code === 'EACCES') return 'which must not be read: give this user the permission'
  if (code === 'EISDIR') return 'which is a folder: name a file'
  return `which cannot be read (${code})`
}

/** Hides values from JSON and inspection, and so from logs and dumps; reading them goes on as ever. */
export function guard<T extends object>(value: T, secretNames: readonly string[]): T {
  const masked = (): object =>
    Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, secretNames.includes(name) && inner !== '' ? '***' : inner]),
    )
  return Object.defineProperties(value, {
    toJSON: { value: masked },
    [inspect.custom]: { value: masked },
  })
}

/** The same for values that are alike, guarded secrets included. Nothing can be read from it. */
export function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(unguarded(value)) ?? '', 'base64url')
}

function unguarded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unguarded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, unguarded(inner)]))
}
