// The records of the lists, for the interface page. What is not named here may turn up as well.

import type { Schema } from './operation.ts'

const string: Schema = { type: 'string' }
const integer: Schema = { type: 'integer' }
const boolean: Schema = { type: 'boolean' }
const nullableString: Schema = { type: 'string', nullable: true }
const nullableInteger: Schema = { type: 'integer', nullable: true }
const texts: Schema = { type: 'array', items: string }
const anything: Schema = { type: 'array', items: {} }

export const attackSchema = record('Attack', {
  id: { type: 'array', items: string, minItems: 2, maxItems: 2 },
  attackid: string,
  clientid: integer,
  domain: nullableString,
  poolid: nullableInteger,
  method: nullableString,
  parameter: string,
  path: string,
  point: { ...texts, nullable: true },
  type: string,
  first_time: integer,
  last_time: integer,
  hits: { type: 'number' },
  ip_count: { type: 'number' },
  ip_top: {
    type: 'array',
    items: { type: 'object', properties: { ip: string, count: { type: 'number' }, country: nullableString } },
  },
  country_top: {
    type: 'array',
    items: { type: 'object', properties: { country: string, count: { type: 'number' } } },
    nullable: true,
  },
  statuscodes: { type: 'array', items: integer },
  vulnid: nullableInteger,
  threat: { type: 'integer', minimum: 1, maximum: 100 },
  target: string,
  experimental: { nullable: true },
  recheck_status: nullableString,
  vectors_count: { type: 'number' },
  block_status: nullableString,
  state: nullableString,
  hits_count_by_filter: { type: 'number' },
  ip_count_by_filter: { type: 'number' },
})

export const vulnerabilitySchema = record('Vulnerability', {
  id: integer,
  wid: string,
  clientid: integer,
  status: { type: 'string', description: 'open, closed, falsepositive' },
  validated: boolean,
  hidden: boolean,
  type: string,
  target: string,
  threat: integer,
  method: string,
  domain: string,
  path: string,
  parameter: string,
  title: string,
  description: string,
  additional: nullableString,
  exploit_example: nullableString,
  template: nullableString,
  testrun_id: nullableInteger,
  validate_time: nullableInteger,
  invalidate_time: nullableInteger,
  last_check: nullableInteger,
  incidents: integer,
  detection_method: string,
})

/** A condition as it stands within a rule. */
export const scopeSchema: Schema = {
  type: 'object',
  required: ['type', 'point'],
  properties: {
    type: { type: 'string', enum: ['equal', 'iequal', 'regex', 'absent'] },
    value: string,
    point: { type: 'array', items: {}, minItems: 1, example: ['path', 0] },
    weight: integer,
  },
}

export const ruleSchema = record('Rule', {
  id: integer,
  actionid: integer,
  clientid: integer,
  type: string,
  action: { type: 'array', items: scopeSchema },
  point: anything,
  attack_type: string,
  regex: nullableString,
  regex_id: nullableInteger,
  comment: nullableString,
  validated: boolean,
  system: boolean,
  enabled: boolean,
  active: boolean,
  create_time: integer,
  create_userid: integer,
  updated_at: integer,
})

export const conditionSchema = record('Condition', {
  id: integer,
  clientid: integer,
  name: nullableString,
  conditions: { type: 'array', items: scopeSchema },
  hints: integer,
  updated_at: integer,
})

function record(title: string, properties: Readonly<Record<string, Schema>>): Schema {
  return { title, type: 'object', properties, additionalProperties: true }
}
