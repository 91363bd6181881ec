// What is sent to the service, in the service's own names: written strictly as its interface shows it.

import type { ServiceRecord } from '../event.ts'

/** The lists: attacks and incidents, vulnerabilities, rules, conditions. */
export type ListOperation = 'attack' | 'vuln' | 'hint' | 'action'

/** A moment, or a range of moments, in Unix seconds. `null`: open-ended. */
export type TimeRange = number | readonly [number] | readonly [number, number | null]

export interface ListFilter {
  readonly clientid: readonly number[]
  readonly time?: readonly TimeRange[]
  /** `null`: attacks without a vulnerability, which is what the service calls incidents. */
  readonly '!vulnid'?: null
  /** `null`: vulnerabilities that no test run found. */
  readonly testrun_id?: null
  readonly validated?: boolean
  readonly actionid?: number
  readonly id?: number
}

export interface ListQuery {
  readonly filter: ListFilter
  readonly offset: number
  readonly limit: number
  readonly order_by?: string
  readonly order_desc?: boolean
}

/** A client to be created. Every field is sent; the interface shows one value each for the modes. */
export interface NewClient {
  readonly name: string
  /** Exactly four letters or digits; see `vulnPrefixOf`. */
  readonly vuln_prefix: string
  readonly language: 'en' | 'ru'
  readonly enabled: boolean
  readonly notifications: ServiceRecord
  readonly mode: string
  readonly blocking_type: string
  readonly thirdparty_blacklists: boolean
  readonly scanner_mode: string
  readonly partner_uuid: string
  readonly thirdparty_mode: string
  readonly scanner_state: ServiceRecord
}

/** The values that the interface shows for what a caller rarely cares about. */
export const newClientDefaults = {
  language: 'en',
  enabled: true,
  notifications: {},
  mode: 'monitoring',
  blocking_type: 'incidents',
  thirdparty_blacklists: false,
  scanner_mode: 'off',
  thirdparty_mode: 'async',
  scanner_state: {},
} as const satisfies Partial<NewClient>

/** Binds a created client to its partner. `id` is any number of the caller's choice, to be kept. */
export interface NewBinding {
  readonly clientid: number
  readonly id: number
  readonly params: ServiceRecord
}

export type PathPoint = readonly ['path', number]
export type HeaderPoint = readonly ['header', string]

/** The request part equals the value. */
export interface RuleCondition<Point = PathPoint | HeaderPoint> {
  readonly type: 'equal'
  readonly point: Point
  readonly value: string
}

export type WeightedCondition<Point = PathPoint | HeaderPoint> = RuleCondition<Point> & { readonly weight: number }

interface RuleShape {
  readonly clientid: number
  readonly validated: boolean
  /** The request parts that the rule looks at. */
  readonly point: readonly HeaderPoint[]
  readonly attack_type: 'any' | 'scanner'
}

/** Blocks the requests that meet every condition: a path prefix, one segment each, and headers. */
export interface VpatchRule extends RuleShape {
  readonly type: 'vpatch'
  readonly action: readonly RuleCondition[]
}

/** The same within one application, whose id is the value of the first condition. */
export interface ApplicationVpatchRule extends RuleShape {
  readonly type: 'vpatch'
  readonly action: readonly [WeightedCondition<readonly ['instance']>, ...WeightedCondition[]]
}

/** Blocks by a regular expression on a header. */
export interface RegexRule extends RuleShape {
  readonly type: 'regex'
  readonly action: readonly [RuleCondition<HeaderPoint>]
  readonly regex: string
  readonly comment: string
}

export type NewRule = VpatchRule | ApplicationVpatchRule | RegexRule

/** Which rule to delete. Without an id the filter would cover every rule of the clients: always given. */
export interface RuleSelection {
  readonly clientid: readonly number[]
  readonly id: number
}

export interface CreatedClient {
  readonly id: number
  readonly partnerId: number
  readonly record: ServiceRecord
}

export interface ServiceUser {
  readonly uuid: string | null
  /** `client_id` in newer answers, `clientid` in older ones. */
  readonly clientId: number | null
  readonly record: ServiceRecord
}

/**
 * The four characters that tie vulnerabilities to a client: from its name, padded with zeros. Where they are taken
 * (compared in upper case), the last of them count up.
 */
export function vulnPrefixOf(name: string, taken: ReadonlySet<string> = new Set()): string {
  const usual = name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .slice(0, 4)
    .toUpperCase()
    .padEnd(4, '0')
  let prefix = usual
  for (let n = 1; taken.has(prefix) && n <= 9999; n++) prefix = usual.slice(0, 4 - String(n).length) + String(n)
  return prefix
}
