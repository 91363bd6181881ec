// The attributes of OCSF 1.8.0 (ocsf/ocsf-schema, tag 1.8.0), and where they come from.

import type { AttackSource, ConditionBody, GapBody, HeartbeatBody, RuleBody, VulnerabilityBody } from '../../event.ts'
import { countryCode } from './attack-view.ts'
import type { AttackView, TechniqueParts, View } from './attack-view.ts'
import type { EventTables } from './event-tables.ts'
import { constant, field, list } from './json-writer.ts'
import type { Row } from './json-writer.ts'
import {
  base,
  cweUid,
  enumerated,
  hostObservable,
  int32,
  ipAddress,
  metadata,
  observableFields,
  profiles,
  resourceFields,
  some,
  textOf,
  unmapped,
} from './ocsf-common.ts'
import type { Observable } from './ocsf-common.ts'
import {
  attackStatus,
  classes,
  controlOf,
  httpMethods,
  severityOf,
  verdictOf,
  vulnerabilityStatus,
} from './ocsf-enums.ts'
import { attackTypeOf, classToken, nameOf } from './taxonomy.ts'
import { epochMs, jsonText, period, whole, wholes } from './typed-values.ts'
import type { Period } from './typed-values.ts'

/** What OCSF has no attribute for is in `unmapped`. `metadata` is last: what was cut is named in it. */
export function ocsfTables(originalLimit?: number): EventTables {
  const original = field<View>('raw_data', '`record`', ({ event }) => event.recordJson, originalLimit)
  const own = [original, ...unmapped]
  const verdict = enumerated<AttackView>('verdict', '`state`', verdictOf)
  const control = profiles('security_control')
  const both = profiles('security_control', 'incident')
  return {
    attack: [...base(classes.attack), ...finding, ...attack, ...own, ...attackRest, control, ...metadata],
    incident: [...base(classes.incident), ...finding, ...attack, ...verdict, ...own, ...attackRest, both, ...metadata],
    vulnerability: [
      ...base(classes.vulnerability),
      ...finding,
      ...vulnerability,
      ...own,
      ...vulnerabilityRest,
      ...metadata,
    ],
    rule: [...base(classes.rule), ...rule, ...own, ...ruleRest, ...metadata],
    condition: [...base(classes.condition), ...condition, ...own, ...conditionRest, ...metadata],
    gap: [...base(classes.gap), ...gap, ...unmapped, ...metadata],
    heartbeat: [...base(classes.heartbeat), ...heartbeat, ...unmapped, ...heartbeatRest, ...metadata],
  }
}

/** Required: a record of which the service left its id empty goes by the event's. */
const finding: readonly Row<View>[] = [
  field('finding_info.uid', '`identity`, else `id`', ({ event }) => event.identity || event.id),
]

const attack: readonly Row<AttackView>[] = [
  field('is_alert', '`true` for `created`', ({ event }) => event.action === 'created'),
  ...enumerated<AttackView>('status', '`state` and `action`', attackStatus),
  field('status_detail', '`state`', ({ body }) => body.state),
  ...enumerated<AttackView>('action', '`blockStatus`', (view) => controlOf(view).action),
  ...enumerated<AttackView>('disposition', '`blockStatus`', (view) => controlOf(view).disposition),
  field('firewall_rule.uid', '`type` as in the class id', ({ body }) => classToken(body.type)),
  field('firewall_rule.name', 'name of the type', ({ type }) => type.title),
  field('firewall_rule.match_location', '`parameter`', ({ body }) => body.parameter),
  field('start_time', '`firstTime`', ({ body }) => spanOf(body).start),
  field('end_time', '`lastTime`', ({ body }) => spanOf(body).end),
  field('count', '`hits`', ({ body }) => whole(body.hits, 0, int32)),
  field('risk_score', '`threat`', ({ body }) => whole(body.threat, 0, 100)),
  field('finding_info.title', 'name of the class', ({ event }) => nameOf(event)),
  field('finding_info.types', '`type`', ({ body }) => some(body.type)),
  field('finding_info.first_seen_time', '`firstTime`', ({ body }) => spanOf(body).start),
  field('finding_info.last_seen_time', '`lastTime`', ({ body }) => spanOf(body).end),
  constant('finding_info.analytic.type', 'Rule'),
  constant('finding_info.analytic.type_id', 1),
  field('finding_info.analytic.uid', '`type` as in the class id', ({ body }) => classToken(body.type)),
  field('finding_info.analytic.name', 'name of the type', ({ type }) => type.title),
  list('finding_info.attacks', 'ATT&CK of the type', ({ technique }) => technique, techniqueFields()),
  list('evidences', 'one for each of `sources` with an address, at least one', evidencesOf, evidenceFields()),
  list('resources', '`domain`', ({ body }) => some(body.domain), resourceFields('Target', 1)),
  list('observables', '`domain`, and `sources` with an address', attackObservables, observableFields()),
]

function techniqueFields(): readonly Row<TechniqueParts>[] {
  return [
    field('tactic.uid', 'its tactic', ({ tacticId }) => tacticId),
    field('tactic.name', 'its tactic', ({ tacticName }) => tacticName),
    field('technique.uid', 'its technique', ({ id }) => id),
    field('technique.name', 'its technique', ({ name }) => name),
    field('sub_technique.uid', 'its technique', ({ subId }) => subId),
    field('sub_technique.name', 'its technique', ({ subName }) => subName),
  ]
}

function spanOf({ firstTime, lastTime }: AttackView['body']): Period {
  return period(epochMs(firstTime), epochMs(lastTime))
}

/** One address with what it did; what is known of all requests together is in the first. */
interface Evidence {
  readonly source: AttackSource | undefined
  readonly view: AttackView | undefined
}

function evidencesOf(view: AttackView): readonly Evidence[] {
  if (view.sources.length === 0) return [{ source: undefined, view }]
  return view.sources.map((source, at) => ({ source, view: at === 0 ? view : undefined }))
}

/** An evidence must have more than `http_request` and `http_response`: whatever they have is in `data`, too. */
function evidenceFields(): readonly Row<Evidence>[] {
  return [
    field('src_endpoint.ip', '`ip`', ({ source }) => source?.ip),
    field('src_endpoint.location.country', '`country`, if it is a code', ({ source }) =>
      countryCode(source?.country ?? null),
    ),
    field('dst_endpoint.hostname', '`domain`', ({ view }) => view?.body.domain),
    field('url.hostname', '`domain`, if there is a `path`', ({ view }) =>
      view?.body.path ? view.body.domain : undefined,
    ),
    field('url.path', '`path`', ({ view }) => view?.body.path),
    field('http_request.http_method', '`method`, if OCSF knows it', ({ view }) =>
      httpMethods.has(view?.body.method ?? '') ? view?.body.method : undefined,
    ),
    field('http_response.code', '`statusCodes`, if there is only one', ({ view }) => view?.status),
    field('data.hits', '`count` of the address', ({ source }) => whole(source?.count ?? null)),
    field('data.method', '`method`', ({ view }) => view?.body.method),
    field('data.parameter', '`parameter`', ({ view }) => view?.body.parameter),
    field('data.point', '`point`', ({ view }) => view?.body.point),
    field('data.status_codes', '`statusCodes`', ({ view }) => wholes(view?.body.statusCodes ?? [])),
    field('data.ip_count', '`sourceCount`', ({ view }) => whole(view?.body.sourceCount ?? null)),
  ]
}

function attackObservables({ body, sources }: AttackView): readonly Observable[] {
  const addresses = sources.map(({ ip }, at) => ({
    name: `evidences[${at}].src_endpoint.ip`,
    type: ipAddress,
    value: ip,
  }))
  // Lists have a limit; the domain is within it.
  return [...hostObservable(body.domain), ...addresses]
}

const attackRest: readonly Row<AttackView>[] = [
  field('unmapped.type', '`type`', ({ body }) => body.type),
  field('unmapped.threat', '`threat`', ({ body }) => whole(body.threat)),
  field('unmapped.hits', '`hits`', ({ body }) => whole(body.hits)),
  field('unmapped.block_status', '`blockStatus`', ({ body }) => body.blockStatus),
  field('unmapped.target', '`target`', ({ body }) => body.target),
  field('unmapped.application', '`application`', ({ body }) => whole(body.application)),
  field('unmapped.vulnerability', '`vulnerability`', ({ body }) => textOf(body.vulnerability)),
  field('unmapped.cwe', 'CWE of the type', ({ type }) => type.cwe),
  field('unmapped.other_addresses', '`sources`: every `ip` that is no address', ({ otherAddresses }) => otherAddresses),
]

type VulnerabilityView = View<VulnerabilityBody>

const vulnerability: readonly Row<VulnerabilityView>[] = [
  ...enumerated<VulnerabilityView>('status', '`status`, and `action` if `closed`', vulnerabilityStatus),
  field('status_detail', '`status`', ({ body }) => body.status),
  field('finding_info.uid_alt', '`humanId`', ({ body }) => body.humanId),
  field('finding_info.title', '`title`, else name of the class', ({ event, body }) => body.title || nameOf(event)),
  field('finding_info.desc', '`description`', ({ body }) => body.description),
  field('finding_info.types', '`type`', ({ body }) => some(body.type)),
  field('finding_info.first_seen_time', '`validateTime`', ({ body }) => seenOf(body).start),
  field('finding_info.last_seen_time', '`lastCheck`', ({ body }) => seenOf(body).end),
  list('vulnerabilities', 'the one', (view) => [view], weaknessFields()),
  list('resources', '`domain`', ({ body }) => some(body.domain), resourceFields('Affected', 3)),
  list('observables', '`domain` and the CWE', vulnerabilityObservables, observableFields()),
]

function weaknessFields(): readonly Row<VulnerabilityView>[] {
  return [
    field('title', 'name of the type', ({ body }) => attackTypeOf(body.type).title),
    field('desc', '`description`', ({ body }) => body.description),
    field('severity', 'the level of `severity`', ({ event }) => severityOf(event).name),
    field('cwe.uid', 'CWE of the type', ({ body }) => attackTypeOf(body.type).cwe),
    field('first_seen_time', '`validateTime`', ({ body }) => seenOf(body).start),
    field('last_seen_time', '`lastCheck`', ({ body }) => seenOf(body).end),
  ]
}

function seenOf({ validateTime, lastCheck }: VulnerabilityBody): Period {
  return period(epochMs(validateTime), epochMs(lastCheck))
}

function vulnerabilityObservables({ body }: VulnerabilityView): readonly Observable[] {
  const cwe = { name: 'vulnerabilities[0].cwe.uid', type: cweUid, value: attackTypeOf(body.type).cwe }
  return [...hostObservable(body.domain), cwe]
}

const vulnerabilityRest: readonly Row<VulnerabilityView>[] = [
  field('unmapped.path', '`path`', ({ body }) => body.path),
  field('unmapped.method', '`method`', ({ body }) => body.method),
  field('unmapped.parameter', '`parameter`', ({ body }) => body.parameter),
  field('unmapped.target', '`target`', ({ body }) => body.target),
  field('unmapped.threat', '`threat`', ({ body }) => whole(body.threat)),
  field('unmapped.invalidate_time', '`invalidateTime`, Unix ms', ({ body }) => epochMs(body.invalidateTime)),
]

const policy: readonly Row<View>[] = [
  field('entity.uid', '`identity`', ({ event }) => event.identity),
  constant('entity.type_id', 5),
  constant('entity.type', 'Policy'),
  field('entity.version', '`revision`', ({ event }) => String(event.revision)),
]

const rule: readonly Row<View<RuleBody>>[] = [
  ...policy,
  field('entity.name', '`type`, else `rule`', ({ body }) => body.type || 'rule'),
  field('entity.policy.uid', '`identity`', ({ event }) => event.identity),
  field('entity.policy.name', '`type`, else `rule`', ({ body }) => body.type || 'rule'),
  field('entity.policy.desc', '`comment`', ({ body }) => body.comment),
  field('entity.policy.is_applied', '`enabled`', ({ body }) => body.enabled),
  field('entity.data.attack_type', '`attackType`', ({ body }) => body.attackType),
  field('entity.data.condition', '`condition`', ({ body }) => whole(body.condition)),
  field('entity.data.point', '`point`, as JSON text', ({ body }) => jsonText(body.point)),
  field('entity.data.conditions', '`action` of the rule, as JSON text', ({ body }) => jsonText(body.action)),
  field('entity.data.regex', '`regex`', ({ body }) => body.regex),
]

const ruleRest: readonly Row<View<RuleBody>>[] = [
  field('unmapped.validated', '`validated`', ({ body }) => body.validated),
  field('unmapped.updated_at', '`updatedAt`, Unix ms', ({ body }) => epochMs(body.updatedAt)),
]

const condition: readonly Row<View<ConditionBody>>[] = [
  ...policy,
  field('entity.name', '`name`, else `condition`', ({ body }) => body.name || 'condition'),
  field('entity.data.conditions', '`conditions`, as JSON text', ({ body }) => jsonText(body.conditions)),
]

const conditionRest: readonly Row<View<ConditionBody>>[] = [
  field('unmapped.rules', '`rules`', ({ body }) => whole(body.rules)),
  field('unmapped.updated_at', '`updatedAt`, Unix ms', ({ body }) => epochMs(body.updatedAt)),
]

// A feed is an entity that Tailrace reads: a gap is a reading that failed, a heartbeat says that reading succeeds.
const feed: readonly Row<View>[] = [
  field('entity.uid', '`tenant`, `/` and `stream`', ({ event }) => `${event.tenant}/${event.stream}`),
  field('entity.name', '`stream`', ({ event }) => event.stream),
  constant('entity.type_id', 99),
  constant('entity.type', 'Feed'),
]

const gap: readonly Row<View<GapBody>>[] = [
  ...feed,
  constant('status_id', 2),
  constant('status', 'Failure'),
  field('status_detail', '`reason`', ({ body }) => body.reason),
  field('start_time', '`from`', ({ body }) => period(epochMs(body.from), epochMs(body.to)).start),
  field('end_time', '`to`', ({ body }) => period(epochMs(body.from), epochMs(body.to)).end),
]

const heartbeat: readonly Row<View<HeartbeatBody>>[] = [
  ...feed,
  constant('status_id', 1),
  constant('status', 'Success'),
]

const heartbeatRest: readonly Row<View<HeartbeatBody>>[] = [
  field('unmapped.watermark', '`watermark`, Unix ms', ({ body }) => epochMs(body.watermark)),
  field('unmapped.last_sequence', '`lastSequence`', ({ body }) => whole(body.lastSequence)),
  field('unmapped.events', '`events`', ({ body }) => whole(body.events)),
]
