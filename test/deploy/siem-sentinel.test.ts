// What deploy/siem/sentinel sets up is what the sink sends: columns, names, and the columns that searches use.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sentinelColumns } from '../../src/ship/wire/sentinel-row.ts'
import { sentinel } from '../../src/ship/sinks/sentinel.ts'
import { optionsOf } from '../ship/options.ts'

interface Column {
  readonly name: string
  readonly type: string
  readonly description?: string
}

interface Template {
  readonly variables: Readonly<Record<string, unknown>>
  readonly resources: readonly Resource[]
}

interface Resource {
  readonly type: string
  readonly kind?: string
  readonly properties: Readonly<Record<string, unknown>>
}

const folder = new URL('../../deploy/siem/sentinel/', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')
const table = JSON.parse(read('table.json')) as Template
const rules = JSON.parse(read('rules.json')) as Template

function propertiesOf<T>(type: string): T {
  return table.resources.find((resource) => resource.type === type)?.properties as T
}

test('the table has the columns of a row, in their order', () => {
  const { schema } = propertiesOf<{ readonly schema: { readonly columns: readonly Column[] } }>(
    'Microsoft.OperationalInsights/workspaces/tables',
  )
  const columns = schema.columns.map(({ name, type, description: doc }) => ({ name, type: type.toLowerCase(), doc }))
  expect(columns).toEqual(sentinelColumns)
})

test('the data collection rule has the stream that is sent to by default, and passes its rows on as they are', () => {
  const { stream } = optionsOf(sentinel, {})
  const rule = propertiesOf<{
    readonly streamDeclarations: Readonly<Record<string, { readonly columns: readonly Column[] }>>
    readonly dataFlows: readonly { readonly transformKql: string; readonly outputStream: string }[]
  }>('Microsoft.Insights/dataCollectionRules')
  const columns = sentinelColumns.map(({ name, type }) => ({ name, type }))
  expect(rule.streamDeclarations).toEqual({ [stream]: { columns } })
  expect(rule.dataFlows).toMatchObject([{ transformKql: 'source', outputStream: "[variables('stream')]" }])
  expect(table.variables).toMatchObject({ stream, table: stream.replace('Custom-', '') })
})

interface Rule {
  readonly query: string
  readonly queryFrequency: string
  readonly queryPeriod: string
  readonly entityMappings?: readonly { readonly fieldMappings: readonly { readonly columnName: string }[] }[]
  readonly customDetails: Readonly<Record<string, string>>
  readonly incidentConfiguration: {
    readonly groupingConfiguration: { readonly groupByCustomDetails: readonly string[] }
  }
}

const queries = Object.fromEntries(
  Object.entries(rules.variables).map(([name, lines]) => [name, (lines as string[]).join('\n')]),
)

/** Names that a search makes itself, by `let`, `extend`, `project` or `summarize`. */
function madeBy(query: string): Set<string> {
  return new Set([...query.matchAll(/\b(\w+) =(?!=)/g)].map(([, name]) => name ?? ''))
}

/** Whatever begins with a capital letter, outside of texts. */
function namesIn(query: string): string[] {
  return [...query.replaceAll(/'[^']*'/g, '').matchAll(/\b[A-Z]\w*/g)].map(([name]) => name)
}

const known = new Set(['Tailrace_CL', ...sentinelColumns.map(({ name }) => name)])

test.for([...Object.entries(queries), ...searchesIn(read('README.md'))])(
  'the search %s uses columns there are',
  ([, query]) => {
    const made = madeBy(query)
    expect(namesIn(query).filter((name) => !known.has(name) && !made.has(name))).toEqual([])
    expect(query).toContain('Tailrace_CL')
  },
)

test.for(rules.resources.map((resource, index) => [index, resource.properties as unknown as Rule] as const))(
  'rule %d shows columns that its search has, and groups by details that it shows',
  ([, { query, customDetails, entityMappings = [], incidentConfiguration }]) => {
    const variable = /^\[join\(variables\('(\w+)'\), '\n'\)\]$/.exec(query)?.[1] ?? ''
    const search = queries[variable] ?? ''
    const shown = entityMappings.flatMap(({ fieldMappings }) => fieldMappings.map(({ columnName }) => columnName))
    const named = new Set(namesIn(search))
    expect([...Object.values(customDetails), ...shown].filter((name) => !named.has(name))).toEqual([])
    const { groupByCustomDetails } = incidentConfiguration.groupingConfiguration
    expect(Object.keys(customDetails)).toEqual(expect.arrayContaining([...groupByCustomDetails]))
  },
)

test('three rules, one for each search; each looks back further than it waits', () => {
  expect(rules.resources.map(({ type, kind }) => [type, kind])).toEqual(
    Array.from({ length: 3 }, () => ['Microsoft.SecurityInsights/alertRules', 'Scheduled']),
  )
  for (const { properties } of rules.resources) {
    const { queryFrequency, queryPeriod } = properties as unknown as Rule
    expect(minutesOf(queryPeriod)).toBeGreaterThan(minutesOf(queryFrequency))
    // Azure's own rules: at most 14 days back, and from 2 days on not more often than hourly.
    expect(minutesOf(queryPeriod)).toBeLessThanOrEqual(14 * 1440)
    expect(minutesOf(queryPeriod) < 2 * 1440 || minutesOf(queryFrequency) >= 60).toBe(true)
  }
})

test('the search for gaps is the one that the rule has', () => {
  const [first = ['', '']] = searchesIn(read('README.md'))
  const steps = (search: string) => search.split('\n').map((line) => line.trim())
  const rule = steps(queries['gaps'] ?? '')
  for (const step of steps(first[1]).filter((line) => /^\| (where|summarize|sort|extend)/.test(line))) {
    expect(rule).toContain(step)
  }
})

function searchesIn(text: string): [name: string, query: string][] {
  return [...text.matchAll(/```kusto\n([^`]*)```/g)].map(([, query = ''], index) => [`${index + 1} of README`, query])
}

function minutesOf(duration: string): number {
  const [, days = 0, hours = 0, minutes = 0] = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?$/.exec(duration) ?? []
  return Number(days) * 1440 + Number(hours) * 60 + Number(minutes)
}
