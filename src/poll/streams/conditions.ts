import type { ConditionBody, ServiceRecord } from '../../event.ts'
import type { Stream } from '../stream.ts'
import { listOf, millisecondsOf, numberOf, secondsOf, textOf } from '../fields.ts'

export const conditions: Stream = {
  name: 'conditions',
  kind: 'condition',
  summary: 'Conditions that scope rules (the service says "actions"): created, changed and deleted.',
  operation: 'action',
  reading: 'inventory',
  ranges: false,
  gone: 'deleted',
  keys: [],
  query: (clients) => ({ filter: { clientid: clients } }),
  identity: (record) => textOf(record, 'id') ?? undefined,
  time: (record) => secondsOf(record, 'updated_at'),
  threat: () => null,
  client: (record) => numberOf(record, 'clientid'),
  body: conditionBody,
}

function conditionBody(record: ServiceRecord): ConditionBody {
  return {
    name: textOf(record, 'name'),
    conditions: listOf(record, 'conditions'),
    rules: numberOf(record, 'hints'),
    updatedAt: millisecondsOf(record, 'updated_at'),
  }
}
