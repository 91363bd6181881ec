// Renders the reference of the configuration from the declarations: `config/reference.md`.

import convict from 'convict'
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
import { code, table } from './markdown.ts'
import type { Option } from './option.ts'
import { formats } from './ship/formats/all.ts'
import { jsonBodies, jsonFields } from './ship/formats/json.ts'
import type { SinkType } from './ship/sink.ts'
import { sinkTypes } from './ship/sinks/all.ts'

/** Markdown. Depends on nothing but the declarations: the same on every machine. */
export function renderReference(): string {
  const sinks = [...sinkTypes].toSorted(byName)
  const sorted = [...formats].toSorted(byName)
  const parts = [
    introduction,
    '## Main file',
    optionTable(mainOptions, true),
    'Besides these the file has two lists: `destinations` and `inlineTenants`.',
    '## Destinations',
    'Each element of `destinations` has these options and those of its sink.',
    optionTable(destinationOptions),
    filterText,
    redactionText,
    ...sinks.flatMap(renderSink),
    '### Formats',
    table(['format', 'what it is', 'content type'], sorted.map(formatRow)),
    'Where their fields come from is in [mappings.md](mappings.md).',
    ...sorted.flatMap(renderFormatOptions),
    '#### Fields of `json`',
    'A time is text by RFC 3339 in UTC, such as `2026-11-21T05:16:00.042Z`. New fields may be added; none is left out.',
    fieldTable(jsonFields),
    'The fields of `body` depend on `kind`. Each is null where the record has nothing of the kind, a list then empty. Times in it are Unix milliseconds.',
    ...jsonBodies.flatMap(({ kinds, fields }) => [`Of ${kinds.map(code).join(' and ')}:`, fieldTable(fields)]),
    '## Tenants',
    tenantText,
    optionTable(tenantOptions),
    `### Streams of a tenant`,
    `Options of \`streams.<name>\`. Without \`streams\`, ${usualStreams.join(', ')} are read; where it is given, those that it names.`,
    streamTable(),
    '## Errors',
    'The codes in logs, status and the metric `tailrace_errors_total`, and what to do.',
    table(
      ['code', 'remedy', 'what it means, and what to do'],
      Object.entries(errorTable).map(([name, { remedy, doc }]) => [code(name), remedy, doc]),
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

const filterText = `### Filters

\`filter\` of a destination says which events it wants, by rules over their fields:

\`\`\`yaml
filter:
  include: # any of these; left out: everything
    - { kind: attack, type: [sqli, rce], severity: '>=high' }
    - { kind: [incident, vulnerability] }
  exclude: # none of these
    - { client: 4711, body.domain: '*.test.example.org' }
\`\`\`

- A rule fits when all of its conditions do; a list of values when any of them does.
- A field is named as the format \`json\` shows it (\`severity\`, \`body.sources.ip\`, \`record.block_status\`). Lists are gone through: one element that fits is enough. A name that begins with no field of the event is looked for in \`body\`, then in \`record\`: \`type\`, \`block_status\`.
- A value is text, where \`*\` stands for any characters, a number, \`true\` or \`false\`. Capitals count. \`'>=7'\`, \`'>7'\`, \`'<=7'\` and \`'<7'\` compare numbers. \`null\`: the field is missing or null.
- \`severity\` can be a level as well: \`high\` is that level, \`'>=high'\` at least that.
- Gaps and heartbeats say what is complete: they pass \`include\` always, and are kept out by \`exclude\` only.
- \`sequence\` counts all events of a stream, so that a destination with a filter sees holes in it that are no losses.
- A change of the filter holds for what is read from then on.`

const redactionText = `### Redaction

\`redact\` of a destination takes out of its events what it must not see. It acts after the filter and before the format:

\`\`\`yaml
redact:
  - { field: body.sources.ip, do: hash }
  - { field: record.exploit_example, do: drop }
redactKey: \${file:/run/secrets/redact}
\`\`\`

- \`drop\` leaves nothing: null in \`body\`, no key in \`record\`. \`mask\` leaves \`***\`. \`hash\` leaves 32 hexadecimal digits of an HMAC-SHA256 under \`redactKey\`: the same value has the same hash wherever the key is the same.
- Fields are named as in filters. A name that may be meant in \`body\` or \`record\` is redacted in both. A field is redacted with all that is in it; \`{ field: record, do: drop }\` sends no record at all.
- Text that is redacted is redacted wherever else \`body\` and \`record\` have it: as a whole text, and from 4 characters on as a part of one. It is looked for as it is written: another spelling of it (percent-encoded, in other capitals) is not found. Names of keys are looked at where they are more than a word.
- Numbers, true and false are redacted only where they are named: in \`body\` they are null then, in \`record\` text.
- \`identity\`, \`tenant\` and \`client\` can be redacted; where \`drop\` cannot leave them out, it masks. The other fields beside \`body\` and \`record\` cannot: without them events are no evidence. Bodies of gaps and heartbeats are left as they are.
- What is nested more than 64 levels deep is dropped, and numbers of more than 15 digits in \`record\` may lose the last ones.`

function renderSink(sink: SinkType): string[] {
  // The declarations of sinks are of the same form; convict's type of them is only wider.
  const section = sink.options as Section
  const names = sink.formats?.(usualOptions(sink))
  const carried =
    names === undefined
      ? 'any, usually `json`'
      : `${names.map(code).join(', ')}${names.length > 1 ? '; the first is usual' : ''}`
  return [
    `### Sink ${code(sink.name)}`,
    sink.summary,
    `A confirmation proves: ${sink.confirms}`,
    ...(sink.unconfirmed === undefined ? [] : [`${unconfirmedText(sink)} Status and metrics say so.`]),
    `Formats with the options as they are by default: ${carried}.`,
    optionsOf(section).length === 0 ? 'It has no options of its own.' : optionTable(section),
  ]
}

function unconfirmedText(sink: SinkType): string {
  const isUsual = sink.unconfirmed?.(usualOptions(sink)) === true
  return isUsual
    ? 'With the options as they are by default, nothing is confirmed: what was sent counts as delivered.'
    : 'With some options nothing is confirmed: what was sent counts as delivered then.'
}

function usualOptions(sink: SinkType): object {
  return convict<object>(sink.options, { args: [], env: {} }).getProperties()
}

function renderFormatOptions({ name, options }: (typeof formats)[number]): string[] {
  const section = options as Section
  if (optionsOf(section).length === 0) return []
  return [
    `#### Options of \`${name}\``,
    `In the section \`${name}\` of a destination with \`format: ${name}\`.`,
    optionTable(section),
  ]
}

function optionTable(section: Section, variables = false): string {
  const head = ['option', 'type', 'default', ...(variables ? ['variable'] : []), 'what it does']
  return table(
    head,
    optionsOf(section).map(({ path, option }) => [
      code(path.join('.')),
      typeOf(option),
      usual(option),
      ...(variables ? [code(variableOf(path))] : []),
      option.doc + (option.sensitive === true ? ' *Secret.*' : ''),
    ]),
  )
}

function streamTable(): string {
  const names = Object.keys(streamOptions.attacks)
  return table(
    ['option', 'type', ...streamNames, 'what it does'],
    names.flatMap((name) => {
      const each = streamNames.map((stream) => optionOf(streamOptions[stream], name))
      const [first] = each
      if (first === undefined) return []
      return [[code(name), typeOf(first), ...each.map((option) => (option ? usual(option) : '')), first.doc]]
    }),
  )
}

function optionOf(section: object, name: string): Option | undefined {
  return new Map<string, Option>(Object.entries(section)).get(name)
}

function typeOf({ format, default: value }: Option): string {
  if (Array.isArray(format)) return format.map((one) => code(one === '' ? "''" : String(one))).join(', ')
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
  if (typeof value === 'object') return Object.keys(value).length === 0 ? '' : code(JSON.stringify(value))
  if (typeof value === 'number' && format === 'duration') return code(showDuration(value))
  if (typeof value === 'number' && format === 'size') return code(showSize(value))
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? code(String(value)) : ''
}

function formatRow({ name, summary, contentType }: (typeof formats)[number]): string[] {
  return [code(name), summary, code(contentType)]
}

function fieldTable(fields: Readonly<Record<string, readonly [type: string, doc: string]>>): string {
  return table(
    ['field', 'type', 'what it has'],
    Object.entries(fields).map(([name, [type, doc]]) => [code(name), type, doc]),
  )
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1
}
