// A file of lines. What is confirmed is on the disk.

import { constants } from 'node:fs'
import { open as openFile, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { TailraceError, type ErrorCode } from '../../errors.ts'
import { allTaken, defineSink, type Sink } from '../sink.ts'
import { lines } from '../stream/stream-framing.ts'

export interface FileOptions {
  readonly path: string
}

export const file = defineSink<FileOptions>({
  name: 'file',
  summary: 'Appends one line per event to a file.',
  confirms: 'The lines are on the disk (fdatasync).',
  options: {
    path: {
      doc: 'The file. Its folder must exist. After it was renamed or removed (by logrotate, say), it is created anew.',
      format: String,
      default: '',
    },
  },
  limits: () => ({ events: 10_000, bytes: 4 * 1024 * 1024 }),
  open,
})

interface Waiting {
  readonly bytes: Buffer
  resolve(): void
  reject(reason: unknown): void
}

function open({ path }: FileOptions): Sink {
  if (path === '') throw new TailraceError('sink_misconfigured', 'file: path is missing')
  let handle: FileHandle | undefined
  let waiting: Waiting[] = []
  let running: Promise<void> | undefined
  let closed = false

  /** One write and one sync for everybody who came while the disk was busy. */
  async function commitAll(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        handle = await current(path, handle)
        await append(handle, Buffer.concat(group.map(({ bytes }) => bytes)))
        for (const { resolve } of group) resolve()
      } catch (error) {
        // After a failed sync the kernel may call lost pages clean: a new handle starts afresh.
        await handle?.close().catch(() => undefined)
        handle = undefined
        const coded = fileError(error, path)
        for (const { reject } of group) reject(coded)
      }
    }
    running = undefined
  }

  return {
    async send(records, _batch, signal) {
      signal.throwIfAborted()
      if (closed) throw new TailraceError('sink_unreachable', `file ${path}: the destination was closed`)
      if (records.length === 0) return allTaken
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const entry = { bytes: lines(records), resolve, reject }
      const abort = () => {
        waiting = waiting.filter((other) => other !== entry)
        reject(signal.reason)
      }
      signal.addEventListener('abort', abort, { once: true })
      waiting.push(entry)
      running ??= commitAll()
      await promise.finally(() => signal.removeEventListener('abort', abort))
      return allTaken
    },
    async look(signal) {
      signal.throwIfAborted()
      try {
        await using probe = await current(path, undefined)
        return { findings: [`${path}: can be written; it has ${(await probe.stat()).size} bytes`] }
      } catch (error) {
        throw fileError(error, path)
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await running
      await handle?.close()
      handle = undefined
    },
  }
}

/** The open handle as long as the path still leads to it, otherwise a new one. */
async function current(path: string, handle: FileHandle | undefined): Promise<FileHandle> {
  if (handle !== undefined) {
    const [ours, now] = [await handle.stat(), await stat(path).catch(() => undefined)]
    if (now !== undefined && now.ino === ours.ino && now.dev === ours.dev) return handle
    await handle.close()
  }
  const { O_RDWR, O_APPEND, O_CREAT } = constants
  const fresh = await openFile(path, O_RDWR | O_APPEND | O_CREAT, 0o640)
  try {
    await endTornLine(fresh)
    await syncFolder(path)
    return fresh
  } catch (error) {
    await fresh.close()
    throw error
  }
}

/** A crash may have left half a line. It was never confirmed; a line break keeps it from spoiling the next. */
async function endTornLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat()
  if (size === 0) return
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  if (buffer[0] !== 0x0a) await handle.write('\n')
}

/** The name of a new file is data of its folder: without this a power cut could leave a file without a name. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await openFile(dirname(path), constants.O_RDONLY)
  await folder.sync()
}

async function append(handle: FileHandle, bytes: Buffer): Promise<void> {
  const { size } = await handle.stat()
  let written = 0
  try {
    while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten
    await handle.datasync()
  } catch (error) {
    await takeBack(handle, size, size + written)
    throw error
  }
  if ((await handle.stat()).nlink > 0) return
  throw new TailraceError('sink_unavailable', 'the file was removed while it was written', { inDoubt: true })
}

/** Removes what was written in part, unless somebody else has written behind it. */
async function takeBack(handle: FileHandle, before: number, after: number): Promise<void> {
  const { size } = await handle.stat()
  if (size === after) await handle.truncate(before)
}

const codes: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'sink_full',
  EDQUOT: 'sink_full',
  EFBIG: 'sink_full',
  EACCES: 'sink_misconfigured',
  EPERM: 'sink_misconfigured',
  ENOENT: 'sink_misconfigured',
  ENOTDIR: 'sink_misconfigured',
  EISDIR: 'sink_misconfigured',
  EROFS: 'sink_misconfigured',
  ELOOP: 'sink_misconfigured',
  ENAMETOOLONG: 'sink_misconfigured',
}

function fileError(error: unknown, path: string): TailraceError {
  if (error instanceof TailraceError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const words = error instanceof Error ? error.message : String(error)
  const known = codes[code]
  const details = { cause: error, inDoubt: known === undefined }
  return new TailraceError(known ?? 'sink_unavailable', `file ${path}: ${words}`, details)
}
