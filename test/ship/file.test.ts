// The contract on a real file system, and what happens to the file meanwhile.

import { Buffer } from 'node:buffer'
import { spawnSync } from 'node:child_process'
import { appendFile, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { file } from '../../src/ship/sinks/file.ts'
import { batch, openSink, patient } from './options.ts'
import { testSinkContract } from './sink-contract.ts'

async function openFolder(): Promise<AsyncDisposable & { readonly folder: string; readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-file-'))
  return {
    folder,
    path: join(folder, 'events'),
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const one = [Buffer.from('one')]

testSinkContract('file', async () => {
  const { folder, path, ...disposal } = await openFolder()
  const away = `${folder}-away`
  return {
    ...disposal,
    openSink: () => openSink(file, { path }),
    async received() {
      return (await readFile(path, 'utf8').catch(() => '')).split('\n').slice(0, -1)
    },
    stop: () => rename(folder, away),
    start: () => rename(away, folder),
    unreachable: 'sink_misconfigured',
  }
})

test('a file that was renamed or removed is created anew', async () => {
  await using place = await openFolder()
  await using sink = openSink(file, { path: place.path })
  await sink.send(one, batch, patient)
  await rename(place.path, `${place.path}.1`)
  await sink.send([Buffer.from('two')], batch, patient)
  expect(await readFile(`${place.path}.1`, 'utf8')).toBe('one\n')
  expect(await readFile(place.path, 'utf8')).toBe('two\n')
  await rm(place.path)
  await sink.send([Buffer.from('three')], batch, patient)
  expect(await readFile(place.path, 'utf8')).toBe('three\n')
})

test('half a line of a crash is ended, and nothing of anybody is removed', async () => {
  await using place = await openFolder()
  await writeFile(place.path, 'whole\nhal')
  await using sink = openSink(file, { path: place.path })
  await sink.send(one, batch, patient)
  await appendFile(place.path, 'foreign\n')
  await sink.send(one, batch, patient)
  expect(await readFile(place.path, 'utf8')).toBe('whole\nhal\none\nforeign\none\n')
})

test.for([
  ['a folder', '', 'sink_misconfigured'],
  ['a missing folder', 'missing/events', 'sink_misconfigured'],
] as const)('%s instead of a file is reported', async ([, name, code]) => {
  await using place = await openFolder()
  await using sink = openSink(file, { path: join(place.folder, name) })
  await expect(sink.send(one, batch, patient)).rejects.toMatchObject({ code, remedy: 'halt', inDoubt: false })
  await expect(sink.look(patient)).rejects.toMatchObject({ code })
})

test('without a path it does not open', () => {
  expect(() => openSink(file, {})).toThrow(expect.objectContaining({ code: 'sink_misconfigured' }))
})

test('a full disk waits, leaves no torn line, and goes on when there is room', async ({ skip }) => {
  await using place = await openFolder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', place.folder]).status === 0
  if (!mounted) skip('mounting is not permitted here')
  using mount = new DisposableStack()
  mount.defer(() => void spawnSync('umount', ['-l', place.folder]))
  await using sink = openSink(file, { path: place.path })
  await sink.send(one, batch, patient)
  const much = [Buffer.alloc(50_000, 'x'), Buffer.alloc(50_000, 'y')]
  const full = { code: 'sink_full', remedy: 'wait', inDoubt: false }
  await expect(sink.send(much, batch, patient)).rejects.toMatchObject(full)
  expect((await stat(place.path)).size).toBe(4)
  await sink.send(one, batch, patient)
  expect(await readFile(place.path, 'utf8')).toBe('one\none\n')
})
