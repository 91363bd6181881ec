// Watches the files of the configuration, and hands on what they become.

import { hash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from './config.ts'
import { asTailraceError, type TailraceError } from './errors.ts'
import { digestOf } from './secrets.ts'

export interface WatchParts {
  /** The configuration in force. */
  readonly first: Config
  readonly load: () => Promise<Config>
  /** Puts it in force. */
  readonly apply: (config: Config) => Promise<void>
  /** A configuration was put in force. `restart`: sections that have changed and count from the next start. */
  readonly applied: (config: Config, restart: readonly string[]) => void
  /** It could not be loaded, or not be put in force: what was in force stays so. */
  readonly refused: (error: TailraceError) => void
  readonly everyMs?: number
}

export interface ConfigWatch extends AsyncDisposable {
  /** Looks now, and loads even where nothing seems to have changed. */
  reload(): void
}

/**
 * Asks the file system how the files look rather than to be told: that sees what changes on every kind of it, through
 * symbolic links, and under a mount that is replaced (as Kubernetes replaces a Secret). A change counts once the files
 * look the same twice: an editor may be in the middle of writing.
 */
export function watchConfig({ first, everyMs = 500, ...parts }: WatchParts): ConfigWatch {
  const stop = new AbortController()
  let wake = new AbortController()
  let wanted = false
  let inForce = first
  let refused = false
  let rounds = 0

  const loop = async (): Promise<void> => {
    // How they looked when they were read for the first time is not known: the first look reads them again, in case
    // they have changed since.
    let known = ''
    let before = await looksOf(inForce.sources)
    while (!stop.signal.aborted) {
      await sleep(everyMs, undefined, { signal: AbortSignal.any([stop.signal, wake.signal]) }).catch(() => undefined)
      wake = new AbortController()
      const now = await looksOf(inForce.sources)
      const settled = now === before
      before = now
      // One that was refused may be missing a file that nobody knew of.
      const again = refused && ++rounds % roundsUntilRetry === 0
      if (stop.signal.aborted || !(wanted || again || (settled && now !== known))) continue
      const mayBeSilent = known === '' && !wanted
      wanted = false
      // By how they looked before they were read: what changes meanwhile is a change again.
      known = now
      const next = await replace(inForce, { ...parts, first, mayBeSilent })
      refused = next === inForce
      inForce = next
    }
  }
  const running = loop()
  return {
    reload() {
      wanted = true
      wake.abort()
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

const roundsUntilRetry = 20

/** Returns what is in force then: what was before, where the new one is refused. */
async function replace(
  before: Config,
  { first, load, apply, applied, refused, mayBeSilent }: WatchParts & { readonly mayBeSilent: boolean },
): Promise<Config> {
  try {
    const next = withOldTenants(before, await load())
    await apply(next)
    // The first look mostly finds what is in force: nobody needs to be told.
    if (!mayBeSilent || digestOf(next) !== digestOf(before)) applied(next, restartFor(first, next))
    return next
  } catch (thrown) {
    refused(asTailraceError(thrown))
    return before
  }
}

/** A tenant whose file has become wrong goes on as it was. */
function withOldTenants(before: Config, next: Config): Config {
  const broken = new Set(next.brokenTenants.map(({ file }) => file))
  const kept = before.tenants.filter(({ file, name }) => broken.has(file) && !next.tenants.some((t) => t.name === name))
  return kept.length === 0 ? next : { ...next, tenants: [...next.tenants, ...kept] }
}

const fixedSections = [
  'redis',
  'service',
  'http',
  'log',
  'tracing',
  'shutdown',
  'queue',
  'simulator',
  'receiver',
] as const

function restartFor(first: Config, next: Config): string[] {
  return fixedSections.filter((name) => digestOf(first[name]) !== digestOf(next[name]))
}

/** A digest of how the files look from outside: size, times, identity; of folders also what is in them. */
async function looksOf(sources: ReadonlySet<string>): Promise<string> {
  const looks = await Promise.all([...sources].toSorted().map(lookOf))
  return hash('sha256', looks.join('\n'), 'base64url')
}

async function lookOf(path: string): Promise<string> {
  try {
    const found = await stat(path)
    const names = found.isDirectory() ? (await readdir(path)).toSorted() : []
    return [path, found.size, found.mtimeMs, found.ctimeMs, found.ino, ...names].join(' ')
  } catch (error) {
    return `${path} ${error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'}`
  }
}
