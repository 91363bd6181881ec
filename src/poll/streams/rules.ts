import type { RuleBody, ServiceRecord } from '../../event.ts'
import type { Stream } from '../stream.ts'
import { booleanOf, listOf, millisecondsOf, numberOf, secondsOf, textOf } from '../fields.ts'

export const rules: Stream = {
  name: 'rules',
  kind: 'rule',
  summary: 'Rules (the service says "hints"): created, changed and deleted.',
  operation: 'hint',
  // The list is sorted by its last change but cannot be restricted by time: new rules are read from the
  // top, and what has been deleted shows only in the whole set.
  reading: 'both',
  ranges: false,
  gone: 'deleted',
  keys: [],
  query: (clients) => ({ filter: { clientid: clients }, order_by: 'updated_at', order_desc: true }),
  identity: (record) => textOf(record, 'id') ?? undefined,
  time: (record) => secondsOf(record, 'updated_at') ?? secondsOf(record, 'create_time'),
  threat: () => null,
  client: (record) => numberOf(record, 'clientid'),
  body: ruleBody,
}

function ruleBody(record: ServiceRecord): RuleBody {
  return {
    type: textOf(record, 'type'),
    attackType: textOf(record, 'attack_type'),
    condition: numberOf(record, 'actionid'),
    point: listOf(record, 'point'),
    action: listOf(record, 'action'),
    regex: textOf(record, 'regex'),
    comment: textOf(record, 'comment'),
    validated: booleanOf(record, 'validated'),
    enabled: booleanOf(record, 'enabled') ?? booleanOf(record, 'active'),
    updatedAt: millisecondsOf(record, 'updated_at'),
  }
}
