// Creating and deleting rules ("hints").

import {
  checkFields,
  flag,
  hasProblems,
  isObject,
  list,
  notPermitted,
  refuse,
  succeed,
  text,
  whole,
  type Answer,
  type FieldMap,
} from '../envelope.ts'
import { createRule, deleteRule } from '../rule-book.ts'
import type { Operation } from './operation.ts'
import { ruleSchema, scopeSchema } from './record-schemas.ts'

const ruleFields = { clientid: whole, type: text, action: list, validated: flag, point: list, attack_type: text }

export const createHint: Operation = {
  path: '/v1/objects/hint/create',
  name: 'createRule',
  summary: 'Create rule',
  description: 'A virtual patch, for a path or for one application, or a regex rule. Its condition is made with it.',
  tag: 'rules',
  request: {
    type: 'object',
    required: Object.keys(ruleFields),
    properties: {
      clientid: { type: 'integer' },
      type: { type: 'string', enum: ['vpatch', 'regex'] },
      action: { type: 'array', items: scopeSchema },
      validated: { type: 'boolean' },
      point: { type: 'array', items: { type: 'array', items: {} } },
      attack_type: { type: 'string' },
      regex: { type: 'string', description: 'With type `regex`.' },
      comment: { type: 'string' },
    },
    example: {
      clientid: 4711,
      type: 'vpatch',
      action: [
        { type: 'equal', value: 'api', point: ['path', 0] },
        { type: 'equal', value: 'v1', point: ['path', 1] },
        { type: 'equal', value: 'example.com', point: ['header', 'HOST'] },
      ],
      validated: false,
      point: [['header', 'HOST']],
      attack_type: 'any',
    },
  },
  response: ruleSchema,
  refusals: [423],
  run({ credentials, body }, { directory, world, isRestoring }) {
    const problems = checkRule(body)
    if (hasProblems(problems)) return refuse(400, problems)
    const client = Number(body['clientid'])
    if (!directory.mayUse(credentials, [client])) return notPermitted()
    if (isRestoring()) return locked()
    const { regex, comment } = body
    return succeed(
      createRule(world, {
        client,
        type: String(body['type']),
        action: Array.isArray(body['action']) ? body['action'] : [],
        point: Array.isArray(body['point']) ? body['point'] : [],
        attackType: String(body['attack_type']),
        validated: body['validated'] === true,
        regex: typeof regex === 'string' ? regex : null,
        comment: typeof comment === 'string' ? comment : null,
      }),
    )
  },
}

export const deleteHint: Operation = {
  path: '/v1/objects/hint/delete',
  name: 'deleteRule',
  summary: 'Delete rule',
  description: 'Answers 200 also when nothing matched; the array says what was deleted.',
  tag: 'rules',
  request: {
    type: 'object',
    required: ['filter'],
    properties: {
      filter: {
        type: 'object',
        required: ['clientid', 'id'],
        properties: { clientid: { type: 'array', items: { type: 'integer' } }, id: { type: 'integer' } },
      },
    },
    example: { filter: { clientid: [4711], id: 1001 } },
  },
  response: { type: 'array', items: ruleSchema },
  refusals: [423],
  run({ credentials, body }, { directory, world, isRestoring }) {
    const filter = isObject(body['filter']) ? body['filter'] : undefined
    if (filter === undefined) return refuse(400, { filter: { error: 'required', value: body['filter'] ?? null } })
    const problems = checkFields(filter, { clientid: list, id: whole })
    const clients = readIntegers(filter['clientid'])
    if (!problems['clientid'] && clients === undefined) {
      problems['clientid'] = { error: 'array of integers expected', value: filter['clientid'] }
    }
    for (const key of Object.keys(filter)) {
      if (key !== 'clientid' && key !== 'id') problems[key] = { error: 'unknown filter', value: filter[key] }
    }
    if (hasProblems(problems) || clients === undefined) return refuse(400, problems)
    if (!directory.mayUse(credentials, clients)) return notPermitted()
    if (isRestoring()) return locked()
    const deleted = clients.map((client) => deleteRule(world, client, String(filter['id'])))
    return succeed(deleted.filter((rule) => rule !== undefined))
  },
}

function locked(): Answer {
  return refuse(423, 'Rules are locked while a snapshot is restored')
}

function checkRule(body: Readonly<Record<string, unknown>>): FieldMap {
  const problems = checkFields(body, ruleFields)
  const { type, action, point, regex, comment } = body
  if (!problems['type'] && type !== 'vpatch' && type !== 'regex') {
    problems['type'] = { error: 'unknown type', value: type }
  }
  if (Array.isArray(action) && !action.every(isScope)) {
    problems['action'] = { error: 'invalid condition', value: action }
  }
  if (Array.isArray(point) && !(point.length > 0 && point.every((part) => Array.isArray(part) && part.length > 0))) {
    problems['point'] = { error: 'array of arrays expected', value: point }
  }
  if (type === 'regex' && typeof regex !== 'string') problems['regex'] = { error: 'required', value: regex ?? null }
  else if (regex !== undefined && type !== 'regex') problems['regex'] = { error: 'only with type regex', value: regex }
  if (comment !== undefined && typeof comment !== 'string') {
    problems['comment'] = { error: 'string expected', value: comment }
  }
  return problems
}

function isScope(value: unknown): boolean {
  if (!isObject(value) || !Array.isArray(value['point']) || value['point'].length === 0) return false
  if (value['type'] === 'absent') return true
  return ['equal', 'iequal', 'regex'].some((type) => type === value['type']) && typeof value['value'] === 'string'
}

function readIntegers(value: unknown): number[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const integers = value.filter((item): item is number => Number.isSafeInteger(item))
  return integers.length === value.length ? integers : undefined
}
