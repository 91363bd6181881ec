// Every operation of the service.

import { bindClient, createClient } from './clients.ts'
import { createHint, deleteHint } from './hints.ts'
import { listAttacks, listConditions, listRules, listVulnerabilities } from './lists.ts'
import type { Operation } from './operation.ts'
import { readUser, renewSecret } from './users.ts'

export const operations: readonly Operation[] = [
  createClient,
  bindClient,
  readUser,
  renewSecret,
  listAttacks,
  listVulnerabilities,
  listRules,
  listConditions,
  createHint,
  deleteHint,
]
