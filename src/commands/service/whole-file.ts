// Files that are there as a whole or not at all, whatever is killed in between.

import { randomBytes } from 'node:crypto'
import { link, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Flushed before it is put in the place of what was there. Its folder is created where it is missing. */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  await viaSibling(path, { text, mode }, async (sibling) => rename(sibling, path))
}

/** False: there is such a file already, and it stays as it is. */
export async function createFile(path: string, text: string, mode: number): Promise<boolean> {
  try {
    await viaSibling(path, { text, mode }, async (sibling) => link(sibling, path))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** What happened in a folder lasts. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function viaSibling(
  path: string,
  { text, mode }: { readonly text: string; readonly mode: number },
  settle: (sibling: string) => Promise<void>,
): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Files that begin with a dot are not read as those of tenants.
  const sibling = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  try {
    const handle = await open(sibling, 'wx', mode)
    try {
      await handle.chmod(mode)
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await settle(sibling)
    await flushFolder(folder)
  } finally {
    await rm(sibling, { force: true })
  }
}
