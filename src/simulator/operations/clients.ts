// Creating a client and binding it to the partner.

import { partnerId } from '../directory.ts'
import {
  answerJson,
  checkFields,
  flag,
  hasProblems,
  notPermitted,
  object,
  refuse,
  succeed,
  text,
  whole,
} from '../envelope.ts'
import type { Operation } from './operation.ts'

const clientFields = {
  name: text,
  vuln_prefix: text,
  language: text,
  enabled: flag,
  notifications: object,
  mode: text,
  blocking_type: text,
  thirdparty_blacklists: flag,
  scanner_mode: text,
  partner_uuid: text,
  thirdparty_mode: text,
  scanner_state: object,
}

export const createClient: Operation = {
  path: '/v1/objects/client/create',
  name: 'createClient',
  summary: 'Create client',
  description: 'Needs partner status. Bind the client afterwards, with `id` and `partnerid` of the answer.',
  tag: 'clients',
  request: {
    type: 'object',
    required: Object.keys(clientFields),
    properties: {
      name: { type: 'string' },
      vuln_prefix: { type: 'string', pattern: '^[A-Za-z0-9]{4}$' },
      language: { type: 'string', enum: ['en', 'ru'] },
      enabled: { type: 'boolean' },
      notifications: { type: 'object', additionalProperties: true },
      mode: { type: 'string' },
      blocking_type: { type: 'string' },
      thirdparty_blacklists: { type: 'boolean' },
      scanner_mode: { type: 'string' },
      partner_uuid: { type: 'string', format: 'uuid' },
      thirdparty_mode: { type: 'string' },
      scanner_state: { type: 'object', additionalProperties: true },
    },
    example: {
      name: 'Acme',
      vuln_prefix: 'ACME',
      language: 'en',
      enabled: true,
      notifications: {},
      mode: 'monitoring',
      blocking_type: 'incidents',
      thirdparty_blacklists: false,
      scanner_mode: 'off',
      partner_uuid: '22222222-2222-4222-8222-222222222222',
      thirdparty_mode: 'async',
      scanner_state: {},
    },
  },
  response: {
    type: 'object',
    required: ['id', 'partnerid'],
    properties: { id: { type: 'integer' }, partnerid: { type: 'integer' }, name: { type: 'string' } },
    additionalProperties: true,
  },
  refusals: [409],
  run({ credentials, body }, { directory, world }) {
    const problems = checkFields(body, clientFields)
    const { name, vuln_prefix: prefix, language } = body
    if (!problems['vuln_prefix'] && !/^[A-Za-z0-9]{4}$/.test(String(prefix))) {
      problems['vuln_prefix'] = { error: 'four letters or digits expected', value: prefix }
    }
    if (!problems['language'] && language !== 'en' && language !== 'ru') {
      problems['language'] = { error: 'unknown language', value: language }
    }
    if (hasProblems(problems)) return refuse(400, problems)
    const partner = credentials.partnerUuid
    if (partner === undefined || partner !== body['partner_uuid']) return notPermitted()
    const id = directory.createClient(credentials, { name: String(name), prefix: String(prefix) })
    if (id === undefined) return refuse(409, 'Already exists')
    world.addClient(id)
    return succeed({ ...body, id, partnerid: partnerId, created_at: world.nowSeconds(), validated: true })
  },
}

export const bindClient: Operation = {
  path: '/v2/partner/:partnerid/partner_client',
  name: 'bindClient',
  summary: 'Bind client to partner',
  description: '`id` is any number that the caller chooses and keeps.',
  tag: 'clients',
  params: { type: 'object', required: ['partnerid'], properties: { partnerid: { type: 'integer' } } },
  request: {
    type: 'object',
    required: ['clientid', 'id', 'params'],
    properties: {
      clientid: { type: 'integer' },
      id: { type: 'integer' },
      params: { type: 'object', additionalProperties: true },
    },
  },
  response: {
    type: 'object',
    properties: {
      partnerid: { type: 'integer' },
      clientid: { type: 'integer' },
      id: { type: 'integer' },
      params: { type: 'object', additionalProperties: true },
    },
  },
  refusals: [409],
  run({ credentials, body, params }, { directory }) {
    const problems = checkFields(body, { clientid: whole, id: whole, params: object })
    if (hasProblems(problems)) return refuse(400, problems)
    const client = Number(body['clientid'])
    const mine = credentials.partnerUuid !== undefined && params['partnerid'] === String(partnerId)
    if (!mine || !directory.owns(credentials, client)) return notPermitted()
    if (!directory.bind(client, Number(body['id']))) return refuse(409, 'Already exists')
    const bound = { partnerid: partnerId, clientid: client, id: body['id'], params: body['params'] }
    // The one envelope without a status.
    return answerJson(200, { body: bound })
  },
}
