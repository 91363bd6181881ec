// The four lists.

import type { StreamName } from '../../event.ts'
import { isObject, notPermitted, refuse } from '../envelope.ts'
import { defaultLimit, orderKeys, readQuery } from '../query.ts'
import type { RecordKind } from '../entry.ts'
import type { Operation, Schema } from './operation.ts'
import { attackSchema, conditionSchema, ruleSchema, vulnerabilitySchema } from './record-schemas.ts'

const clientid: Schema = { type: 'array', items: { type: 'integer' }, minItems: 1, example: [4711] }
const time: Schema = {
  type: 'array',
  description: 'Unix seconds: `[from]`, `[[from]]`, `[[from, null]]` or `[[from, to]]`.',
  items: {},
  example: [[1774882806, null]],
}

export const listAttacks = list({
  path: '/v1/objects/attack',
  name: 'listAttacks',
  summary: 'List attacks and incidents',
  description: 'Incidents are what the additional filter `"!vulnid": null` selects.',
  kind: 'attacks',
  stream: (filter) => (filter['!vulnid'] === null ? 'incidents' : 'attacks'),
  filter: { clientid, time, '!vulnid': { nullable: true, description: 'null: incidents.' } },
  // What is filled in when one tries it out: no filter that would come without a meaning.
  example: {
    filter: { clientid: [4711], time: [[0, null]] },
    offset: 0,
    limit: 50,
    order_by: 'last_time',
    order_desc: true,
  },
  record: attackSchema,
})

export const listVulnerabilities = list({
  path: '/v1/objects/vuln',
  name: 'listVulnerabilities',
  summary: 'List vulnerabilities',
  description: 'Active ones: `validated` true and `testrun_id` null.',
  kind: 'vulnerabilities',
  stream: () => 'vulnerabilities',
  filter: { clientid, time, testrun_id: { nullable: true }, validated: { type: 'boolean' } },
  example: { filter: { clientid: [4711], validated: true, testrun_id: null }, offset: 0, limit: 50 },
  record: vulnerabilitySchema,
})

export const listRules = list({
  path: '/v1/objects/hint',
  name: 'listRules',
  summary: 'List rules',
  description: 'All, or with `actionid` those of one condition.',
  kind: 'rules',
  stream: () => 'rules',
  filter: { clientid, actionid: { type: 'integer' } },
  example: { filter: { clientid: [4711] }, offset: 0, limit: 1000, order_by: 'updated_at', order_desc: true },
  record: ruleSchema,
})

export const listConditions = list({
  path: '/v1/objects/action',
  name: 'listConditions',
  summary: 'List conditions',
  description: 'What rules are scoped by.',
  kind: 'conditions',
  stream: () => 'conditions',
  filter: { clientid },
  example: { filter: { clientid: [4711] }, offset: 0, limit: 1000 },
  record: conditionSchema,
})

interface ListDeclaration {
  readonly path: string
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly kind: RecordKind
  readonly filter: Readonly<Record<string, Schema>>
  readonly example: Schema
  readonly record: Schema
  stream(filter: Readonly<Record<string, unknown>>): StreamName
}

function list(declaration: ListDeclaration): Operation {
  const { path, name, summary, description, kind, record } = declaration
  return {
    path,
    name,
    summary,
    description,
    tag: 'queries',
    request: {
      type: 'object',
      required: ['filter'],
      properties: {
        filter: { type: 'object', required: ['clientid'], properties: declaration.filter },
        offset: { type: 'integer', minimum: 0, default: 0 },
        limit: { type: 'integer', minimum: 1, default: defaultLimit },
        order_by: { type: 'string', enum: orderKeys[kind] },
        order_desc: { type: 'boolean', default: false },
      },
      example: declaration.example,
    },
    response: { type: 'array', items: record },
    refusals: [],
    stream: (body) => declaration.stream(isObject(body['filter']) ? body['filter'] : {}),
    run({ credentials, body, raw }, { directory, lists, queryRules }) {
      const read = readQuery(kind, body, queryRules)
      if ('problems' in read) return refuse(400, read.problems)
      if (!directory.mayUse(credentials, read.query.clients)) return notPermitted()
      return { status: 200, bytes: lists.page(kind, read.query, raw) }
    },
  }
}
