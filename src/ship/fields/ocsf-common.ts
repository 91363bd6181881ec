// What events of all classes of OCSF 1.8.0 have in common, and the objects that several have.

import type { SecurityEvent } from '../../event.ts'
import type { View } from './attack-view.ts'
import { constant, cutFields, cutFlag, field, list } from './json-writer.ts'
import type { Row } from './json-writer.ts'
import { activityOf, severityOf } from './ocsf-enums.ts'
import type { Enumerated, EventClass } from './ocsf-enums.ts'
import { classIdOf, nameOf, product } from './taxonomy.ts'
import { epochMs, whole } from './typed-values.ts'

/** The largest `integer_t`. */
export const int32 = 2 ** 31 - 1

export function base({ uid, name, category, categoryName }: EventClass): readonly Row<View>[] {
  return [
    constant('class_uid', uid),
    constant('class_name', name),
    constant('category_uid', category),
    constant('category_name', categoryName),
    field('activity_id', '`action`', ({ event }) => activityOf(event).id),
    field('activity_name', '`action`', ({ event }) => activityOf(event).name),
    field('type_uid', '`class_uid` × 100 + `activity_id`', ({ event }) => uid * 100 + activityOf(event).id),
    field('type_name', 'class and activity', ({ event }) => `${name}: ${activityOf(event).name}`),
    ...enumerated<View>('severity', 'the level of `severity`', ({ event }) => severityOf(event)),
    field('time', '`time`, else `observedTime`; Unix ms', ({ event }) => timeOf(event)),
    field('message', 'name of the class', ({ event }) => nameOf(event)),
  ]
}

/** Required. Where both times are beyond belief, the earliest that no reader takes for seconds. */
function timeOf({ time, observedTime }: SecurityEvent): number {
  return epochMs(time) ?? epochMs(observedTime) ?? 1e11
}

/** An attribute with the number of its meaning, and its sibling with the words. */
export function enumerated<Subject>(
  name: string,
  from: string,
  value: (subject: Subject) => Enumerated | undefined,
): readonly Row<Subject>[] {
  return [
    field(`${name}_id`, from, (subject) => value(subject)?.id),
    field(name, from, (subject) => value(subject)?.name),
  ]
}

export const metadata: readonly Row<View>[] = [
  constant('metadata.version', '1.8.0'),
  constant('metadata.product.name', product.product),
  constant('metadata.product.vendor_name', product.vendor),
  constant('metadata.product.version', product.version, 'version of Tailrace'),
  field('metadata.uid', '`id`', ({ event }) => event.id),
  field('metadata.original_event_uid', '`identity`', ({ event }) => event.identity),
  field('metadata.tenant_uid', '`client`', ({ event }) => textOf(whole(event.client))),
  field('metadata.sequence', '`sequence`, up to 2 147 483 647', ({ event }) => whole(event.sequence, 0, int32)),
  field('metadata.logged_time', '`observedTime`', ({ event }) => epochMs(event.observedTime)),
  field('metadata.original_time', '`time`, if `time` cannot have it', ({ event }) =>
    epochMs(event.time) === undefined ? String(event.time) : undefined,
  ),
  field('metadata.event_code', 'class id', ({ event }) => classIdOf(event)),
  field('metadata.log_name', '`stream`', ({ event }) => event.stream),
  list('metadata.tags', '`labels` that have text', labelsOf, tagFields()),
  cutFlag('metadata.is_truncated'),
  // "Debug information about non-fatal issues with this OCSF event", one a line.
  cutFields('metadata.debug', (paths) => paths.map((path) => `cut: ${path}`)),
]

type Label = readonly [name: string, text: string]

/** A tag must have a value. */
function labelsOf({ event }: View): readonly Label[] {
  return Object.entries(event.labels).filter(([, text]) => text !== '')
}

function tagFields(): readonly Row<Label>[] {
  return [field('name', 'name of the label', ([name]) => name), field('value', 'its text', ([, text]) => text)]
}

export function profiles(...names: readonly string[]): Row<unknown> {
  return field('metadata.profiles', names.join(', '), () => names)
}

/** A part of `unmapped`. */
export const unmapped: readonly Row<View>[] = [
  field('unmapped.kind', '`kind`', ({ event }) => event.kind),
  field('unmapped.action', '`action`', ({ event }) => event.action),
  field('unmapped.tenant', '`tenant`', ({ event }) => event.tenant),
  field('unmapped.stream', '`stream`', ({ event }) => event.stream),
  field('unmapped.sequence', '`sequence`', ({ event }) => whole(event.sequence)),
  field('unmapped.revision', '`revision`', ({ event }) => whole(event.revision)),
  field('unmapped.replayed', '`replayed`', ({ event }) => event.replayed),
]

export function resourceFields(role: string, roleId: number): readonly Row<string>[] {
  return [
    field('name', '`domain`', (domain) => domain),
    field('hostname', '`domain`', (domain) => domain),
    constant('type', 'Web Application'),
    constant('role_id', roleId),
    constant('role', role),
  ]
}

export interface Observable {
  readonly name: string
  readonly type: Enumerated
  readonly value: string
}

const hostname: Enumerated = { id: 1, name: 'Hostname' }
export const ipAddress: Enumerated = { id: 2, name: 'IP Address' }
export const cweUid: Enumerated = { id: 17, name: 'CWE Object: uid' }

export function hostObservable(domain: string | null): readonly Observable[] {
  return some(domain).map((value) => ({ name: 'resources[0].hostname', type: hostname, value }))
}

export function observableFields(): readonly Row<Observable>[] {
  return [
    field('name', 'where it stands', ({ name }) => name),
    field('type_id', '1, 2 or 17', ({ type }) => type.id),
    field('type', 'Hostname, IP Address or CWE', ({ type }) => type.name),
    field('value', 'what stands there', ({ value }) => value),
  ]
}

export function some(text: string | null): readonly string[] {
  return text === null || text === '' ? [] : [text]
}

export function textOf(value: number | string | null | undefined): string | undefined {
  return value === null || value === undefined || Number.isNaN(value) ? undefined : String(value)
}
