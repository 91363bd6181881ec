// The requests of the service's interface: path and body of each operation, before anything is sent.

import { TailraceError } from '../errors.ts'
import type { ListOperation, ListQuery, NewBinding, NewClient, NewRule, RuleSelection } from './operations.ts'

export interface ServiceRequest {
  /** For messages and metrics. */
  readonly operation: string
  /** Below the base URL. Always a POST. */
  readonly path: string
  readonly body: unknown
  /** Whether asking twice does no harm. */
  readonly idempotent: boolean
}

/** Each throws `service_rejected` for what must not be sent. */
export const requests = {
  list(operation: ListOperation, query: ListQuery): ServiceRequest {
    return { operation, path: `/v1/objects/${operation}`, body: query, idempotent: true }
  },
  readUser(): ServiceRequest {
    return { operation: 'user', path: '/v1/user', body: {}, idempotent: true }
  },
  renewSecret(): ServiceRequest {
    return { operation: 'renew_secret', path: '/v1/user/renew_secret', body: {}, idempotent: false }
  },
  createClient(client: NewClient): ServiceRequest {
    const operation = 'client_create'
    if (!/^[A-Za-z0-9]{4}$/.test(client.vuln_prefix)) throw unsent(operation, 'vuln_prefix must be 4 letters or digits')
    return { operation, path: '/v1/objects/client/create', body: client, idempotent: false }
  },
  bindClient(partnerId: number, binding: NewBinding): ServiceRequest {
    const operation = 'partner_client'
    if (!Number.isSafeInteger(partnerId)) throw unsent(operation, 'the partner id must be an integer')
    return { operation, path: `/v2/partner/${partnerId}/partner_client`, body: binding, idempotent: false }
  },
  createRule(rule: NewRule): ServiceRequest {
    const operation = 'hint_create'
    // Without a condition a rule would block every request of the client.
    if (rule.action.length === 0) throw unsent(operation, 'a rule needs at least one condition')
    return { operation, path: '/v1/objects/hint/create', body: rule, idempotent: false }
  },
  deleteRules(selection: RuleSelection): ServiceRequest {
    const operation = 'hint_delete'
    if (!Number.isSafeInteger(selection.id) || selection.clientid.length === 0) {
      throw unsent(operation, 'deleting needs a client id and a rule id')
    }
    return { operation, path: '/v1/objects/hint/delete', body: { filter: selection }, idempotent: false }
  },
} as const

function unsent(operation: string, why: string): TailraceError {
  return new TailraceError('service_rejected', `${operation}: not sent: ${why}`)
}
