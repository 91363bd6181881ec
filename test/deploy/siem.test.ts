import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { jsonBodies, jsonFields } from '../../src/ship/formats/json.ts'
import { cef } from '../../src/ship/formats/cef.ts'
import { ecs } from '../../src/ship/formats/ecs.ts'
import { leef } from '../../src/ship/formats/leef.ts'
import { attackTypes } from '../../src/ship/fields/taxonomy.ts'
import { splunkHec } from '../../src/ship/sinks/splunk-hec.ts'
import type { Format } from '../../src/ship/format.ts'
import { attack } from '../ship/events.ts'

const siem = new URL('../../deploy/siem/', import.meta.url).pathname
const addOn = join(siem, 'splunk/TA-tailrace')
const ecsData = new URL('../../../shared/conformance/data/ecs-9.4.0.json', import.meta.url).pathname

/** The fields of a format, as its mapping names them. */
function fieldsOf({ mapping }: Pick<Format, 'mapping'>): Set<string> {
  return new Set(mapping.flatMap(({ rows }) => rows.map(([name = '']) => name.replaceAll('`', ''))))
}

type Conf = ReadonlyMap<string, ReadonlyMap<string, string>>

/** Splunk's configuration files: stanzas of `name = value`. */
async function confOf(path: string): Promise<Conf> {
  const stanzas = new Map<string, Map<string, string>>()
  let stanza: Map<string, string> | undefined
  for (const line of (await readFile(join(addOn, path), 'utf8')).split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, head] = /^\[(.*)\]$/.exec(line) ?? []
    if (head !== undefined) {
      stanzas.set(head, (stanza = new Map<string, string>()))
      continue
    }
    const [, name, value] = /^([\w.:-]+) = (.+)$/.exec(line) ?? []
    if (name === undefined || value === undefined || stanza?.has(name) !== false) throw new Error(`${path}: ${line}`)
    stanza.set(name, value)
  }
  return stanzas
}

function valueOf(conf: Conf, stanza: string, name: string): string {
  return conf.get(stanza)?.get(name) ?? ''
}

/** The fields of the event that calculated fields go by: those in single quotes. */
function usedFields(conf: Conf, stanza: string): string[] {
  const expressions = [...(conf.get(stanza) ?? [])].filter(([name]) => name.startsWith('EVAL-'))
  return expressions.flatMap(([, text]) => [...text.matchAll(/'([^']*)'/g)].map(([, name = '']) => name))
}

interface Mapped {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Mapped>>
}

/** Path to type. */
function mappedIn(properties: Readonly<Record<string, Mapped>>, prefix = ''): [string, string | undefined][] {
  return Object.entries(properties).flatMap(([name, { type, properties: inner }]) =>
    inner === undefined ? [[`${prefix}${name}`, type]] : mappedIn(inner, `${prefix}${name}.`),
  )
}

async function jsonOf<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, 'utf8')) as T
}

async function elasticMappings(): Promise<Map<string, string | undefined>> {
  const files = ['component-ecs.json', 'component-waf.json'].map((name) => join(siem, 'elasticsearch', name))
  type Component = { template: { mappings: { properties: Record<string, Mapped> } } }
  const components = await Promise.all(files.map((file) => jsonOf<Component>(file)))
  return new Map(components.flatMap(({ template }) => mappedIn(template.mappings.properties)))
}

test('each receiver has its instructions, and every JSON is JSON', async () => {
  const files = await readdir(siem, { recursive: true })
  const read = files.filter((file) => file.endsWith('.json')).map((file) => jsonOf<object>(join(siem, file)))
  expect((await Promise.all(read)).length).toBeGreaterThanOrEqual(4)
  for (const name of ['splunk', 'elasticsearch', 'qradar']) {
    const text = await readFile(join(siem, name, 'README.md'), 'utf8')
    expect(text).toContain('## Is something missing?')
    expect(text).toMatch(/15\s+minutes/)
  }
})

test('splunk: the configuration fits together', async () => {
  const props = await confOf('default/props.conf')
  const transforms = await confOf('default/transforms.conf')
  const eventtypes = await confOf('default/eventtypes.conf')
  const tags = await confOf('default/tags.conf')
  expect((await confOf('default/app.conf')).has('install')).toBe(true)
  expect((await confOf('metadata/default.meta')).has('')).toBe(true)
  // What the sink calls them unless told otherwise.
  expect(props.has(String(Reflect.get(Object(splunkHec.options.sourcetype), 'default')))).toBe(true)
  const named = [...props.values()].flatMap((settings) =>
    [...settings].flatMap(([name, text]) => {
      if (name.startsWith('REPORT-')) return text.split(', ')
      return name.startsWith('LOOKUP-') ? text.split(' ', 1) : []
    }),
  )
  expect(named.toSorted()).toEqual([...transforms.keys()].toSorted())
  for (const { 1: settings } of eventtypes) {
    for (const [, sourcetype = ''] of (settings.get('search') ?? '').matchAll(/sourcetype=([\w:]+)/g)) {
      expect(props.has(sourcetype)).toBe(true)
    }
  }
  for (const stanza of tags.keys()) expect(eventtypes.has(stanza.replace('eventtype=', ''))).toBe(true)
})

test('splunk: fields are those of the format json, or keys of cef', async () => {
  const props = await confOf('default/props.conf')
  const transforms = await confOf('default/transforms.conf')
  const bodies = jsonBodies.flatMap(({ fields }) => Object.keys(fields).map((name) => `body.${name}`))
  const known = [
    ...Object.keys(jsonFields),
    ...bodies,
    'body.sources{}.ip',
    'body.sources{}.country',
    'body.statusCodes{}',
  ]
  const used = usedFields(props, 'tailrace')
  expect(used.length).toBeGreaterThan(20)
  expect(used.filter((name) => !known.includes(name))).toEqual([])

  const header = [...valueOf(transforms, 'tailrace_cef_header', 'FORMAT').matchAll(/(\w+)::/g)].map(
    ([, name = '']) => name,
  )
  const keys = new Set([...fieldsOf(cef), ...header])
  expect(usedFields(props, 'tailrace:cef').filter((name) => !keys.has(name))).toEqual([])
})

test('splunk: the expressions take a CEF message apart', async () => {
  const transforms = await confOf('default/transforms.conf')
  const path = String.raw`/a b=c\d|e`
  const event = attack({ body: { ...attack().body, path } as never })
  const message = `<132>1 - - - - - - ${cef.compile({ vendor: 'Tailrace', product: 'WAF', version: '1', scheme: 'none' })(event)}`
  const header = new RegExp(valueOf(transforms, 'tailrace_cef_header', 'REGEX')).exec(message)
  expect(header?.slice(1)).toEqual(['Tailrace', 'WAF', '1', 'attack.sqli', 'SQL injection', '7'])
  const found = message.matchAll(new RegExp(valueOf(transforms, 'tailrace_cef_pairs', 'REGEX'), 'g'))
  const pairs = new Map([...found].map(([, name, value]) => [name, value]))
  expect(pairs.get('cat')).toBe('attack/sqli')
  expect(pairs.get('src')).toBe('192.0.2.1')
  expect(pairs.get('request')).toBe(String.raw`/a b\=c\\d|e`)
  expect(pairs.get('cs1')).toBe('q')
})

test('splunk: the table of types is that of the program', async () => {
  const rows = Object.entries(attackTypes).map(
    ([type, { title, cwe, technique }]) => `${type},${title},${cwe},${technique?.id ?? ''}`,
  )
  const text = await readFile(join(addOn, 'lookups/tailrace_types.csv'), 'utf8')
  expect(text).toBe(`${['type,name,cwe,mitre_technique_id', ...rows].join('\n')}\n`)
})

test('elasticsearch: what the format ecs can send is mapped, and nothing else is', async () => {
  const mapped = await elasticMappings()
  const sent = [...fieldsOf(ecs)].filter((name) => !name.endsWith('[]')).map((name) => name.replaceAll('[]', ''))
  expect([...mapped.keys()].toSorted()).toEqual(sent.toSorted())
  const { composed_of: parts } = await jsonOf<{ composed_of: string[] }>(
    join(siem, 'elasticsearch/index-template.json'),
  )
  const readme = await readFile(join(siem, 'elasticsearch/README.md'), 'utf8')
  for (const part of parts) expect(readme).toContain(`_component_template/${part}`)
})

test.skipIf(!existsSync(ecsData))('elasticsearch: fields of ECS have the type of ECS', async () => {
  const { fields } = await jsonOf<{ fields: Record<string, { type: string }> }>(ecsData)
  const own = [...(await elasticMappings())].filter(([name]) => !name.startsWith('waf.'))
  expect(own.length).toBeGreaterThan(50)
  expect(own.filter(([name, type]) => fields[name]?.type !== type)).toEqual([])
})

test('qradar: every property is a key of leef', async () => {
  const text = await readFile(join(siem, 'qradar/README.md'), 'utf8')
  const keys = [...text.matchAll(/^\| [\w ]+ \| `(\w+)` \| (?:Text|Number) \|$/gm)].map(([, key = '']) => key)
  expect(keys.length).toBeGreaterThan(20)
  const known = fieldsOf(leef)
  expect(keys.filter((key) => !known.has(key))).toEqual([])
})
