// Who am I, and a new secret for me.

import { succeed } from '../envelope.ts'
import type { Operation } from './operation.ts'

export const readUser: Operation = {
  path: '/v1/user',
  name: 'readUser',
  summary: 'Read user',
  description: 'The user whose credentials were sent.',
  tag: 'credentials',
  response: {
    type: 'object',
    required: ['uuid'],
    properties: { uuid: { type: 'string', format: 'uuid' }, client_id: { type: 'integer' } },
    additionalProperties: true,
  },
  refusals: [],
  run({ credentials }, { world }) {
    return succeed({
      id: 1,
      uuid: credentials.uuid,
      client_id: credentials.clients?.[0] ?? world.clients[0] ?? null,
      username: 'api@example.com',
      realname: 'API user',
      email: 'api@example.com',
      enabled: true,
      validated: true,
      language: 'en',
      partner: credentials.partnerUuid !== undefined,
    })
  },
}

export const renewSecret: Operation = {
  path: '/v1/user/renew_secret',
  name: 'renewSecret',
  summary: 'Renew secret',
  description: 'The old secret is refused from now on.',
  tag: 'credentials',
  response: { type: 'object', required: ['secret'], properties: { secret: { type: 'string' } } },
  refusals: [],
  run: ({ credentials }, { directory }) => succeed({ secret: directory.renew(credentials) }),
}
