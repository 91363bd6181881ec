// A file in a folder of streams, formats or sinks that its list forgets would be dead code.

import { existsSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { formats } from '../src/ship/formats/all.ts'
import { sinkTypes } from '../src/ship/sinks/all.ts'

const source = new URL('../src/', import.meta.url)

function filesIn(folder: string): string[] {
  const names = readdirSync(new URL(folder, source)).filter((name) => name.endsWith('.ts') && name !== 'all.ts')
  return names.map((name) => name.slice(0, -'.ts'.length)).toSorted()
}

test.for([
  { folder: 'ship/formats/', list: formats },
  { folder: 'ship/sinks/', list: sinkTypes },
])('$folder has the files that its list names', ({ folder, list }) => {
  expect(list.map(({ name }) => name).toSorted()).toEqual(filesIn(folder))
})

const streams = 'poll/streams/'

test.skipIf(!existsSync(new URL(`${streams}all.ts`, source)))(
  `${streams} has the files that its list names`,
  async () => {
    const module: object = await import(new URL(`${streams}all.ts`, source).href)
    const lists = Object.values(module).filter((value) => typeof value === 'object')
    expect(lists.map(namesIn)).toContainEqual(filesIn(streams))
  },
)

/** A list of things with names, or a table by name. */
function namesIn(list: object): string[] {
  const names = Array.isArray(list) ? list.map((item: { readonly name?: unknown }) => item.name) : Object.keys(list)
  return names.map(String).toSorted()
}
