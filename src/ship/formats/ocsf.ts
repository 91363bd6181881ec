// Open Cybersecurity Schema Framework 1.8.0: attacks and incidents as Detection Findings, and so on.

import { flag, oneOf, size } from '../../option.ts'
import { eventWriter, mapTables, mappingTable } from '../fields/event-tables.ts'
import { defineFormat } from '../format.ts'
import type { Row } from '../fields/json-writer.ts'
import { ocsfTables } from '../fields/ocsf-fields.ts'

const notes = [
  'Classes: attacks and incidents are Detection Findings (2004) with the profile `security_control`, incidents with ' +
    '`incident` as well; vulnerabilities are Vulnerability Findings (2002); rules and conditions are Entity ' +
    'Management (3004). So are gaps and heartbeats: a feed is read (activity 2), with failure or success.',
  '`metadata.uid` is the id of this event: another for each version of a record, the same when it is sent again. ' +
    'What stays the same while an attack grows is `finding_info.uid`, and `metadata.original_event_uid`.',
  'Text of more than 32 766 bytes, lists of more than 100 elements and originals above `originalLimit` are cut: ' +
    '`metadata.is_truncated` is `true`, and `metadata.debug` names the attributes. Times, numbers and addresses that a ' +
    'typed attribute cannot take are left out of it.',
]

export const ocsf = defineFormat({
  name: 'ocsf',
  summary: 'OCSF 1.8.0: findings and entity management.',
  contentType: 'application/x-ndjson',
  options: {
    version: oneOf(['1.8.0'], '1.8.0', 'Version of the schema; receivers want to know it.'),
    original: { ...flag('Whether the record as it came is sent along as text, in `raw_data`.'), default: true },
    originalLimit: size('256kb', 'Longest `raw_data`; what is longer is cut.', '1kb', '8mb'),
  },
  mapping: [mappingTable('OCSF', notes, ocsfTables())],
  compile({ original, originalLimit }) {
    const tables = ocsfTables(originalLimit)
    return eventWriter(original ? tables : mapTables(tables, withoutOriginal))
  },
})

function withoutOriginal<Subject>(rows: readonly Row<Subject>[]): readonly Row<Subject>[] {
  return rows.filter(({ path }) => path !== 'raw_data')
}
