// Elastic Common Schema 9.4.0 (elastic/ecs, generated/ecs/ecs_flat.yml): one document an event.

import { flag, size } from '../../option.ts'
import { ecsTables } from '../fields/ecs-fields.ts'
import { eventWriter, mapTables, mappingTable } from '../fields/event-tables.ts'
import type { EventTables } from '../fields/event-tables.ts'
import { defineFormat } from '../format.ts'

interface EcsOptions {
  readonly root: string
  readonly namespace: string
  readonly original: boolean
  readonly originalLimit: number
}

const notes = [
  'Field names are those of ECS 9.4.0; what ECS has no field for is below `waf` (option `root`).',
  '`event.id` is the id of this event: another for each version of a record, the same when it is sent again. What ' +
    'stays the same while an attack grows is `waf.identity`. There is no `event.hash`: it would promise a digest of ' +
    '`event.original`.',
  '`event.kind` is `alert` for attacks and incidents, `state` for vulnerabilities and heartbeats, `event` for rules ' +
    'and conditions, and `pipeline_error` for gaps: data is missing.',
  'Text of more than 32 766 bytes, lists of more than 100 elements and originals above `originalLimit` are cut; ' +
    '`waf.cut` names the fields. Times, numbers and addresses that a typed field cannot take are left out of it.',
]

export const ecs = defineFormat<EcsOptions>({
  name: 'ecs',
  summary: 'Elastic Common Schema 9.4.0, for Elasticsearch and OpenSearch.',
  contentType: 'application/x-ndjson',
  options: {
    root: {
      doc: 'Name of the object that has the fields which ECS does not know.',
      format: checkRoot,
      default: 'waf',
    },
    namespace: {
      doc: '`data_stream.namespace`: what keeps environments apart.',
      format: checkNamespace,
      default: 'default',
    },
    original: { ...flag('Whether the record as it came is sent along as text, in `event.original`.'), default: true },
    originalLimit: size('256kb', 'Longest `event.original`; what is longer is cut.', '1kb', '8mb'),
  },
  mapping: [mappingTable('ECS', notes, ecsTables('default'))],
  compile: (options) => eventWriter(tablesFor(options)),
})

/** What stands at the top of ECS 9.4.0. */
const fieldSets = new Set(
  (
    'agent client cloud container data_stream destination device dll dns ecs email entity error event faas file ' +
    'gen_ai group host http labels log message network observer orchestrator organization package process registry ' +
    'related rule server service source span tags threat tls trace transaction url user user_agent volume vulnerability'
  ).split(' '),
)

function checkRoot(value: unknown): void {
  if (typeof value !== 'string' || !/^[a-z][a-z0-9_]{0,31}$/.test(value)) {
    throw new Error('must be 1 to 32 small letters, digits and underscores, a letter first')
  }
  if (fieldSets.has(value)) throw new Error('is a name of ECS itself')
}

/** Of a data stream's name: lower case, without what file names or `-` as the separator forbid. */
function checkNamespace(value: unknown): void {
  if (typeof value !== 'string' || !/^[a-z0-9_.]{1,100}$/.test(value)) {
    throw new Error('must be 1 to 100 small letters, digits, underscores and dots')
  }
}

function tablesFor({ root, namespace, original, originalLimit }: EcsOptions): EventTables {
  return mapTables(ecsTables(namespace, originalLimit), (rows) =>
    rows
      .filter(({ path }) => original || path !== 'event.original')
      .map((row) => (row.path.startsWith('waf.') ? { ...row, path: `${root}${row.path.slice('waf'.length)}` } : row)),
  )
}
