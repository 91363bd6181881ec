// The file of a secret that is about to be replaced. Beside it a file is made ready before the service is asked:
// its bytes are on the disk already, so that nothing can go wrong with them once there is a secret to write. It also
// tells a later run that one was killed, and holds the new secret if that had arrived.

import { constants } from 'node:fs'
import { open, readFile, realpath, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { TailraceError } from '../../errors.ts'
import { misuse } from './access.ts'
import { flushFolder } from './whole-file.ts'

export interface SecretFile {
  readonly target: string
  /** Puts the secret in the place of the old one. */
  keep(secret: string): Promise<{ readonly modeBefore: number | undefined }>
  /** The old secret stays. */
  discard(): Promise<void>
  /** It is not known whether the old secret stays: a later run finds out. */
  leave(): Promise<void>
}

export interface LeftOver {
  /** What seems to be the new secret; undefined: it had not arrived. */
  readonly secret: string | undefined
  settle(): Promise<void>
}

const readyBytes = 4096

/** What a run that was killed has left beside the file. Throws `misuse` while that run is still under way. */
export async function leftOver(target: string): Promise<LeftOver | undefined> {
  const { path, ready } = await placesOf(target)
  const text = await readFile(ready, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const [line = ''] = text.split('\n', 1)
  const [, owner] = /^renewal by process (\d+)/.exec(line) ?? []
  if (owner !== undefined && Number(owner) !== process.pid && isAlive(Number(owner)))
    throw misuse(`${target}: a renewal is under way, by process ${owner}; if that is none, remove ${ready}`)
  return {
    secret: /^[\x21-\x7e]+$/.test(line) ? line : undefined,
    settle: async () => {
      const handle = await open(ready, 'r+')
      try {
        await settle(handle, line, { ready, path })
      } finally {
        await handle.close()
      }
    },
  }
}

/** Throws `misuse` when the file cannot be replaced, or holds something else than the present secret. */
export async function prepareSecretFile(target: string, present: string): Promise<SecretFile> {
  const { path, ready } = await placesOf(target)
  const before = await stat(path).catch(() => undefined)
  if (before !== undefined && !before.isFile()) throw misuse(`${target} is not a file`)
  if (before !== undefined && !(await holds(path, present)))
    throw misuse(`${target} holds something else than the present secret: name another file`)
  let handle: FileHandle | undefined
  try {
    handle = await open(ready, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
    await handle.chmod(0o600)
    // The daemon may run as another user, and must go on reading it.
    if (before !== undefined) await handle.chown(before.uid, before.gid)
    await handle.truncate(0)
    await handle.write(`renewal by process ${process.pid}\n`.padEnd(readyBytes), 0)
    await handle.sync()
    await flushFolder(dirname(path))
  } catch (error) {
    await handle?.close()
    throw new TailraceError('misuse', `${target} cannot be written, so nothing was asked for: ${wordsOf(error)}`, {
      cause: error,
    })
  }
  const beside = handle
  return {
    target,
    async keep(secret) {
      try {
        await settle(beside, secret, { ready, path })
      } finally {
        await beside.close()
      }
      return { modeBefore: before === undefined ? undefined : before.mode & 0o777 }
    },
    async discard() {
      await beside.close()
      await rm(ready, { force: true })
    },
    leave: async () => beside.close(),
  }
}

/** Any other place where a secret can be kept that has nowhere to go. Its path; undefined: there is none. */
export async function saveElsewhere(secret: string, target: string): Promise<string | undefined> {
  const name = `${basename(target)}.renewed-${Date.now()}`
  for (const folder of [dirname(target), process.cwd(), tmpdir()]) {
    const path = join(folder, name)
    try {
      await writeFile(path, `${secret}\n`, { flag: 'wx', mode: 0o600, flush: true })
      return path
    } catch {
      // The next one may do.
    }
  }
  return undefined
}

interface Places {
  /** Where links lead to: the link stays. */
  readonly path: string
  readonly ready: string
}

async function placesOf(target: string): Promise<Places> {
  const path = await realpath(target).catch(() => target)
  return { path, ready: join(dirname(path), `.${basename(path)}.renewing`) }
}

/** The secret first and at once: whoever is killed in between leaves it in the first line. */
async function settle(handle: FileHandle, secret: string, { ready, path }: Places): Promise<void> {
  const bytes = Buffer.from(`${secret}\n`)
  await handle.write(bytes, 0, bytes.length, 0)
  await handle.truncate(bytes.length)
  await handle.sync()
  await rename(ready, path)
  await flushFolder(dirname(path))
}

async function holds(path: string, secret: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.trim() === '' || text.replace(/\r?\n$/, '') === secret
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
