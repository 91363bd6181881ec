// What the structured formats want to know of an attack or incident: worked out once for each event.

import type { AttackBody, AttackSource, SecurityEvent } from '../../event.ts'
import { attackTypeOf, outcomeOf } from './taxonomy.ts'
import type { AttackType, Outcome } from './taxonomy.ts'
import { isAddress, statusCode } from './typed-values.ts'

/** An event, and its body by its kind. */
export interface View<Body = unknown> {
  readonly event: SecurityEvent
  readonly body: Body
}

export interface AttackView extends View<AttackBody> {
  readonly type: AttackType
  readonly technique: readonly TechniqueParts[]
  readonly outcome: Outcome
  /** Those whose address is one, the most frequent first. */
  readonly sources: readonly AttackSource[]
  /** What stood in the place of an address and is none. */
  readonly otherAddresses: readonly string[]
  /** The only HTTP status that the application answered with; undefined: several, or none. */
  readonly status: number | undefined
}

export function attackView(event: SecurityEvent, body: AttackBody): AttackView {
  const [status, ...others] = new Set(body.statusCodes)
  const type = attackTypeOf(body.type)
  return {
    event,
    body,
    type,
    technique: techniqueParts(type),
    outcome: outcomeOf(body.blockStatus),
    sources: body.sources.filter(({ ip }) => isAddress(ip)),
    otherAddresses: body.sources.map(({ ip }) => ip).filter((ip) => !isAddress(ip)),
    status: status === undefined || others.length > 0 ? undefined : statusCode(status),
  }
}

/** ISO 3166-1 alpha-2; undefined for anything else. */
export function countryCode(country: string | null): string | undefined {
  return country !== null && /^[A-Za-z]{2}$/.test(country) ? country.toUpperCase() : undefined
}

/** ATT&CK numbers a technique's own techniques after it: `T1110.004` is one of `T1110`. Empty: there is none. */
export interface TechniqueParts {
  readonly tacticId: string
  readonly tacticName: string
  readonly id: string
  readonly name: string
  readonly subId: string
  readonly subName: string
}

const none: readonly TechniqueParts[] = []

/** One, or none: lists are what receivers take. */
function techniqueParts({ technique }: AttackType): readonly TechniqueParts[] {
  if (!technique) return none
  const { id, name, tactic } = technique
  const dot = id.indexOf('.')
  const own =
    dot === -1 ? { id, name, subId: '', subName: '' } : { id: id.slice(0, dot), name: '', subId: id, subName: name }
  return [{ tacticId: tactic.id, tacticName: tactic.name, ...own }]
}
