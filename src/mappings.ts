// Renders what each format makes of an event from the tables that the formats go by: `config/mappings.md`.

import { code, table } from './markdown.ts'
import type { Format, MappingTable } from './ship/format.ts'
import { formats as allFormats } from './ship/formats/all.ts'
import { taxonomyTables } from './ship/fields/taxonomy.ts'

/** Markdown. Depends on nothing but the formats: the same on every machine. */
export function renderMappings(formats: readonly Format[] = allFormats): string {
  const parts = [
    introduction,
    '## All formats',
    ...taxonomyTables.flatMap(renderTable),
    ...formats.toSorted((a, b) => (a.name < b.name ? -1 : 1)).flatMap(renderFormat),
  ]
  return `${parts.join('\n\n')}\n`
}

const introduction = `# Mappings

<!-- Rendered from the formats by \`npm run reference\`. Do not edit. -->

Where each field of a format comes from, for people who write searches. A name such as \`body.domain\` is the field of the
format \`json\`, whose fields are in the [reference](reference.md#fields-of-json). The options of each format are there
as well. A field that has no value is left out, unless its format says otherwise.`

function renderFormat({ name, summary, mapping }: Format): string[] {
  const none = name === 'json' ? 'Its fields are in the [reference](reference.md#fields-of-json).' : 'It has no fields.'
  return [`## Format ${code(name)}`, summary, ...(mapping.length === 0 ? [none] : mapping.flatMap(renderTable))]
}

function renderTable({ title, notes = [], columns, rows }: MappingTable): string[] {
  return [`### ${title}`, ...notes, ...(rows.length === 0 ? [] : [table(columns, rows)])]
}
