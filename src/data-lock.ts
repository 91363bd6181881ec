// One daemon per data folder: a lock file that names a process, and whether that process still lives.

import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TailraceError } from './errors.ts'

/**
 * A process, such that a later one with the same number is another: number, start (in clock ticks since boot),
 * boot.
 */
export interface ProcessMark {
  readonly pid: number
  readonly started: string
  readonly boot: string
}

/** Takes `<folder>/tailrace.lock`, or throws `data_in_use`. A lock whose process is gone is taken over. */
export async function lockFolder(folder: string): Promise<AsyncDisposable> {
  const file = join(folder, 'tailrace.lock')
  const own = JSON.stringify(await markOf(process.pid))
  const draft = `${file}.${process.pid}`
  await writeFile(draft, own)
  try {
    for (let tries = 0; !(await linked(draft, file)); tries++) {
      const holder = await textOf(file)
      if (holder === undefined) continue
      const mark = parseMark(holder)
      if (tries > 20 || (mark && (await lives(mark)))) throw inUse(folder, mark)
      await removeStale(file, holder)
    }
  } finally {
    await rm(draft, { force: true })
  }
  return {
    async [Symbol.asyncDispose]() {
      if ((await textOf(file)) === own) await rm(file, { force: true })
    },
  }
}

function inUse(folder: string, mark: ProcessMark | undefined): TailraceError {
  const who = mark ? ` (process ${mark.pid})` : ''
  return new TailraceError('data_in_use', `Another Tailrace${who} uses ${folder}. Stop it, or choose another folder.`)
}

/** A link fails where the name exists already, so that a lock is there with its content or not at all. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** Moved away first, and put back where someone else has been quicker and it is not the stale one any more. */
async function removeStale(file: string, stale: string): Promise<void> {
  const aside = `${file}.${process.pid}.stale`
  try {
    await rename(file, aside)
  } catch (error) {
    if (isMissing(error)) return
    throw error
  }
  if ((await textOf(aside)) !== stale) await linked(aside, file)
  await rm(aside, { force: true })
}

/** Undefined: there is no such process. */
export async function markOf(pid: number): Promise<ProcessMark | undefined> {
  const stat = await textOf(`/proc/${pid}/stat`)
  // The second field is the program's name in brackets, which may contain anything.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (!fields || fields[0] === 'Z' || fields[0] === 'X') return undefined // ended, if not yet collected by its parent
  const boot = (await textOf('/proc/sys/kernel/random/boot_id')) ?? ''
  return { pid, started: fields[19] ?? '', boot: boot.trim() }
}

export async function lives(mark: ProcessMark): Promise<boolean> {
  const now = await markOf(mark.pid)
  return now !== undefined && now.started === mark.started && now.boot === mark.boot
}

/** Undefined for what is no mark: a file cut short by a power cut, say. */
export function parseMark(text: string): ProcessMark | undefined {
  try {
    const mark: unknown = JSON.parse(text)
    if (typeof mark !== 'object' || mark === null) return undefined
    const { pid, started, boot } = mark as Partial<ProcessMark>
    if (typeof pid !== 'number' || typeof started !== 'string' || typeof boot !== 'string') return undefined
    return { pid, started, boot }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Undefined where there is no such file. */
export async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  // A process that ends while its entry is read gives ESRCH.
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')
}
