// The lists of the service as the command line knows them: what each is filtered, ordered and shown by.

import type { StreamName } from '../../event.ts'
import type { ListOperation } from '../../service/operations.ts'

export interface ListFlag {
  /** As commander wants it; the option's name is that of its long form. */
  readonly flag: string
  /** The key of the filter that it becomes. */
  readonly key: string
  readonly numbers: boolean
  readonly doc: string
}

export interface ListKind {
  readonly name: StreamName
  readonly operation: ListOperation
  readonly summary: string
  /** What the filter always has. */
  readonly filter: Readonly<Record<string, unknown>>
  /** What it has unless `--any` is given. */
  readonly usual: Readonly<Record<string, unknown>>
  readonly order: string | undefined
  /** Records of a request, as the interface shows them. */
  readonly limit: number
  /** Whether it can be restricted by time. */
  readonly timed: boolean
  /** How far back it looks where no time is given; undefined: to the beginning. */
  readonly recent?: string
  readonly flags: readonly ListFlag[]
}

const attackFlags: readonly ListFlag[] = [
  texts('--type <names>', 'type', 'of these types, such as sqli,xss'),
  texts('--domain <names>', 'domain', 'against these domains'),
  texts('--ip <addresses>', 'ip', 'from these source addresses'),
  texts('--status <names>', 'block_status', 'what was done about them: blocked, monitored, partially_blocked'),
  texts('--state <names>', 'state', 'how people judged them, such as falsepositive'),
]

const attackList = {
  operation: 'attack',
  usual: {},
  order: 'last_time:desc',
  limit: 50,
  timed: true,
  recent: '24h',
  flags: attackFlags,
} as const

export const listKinds: readonly ListKind[] = [
  { ...attackList, name: 'attacks', summary: 'attacks, the latest first', filter: {} },
  {
    ...attackList,
    name: 'incidents',
    summary: 'incidents: attacks without a vulnerability id, the latest first',
    filter: { '!vulnid': null },
  },
  {
    name: 'vulnerabilities',
    operation: 'vuln',
    summary: 'active vulnerabilities: validated, and not of a test run',
    filter: {},
    usual: { testrun_id: null, validated: true },
    order: undefined,
    limit: 50,
    timed: true,
    flags: [
      texts('--type <names>', 'type', 'of these types, such as sqli,xss'),
      texts('--status <names>', 'status', 'in these states: open, closed, falsepositive'),
      numbers('--id <ids>', 'id', 'these only'),
    ],
  },
  {
    name: 'rules',
    operation: 'hint',
    summary: 'rules ("hints"), the latest first',
    filter: {},
    usual: {},
    order: 'updated_at:desc',
    limit: 1000,
    timed: false,
    flags: [
      numbers('--condition <ids>', 'actionid', 'rules of these conditions'),
      texts('--type <names>', 'type', 'of these types, such as vpatch,regex'),
      numbers('--id <ids>', 'id', 'these only'),
    ],
  },
  {
    name: 'conditions',
    operation: 'action',
    summary: 'conditions ("actions") that scope rules',
    filter: {},
    usual: {},
    order: undefined,
    limit: 1000,
    timed: false,
    flags: [numbers('--id <ids>', 'id', 'these only')],
  },
]

function texts(flag: string, key: string, doc: string): ListFlag {
  return { flag, key, numbers: false, doc }
}

function numbers(flag: string, key: string, doc: string): ListFlag {
  return { flag, key, numbers: true, doc }
}
