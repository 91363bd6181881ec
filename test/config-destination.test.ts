import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { loadConfig, type Destination } from '../src/config.ts'
import { TailraceError } from '../src/errors.ts'

const secret = 'correct-horse-battery'

/** The destination that `options` make, with a sink that needs none. */
async function destinationWith(options: string): Promise<Destination | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-destination-'))
  try {
    const file = join(folder, 'main.yaml')
    await writeFile(file, `destinations:\n  - name: soc\n    sink: stdout\n${options}`)
    const { destinations } = await loadConfig(file, { REDACT_KEY: secret })
    return destinations[0]
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function mistakeIn(options: string): Promise<string> {
  const thrown: unknown = await destinationWith(options).catch((error: unknown) => error)
  if (!(thrown instanceof TailraceError)) throw new Error('expected a TailraceError', { cause: thrown })
  return thrown.message
}

test('a destination without them has no filter and no redaction', async () => {
  expect(await destinationWith('')).toMatchObject({ filter: {}, redaction: { fields: [], key: '' } })
})

test('filter and redaction, with names that have dots', async () => {
  const destination = await destinationWith(`
    filter:
      include:
        - { kind: attack, type: [sqli, rce], severity: '>=7' }
      exclude:
        - { client: 4711, body.domain: '*.test.example.org', body.state: null }
    redact:
      - { field: body.sources.ip, do: hash }
      - { field: record.exploit_example, do: drop }
    redactKey: \${env:REDACT_KEY}
`)
  expect(destination?.filter).toEqual({
    include: [{ kind: 'attack', type: ['sqli', 'rce'], severity: '>=7' }],
    exclude: [{ client: 4711, 'body.domain': '*.test.example.org', 'body.state': null }],
  })
  expect(destination?.redaction.fields).toEqual([
    { field: 'body.sources.ip', do: 'hash' },
    { field: 'record.exploit_example', do: 'drop' },
  ])
  expect(destination?.redaction.key).toBe(secret)
})

test('the key does not show', async () => {
  const destination = await destinationWith(`    redactKey: ${secret}\n`)
  expect(destination?.redaction.key).toBe(secret)
  expect(JSON.stringify(destination)).not.toContain(secret)
  expect(inspect(destination, { depth: 9 })).not.toContain(secret)
})

test.each([
  ['    filter: { includes: [] }', /destinations\[0\]\.filter \(line 4\): has includes, which is neither/],
  ['    filter: attacks', /filter \(line 4\): must be a table/],
  ['    filter: { include: [{}] }', /filter.*: include\[0\] is empty/],
  ['    filter: { include: [{ severity: ">=hihg" }] }', /filter.*: include\[0\]\.severity compares with what is no/],
  ['    filter: { exclude: [{ body.typ: x }] }', /filter.*: exclude\[0\]\.body\.typ names a field that no body has/],
  ['    redact: [{ field: time, do: drop }]', /redact \(line 4\): element 0 \(time\) cannot be redacted/],
  ['    redact: { field: body.path, do: drop }', /redact \(line 4\): must be a list/],
  ['    redact: [{ field: body.path, do: hash }]', /redactKey.*: is missing: redact hashes, and needs a key/],
  ['    redactKey: short', /redactKey \(line 4\): is too short: it must have at least 16 characters/],
  ['    redactKey: ${env:NOWHERE}', /redactKey \(line 4\): refers to the variable NOWHERE, which is not set/],
])('%s', async (options, message) => {
  const text = await mistakeIn(options)
  expect(text).toMatch(message)
  expect(text).toContain('has a mistake:')
})

test('a missing variable is told once, and no value of a filter or key is shown', async () => {
  const text = await mistakeIn(
    '    redact: [{ field: body.path, do: hash }]\n    redactKey: ${env:NOWHERE}\n    filter: { include: [{ kind: hunter2 }] }\n',
  )
  expect(text).toContain('has 2 mistakes')
  expect(text).not.toContain('hunter2')
})
