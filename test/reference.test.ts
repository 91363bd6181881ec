import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { mainOptions, optionsOf, variableOf } from '../src/config-options.ts'
import { renderMappings } from '../src/mappings.ts'
import { renderReference } from '../src/reference.ts'
import { defineFormat } from '../src/ship/format.ts'
import { formats } from '../src/ship/formats/all.ts'

test('the reference is the one that is rendered: run vitest -u to write it anew', async () => {
  await expect(renderReference()).toMatchFileSnapshot('../config/reference.md')
})

test('so are the mappings', async () => {
  await expect(renderMappings()).toMatchFileSnapshot('../config/mappings.md')
})

test('tables keep their columns whatever the cells have, and the order is that of the names', () => {
  const rows = [['a|b', String.raw`c\|d`, 'e\nf'], ['short']]
  const mapping = [{ title: 'Odd', notes: ['A note.'], columns: ['one', 'two', 'three'], rows }]
  const odd = defineFormat<object>({
    name: 'aaa',
    summary: '',
    contentType: '',
    options: {},
    mapping,
    compile: () => String,
  })
  const text = renderMappings([...formats, odd])
  expect(text).toContain(String.raw`### Odd

A note.

| one | two | three |
| --- | --- | --- |
| a\|b | c\|d | e f |
| short |  |  |`)
  const names = [...text.matchAll(/^## Format `(.*)`$/gm)].map(([, name]) => name)
  expect(names).toEqual([...formats.map(({ name }) => name), 'aaa'].toSorted())
})

test('each format with options has them in the reference, and each has its place in the mappings', () => {
  const headings = (text: string, pattern: RegExp): (string | undefined)[] =>
    [...text.matchAll(pattern)].map(([, name]) => name)
  const withOptions = formats.filter(({ options }) => Object.keys(options).length > 0)
  expect(headings(renderReference(), /^#### Options of `(.*)`$/gm)).toEqual(
    withOptions.map(({ name }) => name).toSorted(),
  )
  expect(headings(renderMappings(), /^## Format `(.*)`$/gm)).toEqual(formats.map(({ name }) => name).toSorted())
})

test('every option of the main file has a variable of its own, and none that Kubernetes would set', () => {
  const variables = optionsOf(mainOptions).map(({ path }) => variableOf(path))
  expect(new Set(variables).size).toBe(variables.length)
  // For a Service called tailrace.
  expect(variables.filter((name) => /^TAILRACE_(PORT|SERVICE_HOST|SERVICE_PORT)/.test(name))).toEqual([])
})

test('each sink and format has its place in the reference', async () => {
  const folders = ['sinks', 'formats'].map((name) => new URL(`../src/ship/${name}/`, import.meta.url))
  const files = (await Promise.all(folders.map((folder) => readdir(folder)))).flat()
  const text = renderReference()
  for (const name of files.filter((file) => file !== 'all.ts').map((file) => file.replace('.ts', ''))) {
    expect(text).toContain(`\`${name}\``)
  }
})
