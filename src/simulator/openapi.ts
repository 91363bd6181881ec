// The interface description (OpenAPI 3), made from the operations, and the page that renders it.

import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifySchema } from 'fastify'
import type { Operation, Schema } from './operations/operation.ts'

/** Registers the description before, and the page beside, the routes. */
export async function describeService(app: FastifyInstance, headerPrefix: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.0.3',
      info: {
        title: 'Security service (simulated)',
        version: '1',
        description:
          'The management interface of a web-application security service: clients, events, rules. ' +
          'Every operation is a POST. What it answers is made up.',
      },
      // Relative: whoever opens the page sends its requests to where it came from.
      servers: [{ url: '/' }],
      tags: [
        { name: 'clients', description: 'Creating clients; needs partner status' },
        { name: 'credentials', description: 'The user and the secret' },
        { name: 'queries', description: 'Attacks, incidents, vulnerabilities, rules, conditions' },
        { name: 'rules', description: 'Creating and deleting rules' },
      ],
      components: {
        securitySchemes: {
          uuid: { type: 'apiKey', in: 'header', name: `${headerPrefix}-UUID` },
          secret: { type: 'apiKey', in: 'header', name: `${headerPrefix}-Secret` },
        },
      },
      security: [{ uuid: [], secret: [] }],
    },
  })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { docExpansion: 'list', deepLinking: true, persistAuthorization: true, tryItOutEnabled: true },
    // Not the plugin's own policy: it upgrades requests to TLS, which there is none of here, and forbids
    // the inline styles that the page sets itself.
    staticCSP: {
      'default-src': "'self'",
      'img-src': "'self' data:",
      'style-src': "'self' 'unsafe-inline'",
      'object-src': "'none'",
      'frame-ancestors': "'self'",
    },
  })
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger())
}

/** As fastify wants it. It describes only: bodies are checked by the operations, in the service's words. */
export function describeOperation(operation: Operation): FastifySchema {
  const { name, summary, description, tag, request, params, response, refusals } = operation
  const statuses = [400, 403, ...refusals, 429].sort((one, other) => one - other)
  return {
    operationId: name,
    summary,
    description,
    tags: [tag],
    consumes: ['application/json'],
    produces: ['application/json'],
    body: request ?? { type: 'object', properties: {}, example: {} },
    ...(params === undefined ? {} : { params }),
    response: {
      200: {
        description: 'Done',
        type: 'object',
        required: ['body'],
        properties: { status: { type: 'integer', example: 200 }, body: response },
      },
      ...Object.fromEntries(statuses.map((status) => [status, errorSchema(status)])),
    },
  }
}

const meanings: Readonly<Record<number, string>> = {
  400: 'Something is missing, wrong, or not JSON: a map of fields, or a sentence',
  403: 'Credentials or permission refused',
  409: 'Exists already',
  423: 'Rules are locked while a snapshot is restored',
  429: 'More than the permitted requests in a second from this address',
}

function errorSchema(status: number): Schema {
  return {
    description: meanings[status] ?? 'Refused',
    type: 'object',
    properties: {
      status: { type: 'integer', example: status },
      body: {
        oneOf: [
          { type: 'string' },
          {
            type: 'object',
            additionalProperties: {
              type: 'object',
              properties: { error: { type: 'string' }, value: { nullable: true } },
            },
          },
          { type: 'object', properties: { error: { type: 'string' } } },
        ],
      },
    },
  }
}
