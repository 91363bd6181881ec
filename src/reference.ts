// Renders the reference of the configuration from the declarations: `config/reference.md`.

import { formatNames } from './config-formats.ts'
import { showDuration, showSize } from './quantity.ts'
import {
  destinationOptions,
  mainOptions,
  optionsOf,
  streamOptions,
  tenantOptions,
  usualStreams,
  variableOf,
  type Section,
} from './config-options.ts'
import { errorTable } from './errors.ts'
import { streamNames } from './event.ts'
import type { Option } from './option.ts'
import { formats } from './ship/formats/all.ts'
import { jsonBodies, jsonFields } from './ship/formats/json.ts'
import { sinkTypes } from './ship/sinks/all.ts'

/** Markdown. Depends on nothing but the declarations: the same on every machine. */
export function renderReference(): string {
  const sinks = [...sinkTypes].toSorted(byName)
  const parts = [
    introduction,
    '## Main file',
    `${table(mainOptions, true)}`,
    'Besides these the file has two lists: `destinations` and `inlineTenants`.',
    '## Destinations',
    'Each element of `destinations` has these options and those of its sink.',
    table(destinationOptions),
    ...sinks.flatMap((sink) => [
      `### Sink \`${sink.name}\``,
      sink.summary,
      `A confirmation proves: ${sink.confirms}`,
      // The declarations of sinks are of the same form; convict's type of them is only wider.
      optionsOf(sink.options as Section).length === 0
        ? 'It has no options of its own.'
        : table(sink.options as Section),
    ]),
    '### Formats',
    rows(['format', 'what it is', 'content type'], [...formats].toSorted(byName).map(formatRow)),
    '#### Fields of `json`',
    'A time is text by RFC 3339 in UTC, such as `2026-11-21T05:16:00.042Z`. New fields may be added; none is left out.',
    fieldTable(jsonFields),
    'The fields of `body` depend on `kind`. Each is null where the record has nothing of the kind, a list then empty. Times in it are Unix milliseconds.',
    ...jsonBodies.flatMap(({ kinds, fields }) => [`Of ${kinds.map(quote).join(' and ')}:`, fieldTable(fields)]),
    '## Tenants',
    tenantText,
    table(tenantOptions),
    `### Streams of a tenant`,
    `Options of \`streams.<name>\`. Without \`streams\`, ${usualStreams.join(', ')} are read; where it is given, those that it names.`,
    streamTable(),
    '## Errors',
    'The codes in logs, status and the metric `tailrace_errors_total`, and what to do.',
    rows(
      ['code', 'remedy', 'what it means, and what to do'],
      Object.entries(errorTable).map(([code, { remedy, doc }]) => [quote(code), remedy, doc]),
    ),
  ]
  return `${parts.join('\n\n')}\n`
}

const introduction = `# Configuration reference

<!-- Rendered from the declarations by \`npm run reference\`. Do not edit. -->

Files are YAML. An unknown option is an error. \`a.b\` stands for option \`b\` in section \`a\`.

- **Durations** have a unit: \`500ms\`, \`15s\`, \`10m\`, \`24h\`, \`7d\`. **Sizes** may have one: \`512kb\`, \`64mb\`, \`1gb\`; a kb is 1024 bytes.
- **Secrets** are references, anywhere in a text: \`\${env:NAME}\` is a variable, \`\${file:/path}\` the content of a file without its last line break. \`$\${\` stands for the characters \`\${\`.
- **Variables** override the main file. One that is empty counts as not set.
- **Paths** of what is read (\`tenants\`, certificates of the main file, files of secrets) are relative to the file that names them; those of \`redis.data\` and of destinations to the working directory.`

const tenantText = `A tenant is a file \`<name>.yaml\` in the folder \`tenants\`, or an element of \`inlineTenants\` with a \`name\`. A mistake in a tenant's file stops that tenant only. It names either an instance or a base URL.`

function table(section: Section, variables = false): string {
  const head = ['option', 'type', 'default', ...(variables ? ['variable'] : []), 'what it does']
  return rows(
    head,
    optionsOf(section).map(({ path, option }) => [
      quote(path.join('.')),
      typeOf(option),
      usual(option),
      ...(variables ? [quote(variableOf(path))] : []),
      option.doc + (option.sensitive === true ? ' *Secret.*' : ''),
    ]),
  )
}

function streamTable(): string {
  const names = Object.keys(streamOptions.attacks)
  return rows(
    ['option', 'type', ...streamNames, 'what it does'],
    names.flatMap((name) => {
      const each = streamNames.map((stream) => optionOf(streamOptions[stream], name))
      const [first] = each
      if (first === undefined) return []
      return [[quote(name), typeOf(first), ...each.map((option) => (option ? usual(option) : '')), first.doc]]
    }),
  )
}

function optionOf(section: object, name: string): Option | undefined {
  return new Map<string, Option>(Object.entries(section)).get(name)
}

function typeOf({ format, default: value }: Option): string {
  if (Array.isArray(format)) return format.map((one) => quote(one === '' ? "''" : String(one))).join(', ')
  if (typeof format === 'string') {
    if (Object.hasOwn(formatNames, format)) return formatNames[format] ?? format
    if (format === 'nat' || format === 'int' || format === 'integer') return 'whole number'
    if (format === 'port') return 'port'
  }
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'object') return 'table'
  return { string: 'text', number: 'number', boolean: 'true or false' }[String(typeof value)] ?? 'any'
}

function usual({ format, default: value }: Option): string {
  if (value === '' || value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.length === 0 ? '' : 'all'
  if (typeof value === 'object') return Object.keys(value).length === 0 ? '' : quote(JSON.stringify(value))
  if (typeof value === 'number' && format === 'duration') return quote(showDuration(value))
  if (typeof value === 'number' && format === 'size') return quote(showSize(value))
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? quote(String(value))
    : ''
}

function formatRow({ name, summary, contentType }: (typeof formats)[number]): string[] {
  return [quote(name), summary, quote(contentType)]
}

function fieldTable(fields: Readonly<Record<string, readonly [type: string, doc: string]>>): string {
  return rows(
    ['field', 'type', 'what it has'],
    Object.entries(fields).map(([name, [type, doc]]) => [quote(name), type, doc]),
  )
}

function rows(head: readonly string[], body: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')
}

function cell(text: string): string {
  return text
    .replaceAll('|', String.raw`\|`)
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function quote(text: string): string {
  return `\`${text}\``
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1
}
