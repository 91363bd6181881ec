import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { mainOptions, optionsOf, variableOf } from '../src/config-options.ts'
import { renderReference } from '../src/reference.ts'

test('the reference is the one that is rendered: run vitest -u to write it anew', async () => {
  await expect(renderReference()).toMatchFileSnapshot('../config/reference.md')
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
