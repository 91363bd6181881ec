// Google SecOps' unified data model: one event an event, as `events:import` takes it in `udm`.

import { flag, size } from '../../option.ts'
import { eventWriter, mapTables, mappingTable } from '../fields/event-tables.ts'
import { defineFormat } from '../format.ts'
import type { Row } from '../fields/json-writer.ts'
import { udmTables } from '../fields/udm-fields.ts'

const notes = [
  'Types: attacks and incidents with a source address and a host are `NETWORK_HTTP`, vulnerabilities with a host ' +
    '`SCAN_VULN_NETWORK`; without, `GENERIC_EVENT`. Rules and conditions are `RESOURCE_CREATION`, ' +
    '`RESOURCE_WRITTEN` and `RESOURCE_DELETION`; gaps `STATUS_UNCATEGORIZED`, heartbeats `STATUS_HEARTBEAT`.',
  '`metadata.productLogId` is the id of this event: another for each version of a record, the same when it is sent ' +
    'again. What stays the same while an attack grows is `additional.identity`.',
  'Everything in `additional` is text, for detection rules can compare nothing else there.',
  'Text of more than 32 766 bytes, lists of more than 100 elements and originals above `originalLimit` are cut; ' +
    '`additional.cut` names the fields, with commas. Times, numbers and addresses that a typed field cannot take are ' +
    'left out of it.',
]

export const udm = defineFormat({
  name: 'udm',
  summary: "Google SecOps' unified data model.",
  contentType: 'application/x-ndjson',
  options: {
    original: flag('Whether the record as it came is sent along as text, in `additional.original`.'),
    originalLimit: size('64kb', 'Longest `additional.original`; what is longer is cut.', '1kb', '1mb'),
  },
  mapping: [mappingTable('UDM', notes, udmTables())],
  compile({ original, originalLimit }) {
    const tables = udmTables(originalLimit)
    return eventWriter(original ? tables : mapTables(tables, withoutOriginal))
  },
})

function withoutOriginal<Subject>(rows: readonly Row<Subject>[]): readonly Row<Subject>[] {
  return rows.filter(({ path }) => path !== 'additional.original')
}
