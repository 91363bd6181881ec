// A table of fields for each kind of event: written by it, and published from it.

import type {
  AttackBody,
  ConditionBody,
  GapBody,
  HeartbeatBody,
  Kind,
  RuleBody,
  VulnerabilityBody,
} from '../../event.ts'
import { attackView } from './attack-view.ts'
import type { AttackView, View } from './attack-view.ts'
import type { Encode, MappingTable } from '../format.ts'
import { documented, lineWriter } from './json-writer.ts'
import type { Row } from './json-writer.ts'

/** The fields of each kind, in the order in which they are written. */
export interface EventTables {
  readonly attack: readonly Row<AttackView>[]
  readonly incident: readonly Row<AttackView>[]
  readonly vulnerability: readonly Row<View<VulnerabilityBody>>[]
  readonly rule: readonly Row<View<RuleBody>>[]
  readonly condition: readonly Row<View<ConditionBody>>[]
  readonly gap: readonly Row<View<GapBody>>[]
  readonly heartbeat: readonly Row<View<HeartbeatBody>>[]
}

/** Writes an event by the table of its kind, which says what its body is. */
export function eventWriter(tables: EventTables): Encode {
  const attack = lineWriter(tables.attack)
  const incident = lineWriter(tables.incident)
  const vulnerability = lineWriter(tables.vulnerability)
  const rule = lineWriter(tables.rule)
  const condition = lineWriter(tables.condition)
  const gap = lineWriter(tables.gap)
  const heartbeat = lineWriter(tables.heartbeat)
  return (event) => {
    const { kind, body } = event
    switch (kind) {
      case 'attack':
        return attack(attackView(event, body as AttackBody))
      case 'incident':
        return incident(attackView(event, body as AttackBody))
      case 'vulnerability':
        return vulnerability({ event, body: body as VulnerabilityBody })
      case 'rule':
        return rule({ event, body: body as RuleBody })
      case 'condition':
        return condition({ event, body: body as ConditionBody })
      case 'gap':
        return gap({ event, body: body as GapBody })
      case 'heartbeat':
        return heartbeat({ event, body: body as HeartbeatBody })
    }
  }
}

/** The same change to the fields of every kind. */
export function mapTables(
  tables: EventTables,
  change: <Subject>(rows: readonly Row<Subject>[]) => readonly Row<Subject>[],
): EventTables {
  return {
    attack: change(tables.attack),
    incident: change(tables.incident),
    vulnerability: change(tables.vulnerability),
    rule: change(tables.rule),
    condition: change(tables.condition),
    gap: change(tables.gap),
    heartbeat: change(tables.heartbeat),
  }
}

/** Columns: the field, where its value comes from, and the kinds of events that it is for. */
export function mappingTable(title: string, notes: readonly string[], tables: EventTables): MappingTable {
  const kinds: readonly Kind[] = ['attack', 'incident', 'vulnerability', 'rule', 'condition', 'gap', 'heartbeat']
  const lines = kinds.flatMap((kind) => documented(tables[kind]).map(({ path, from }) => ({ kind, path, from })))
  const byPath = [...Map.groupBy(lines, ({ path }) => path).values()].flat()
  const alike = Map.groupBy(byPath, ({ path, from }) => `${path}\n${from}`)
  const rows = [...alike.values()].map((same) => {
    const [{ path, from } = { path: '', from: '' }] = same
    const of = same.length === kinds.length ? 'all' : same.map(({ kind }) => kind).join(', ')
    return [`\`${path}\``, from, of]
  })
  return { title, notes, columns: ['field', 'from', 'of'], rows }
}
