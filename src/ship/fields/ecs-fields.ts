// The fields of Elastic Common Schema 9.4.0 (elastic/ecs, generated/ecs/ecs_flat.yml), and where they come from.

import type {
  AttackSource,
  ConditionBody,
  GapBody,
  HeartbeatBody,
  Level,
  RuleBody,
  VulnerabilityBody,
} from '../../event.ts'
import { levelOf } from '../../event.ts'
import { countryCode } from './attack-view.ts'
import type { AttackView, View } from './attack-view.ts'
import type { EventTables } from './event-tables.ts'
import { isoTime } from '../iso-time.ts'
import { constant, cutFields, field, list } from './json-writer.ts'
import type { Row } from './json-writer.ts'
import { attackTypeOf, classIdOf, classToken, nameOf, product } from './taxonomy.ts'
import { instant, jsonText, period, whole, wholes } from './typed-values.ts'
import type { Period } from './typed-values.ts'

/** The fields below `waf` are those that ECS has no name for. */
export function ecsTables(namespace: string, originalLimit?: number): EventTables {
  const bare = common(namespace)
  const head = [...bare, field<View>('event.original', '`record`', ({ event }) => event.recordJson, originalLimit)]
  return {
    attack: [...head, ...attack, ...own],
    incident: [...head, ...attack, ...own],
    vulnerability: [...head, ...vulnerability, ...own],
    rule: [...head, ...rule, ...own],
    condition: [...head, ...condition, ...own],
    gap: [...bare, ...gap, ...own],
    heartbeat: [...bare, ...heartbeat, ...own],
  }
}

function common(namespace: string): readonly Row<View>[] {
  return [
    field('@timestamp', '`time`, else `observedTime`', timestamp),
    constant('ecs.version', '9.4.0'),
    constant('data_stream.type', 'logs'),
    field('data_stream.dataset', '`waf.` and `kind`', ({ event }) => `waf.${event.kind}`),
    field('data_stream.namespace', 'option `namespace`', () => namespace),
    field('message', 'name of the class', ({ event }) => nameOf(event)),
    field('labels', '`labels`', ({ event }) => event.labels),
    field('log.level', 'the level of `severity`, as syslog has it', ({ event }) => logLevels[levelOf(event.severity)]),
    field('event.id', '`id`', ({ event }) => event.id),
    field('event.dataset', '`waf.` and `kind`', ({ event }) => `waf.${event.kind}`),
    constant('event.module', 'waf'),
    constant('event.provider', 'tailrace'),
    field('event.code', 'class id', ({ event }) => classIdOf(event)),
    field('event.severity', '`severity`, 0 to 10', ({ event }) => whole(event.severity)),
    field('event.sequence', '`sequence`', ({ event }) => whole(event.sequence)),
    field('event.created', '`observedTime`', ({ event }) => isoTime(event.observedTime)),
    constant('observer.type', 'waf'),
    constant('observer.vendor', product.vendor),
    constant('observer.product', product.product),
    constant('observer.version', product.version, 'version of Tailrace'),
    field('organization.id', '`client`', ({ event }) => clientId(event.client)),
    field('organization.name', '`tenant`', ({ event }) => event.tenant),
  ]
}

/** Of our own; the cut fields are the last of all. */
const own: readonly Row<View>[] = [
  field('waf.kind', '`kind`', ({ event }) => event.kind),
  field('waf.action', '`action`', ({ event }) => event.action),
  field('waf.tenant', '`tenant`', ({ event }) => event.tenant),
  field('waf.stream', '`stream`', ({ event }) => event.stream),
  field('waf.identity', '`identity`', ({ event }) => event.identity),
  field('waf.revision', '`revision`', ({ event }) => whole(event.revision)),
  field('waf.replayed', '`replayed`', ({ event }) => event.replayed),
  cutFields('waf.cut'),
]

const logLevels: Readonly<Record<Level, string>> = {
  informational: 'info',
  low: 'notice',
  medium: 'warning',
  high: 'error',
  critical: 'critical',
}

function timestamp({ event }: View): string | undefined {
  return isoTime(event.time) ?? isoTime(event.observedTime) ?? isoTime(0)
}

function clientId(client: number | null): string | undefined {
  const id = whole(client)
  return id === undefined ? undefined : String(id)
}

function date(unixMs: number | null): string | undefined {
  return unixMs === null ? undefined : isoTime(unixMs)
}

function typeAction({ event }: View): string {
  return `waf-${event.kind}-${event.action}`
}

/** Nanoseconds; left out above what a `long` takes. */
function nanoseconds(startMs: number | null, endMs: number | null): number | undefined {
  const { start, end } = period(instant(startMs), instant(endMs))
  if (start === undefined || end === undefined) return undefined
  const length = (end - start) * 1e6
  return length < 2 ** 63 ? length : undefined
}

const sourceFields: readonly Row<AttackSource>[] = [
  field('ip', '`ip`', ({ ip }) => ip),
  field('country', '`country`', ({ country }) => country),
  field('hits', '`count`', ({ count }) => whole(count)),
]

const attack: readonly Row<AttackView>[] = [
  constant('event.kind', 'alert'),
  // ECS expects no `denied` of the category web.
  field('event.category', 'intrusion_detection, and web unless blocked', ({ outcome }) =>
    outcome === 'blocked' ? ['intrusion_detection'] : ['intrusion_detection', 'web'],
  ),
  field('event.type', 'info, and denied if blocked', ({ outcome }) =>
    outcome === 'blocked' ? ['denied', 'info'] : ['info'],
  ),
  field('event.action', '`waf-`, `kind` and outcome', ({ event, outcome }) => `waf-${event.kind}-${outcome}`),
  field('event.risk_score', '`threat`, 1 to 100', ({ body }) => whole(body.threat, 0, 100)),
  field('event.start', '`firstTime`', ({ body }) => date(spanOf(body).start ?? null)),
  field('event.end', '`lastTime`', ({ body }) => date(spanOf(body).end ?? null)),
  field('event.duration', '`lastTime` less `firstTime`, nanoseconds', ({ body }) =>
    nanoseconds(body.firstTime, body.lastTime),
  ),
  field('rule.id', '`type` as in the class id', ({ body }) => classToken(body.type)),
  field('rule.name', 'name of the type', ({ type }) => type.title),
  field('rule.category', '`kind`', ({ event }) => event.kind),
  field('source.address', 'first of `sources` with an address: `ip`', ({ sources }) => sources[0]?.ip),
  field('source.ip', 'the same', ({ sources }) => sources[0]?.ip),
  field('source.geo.country_iso_code', 'the same: `country`', ({ sources }) =>
    countryCode(sources[0]?.country ?? null),
  ),
  field('destination.address', '`domain`', ({ body }) => body.domain),
  field('destination.domain', '`domain`', ({ body }) => body.domain),
  field('url.domain', '`domain`', ({ body }) => body.domain),
  field('url.path', '`path`', ({ body }) => body.path),
  field('http.request.method', '`method`', ({ body }) => body.method),
  field('http.response.status_code', '`statusCodes`, if there is only one', ({ status }) => status),
  field('related.ip', '`sources`: every `ip` that is an address', ({ sources }) =>
    distinct(sources.map(({ ip }) => ip)),
  ),
  field('related.hosts', '`domain`', ({ body }) => (body.domain === null ? [] : [body.domain])),
  field('threat.framework', 'MITRE ATT&CK, if the type has a technique', ({ type }) =>
    type.technique ? 'MITRE ATT&CK' : undefined,
  ),
  field('threat.tactic.id', 'tactic of the type', ({ technique }) => technique.map(({ tacticId }) => tacticId)),
  field('threat.tactic.name', 'tactic of the type', ({ technique }) => technique.map(({ tacticName }) => tacticName)),
  field('threat.technique.id', 'technique of the type', ({ technique }) => technique.map(({ id }) => id)),
  field('threat.technique.name', 'technique of the type', ({ technique }) => technique.map(({ name }) => name)),
  field('threat.technique.subtechnique.id', 'technique of the type', ({ technique }) =>
    technique.map(({ subId }) => subId),
  ),
  field('threat.technique.subtechnique.name', 'technique of the type', ({ technique }) =>
    technique.map(({ subName }) => subName),
  ),
  field('waf.parameter', '`parameter`', ({ body }) => body.parameter),
  field('waf.statuscodes', '`statusCodes`', ({ body }) => wholes(body.statusCodes)),
  field('waf.attack.id', '`identity`', ({ event }) => event.identity),
  field('waf.attack.type', '`type`', ({ body }) => body.type),
  field('waf.attack.cwe', 'CWE of the type', ({ type }) => type.cwe),
  field('waf.attack.threat', '`threat`', ({ body }) => whole(body.threat)),
  field('waf.attack.hits', '`hits`', ({ body }) => whole(body.hits)),
  field('waf.attack.ip_count', '`sourceCount`', ({ body }) => whole(body.sourceCount)),
  field('waf.attack.block_status', '`blockStatus`', ({ body }) => body.blockStatus),
  field('waf.attack.outcome', 'outcome', ({ outcome }) => outcome),
  field('waf.attack.state', '`state`', ({ body }) => body.state),
  field('waf.attack.target', '`target`', ({ body }) => body.target),
  field('waf.attack.point', '`point`', ({ body }) => body.point),
  field('waf.attack.application', '`application`', ({ body }) => whole(body.application)),
  field('waf.attack.vulnerability', '`vulnerability`', ({ body }) => nameable(body.vulnerability)),
  list('waf.attack.sources', '`sources` with an address', ({ sources }) => sources, sourceFields),
  field(
    'waf.attack.other_addresses',
    '`sources`: every `ip` that is no address',
    ({ otherAddresses }) => otherAddresses,
  ),
]

function spanOf({ firstTime, lastTime }: AttackView['body']): Period {
  return period(instant(firstTime), instant(lastTime))
}

function distinct(texts: readonly string[]): readonly string[] {
  return texts.length < 2 ? texts : [...new Set(texts)]
}

/** Text, so that the field has one type whatever the service sends. */
function nameable(value: number | string | null): string | undefined {
  return value === null || Number.isNaN(value) ? undefined : String(value)
}

const levelNames: Readonly<Record<Level, string>> = {
  informational: 'Informational',
  low: 'Low',
  medium: 'Medium',
  high: 'High',
  critical: 'Critical',
}

type VulnerabilityView = View<VulnerabilityBody>

const vulnerability: readonly Row<VulnerabilityView>[] = [
  constant('event.kind', 'state'),
  field('event.category', 'vulnerability', () => ['vulnerability']),
  field('event.type', 'info', () => ['info']),
  field('event.action', '`waf-`, `kind` and `action`', typeAction),
  field('event.risk_score', '`threat`, 1 to 100', ({ body }) => whole(body.threat, 0, 100)),
  field('event.start', '`validateTime`', ({ body }) => date(openSpan(body).start ?? null)),
  field('event.end', '`invalidateTime`', ({ body }) => date(openSpan(body).end ?? null)),
  field('vulnerability.id', 'CWE of the type', ({ body }) => attackTypeOf(body.type).cwe),
  constant('vulnerability.enumeration', 'CWE'),
  field('vulnerability.category', 'web', () => ['web']),
  field('vulnerability.report_id', '`humanId`, else `identity`', ({ event, body }) => body.humanId ?? event.identity),
  field('vulnerability.severity', 'the level of `severity`', ({ event }) => levelNames[levelOf(event.severity)]),
  field('vulnerability.description', '`description`', ({ body }) => body.description),
  constant('vulnerability.scanner.vendor', product.vendor),
  field('destination.address', '`domain`', ({ body }) => body.domain),
  field('destination.domain', '`domain`', ({ body }) => body.domain),
  field('url.domain', '`domain`', ({ body }) => body.domain),
  field('url.path', '`path`', ({ body }) => body.path),
  field('http.request.method', '`method`', ({ body }) => body.method),
  field('related.hosts', '`domain`', ({ body }) => (body.domain === null ? [] : [body.domain])),
  field('waf.parameter', '`parameter`', ({ body }) => body.parameter),
  field('waf.vulnerability.id', '`identity`', ({ event }) => event.identity),
  field('waf.vulnerability.human_id', '`humanId`', ({ body }) => body.humanId),
  field('waf.vulnerability.type', '`type`', ({ body }) => body.type),
  field('waf.vulnerability.title', '`title`', ({ body }) => body.title),
  field('waf.vulnerability.status', '`status`', ({ body }) => body.status),
  field('waf.vulnerability.threat', '`threat`', ({ body }) => whole(body.threat)),
  field('waf.vulnerability.target', '`target`', ({ body }) => body.target),
  field('waf.vulnerability.last_check', '`lastCheck`', ({ body }) => date(body.lastCheck)),
]

/** Of one that has opened again, the end is that of the time before. */
function openSpan({ validateTime, invalidateTime }: VulnerabilityBody): Period {
  const [start, end] = [instant(validateTime), instant(invalidateTime)]
  return { start, end: start !== undefined && end !== undefined && end < start ? undefined : end }
}

/** What rules and conditions have in common: a change of the configuration. */
const configuration: readonly Row<View>[] = [
  constant('event.kind', 'event'),
  field('event.category', 'configuration', () => ['configuration']),
  field('event.type', 'creation, change or deletion, by `action`', changeType),
  field('event.action', '`waf-`, `kind` and `action`', typeAction),
]

function changeType({ event }: View): readonly string[] {
  if (event.action === 'created') return ['creation']
  return event.action === 'updated' ? ['change'] : ['deletion']
}

const rule: readonly Row<View<RuleBody>>[] = [
  ...configuration,
  field('rule.id', '`identity`', ({ event }) => event.identity),
  field('rule.name', '`type`', ({ body }) => body.type),
  field('rule.category', '`attackType`', ({ body }) => body.attackType),
  field('rule.description', '`comment`', ({ body }) => body.comment),
  field('rule.version', '`revision`', ({ event }) => String(event.revision)),
  field('waf.rule.condition', '`condition`', ({ body }) => whole(body.condition)),
  field('waf.rule.point', '`point`, as JSON text', ({ body }) => jsonText(body.point)),
  field('waf.rule.conditions', '`action` of the rule, as JSON text', ({ body }) => jsonText(body.action)),
  field('waf.rule.regex', '`regex`', ({ body }) => body.regex),
  field('waf.rule.validated', '`validated`', ({ body }) => body.validated),
  field('waf.rule.enabled', '`enabled`', ({ body }) => body.enabled),
  field('waf.rule.updated_at', '`updatedAt`', ({ body }) => date(body.updatedAt)),
]

const condition: readonly Row<View<ConditionBody>>[] = [
  ...configuration,
  field('waf.condition.id', '`identity`', ({ event }) => event.identity),
  field('waf.condition.name', '`name`', ({ body }) => body.name),
  field('waf.condition.conditions', '`conditions`, as JSON text', ({ body }) => jsonText(body.conditions)),
  field('waf.condition.rules', '`rules`', ({ body }) => whole(body.rules)),
  field('waf.condition.updated_at', '`updatedAt`', ({ body }) => date(body.updatedAt)),
]

// What Tailrace reports of its own reading is about calls of a REST API, which is what the category api is for.

const gap: readonly Row<View<GapBody>>[] = [
  // "Event data may be missing": ECS on pipeline_error.
  constant('event.kind', 'pipeline_error'),
  field('event.category', 'api', () => ['api']),
  field('event.type', 'info', () => ['info']),
  field('event.action', '`waf-` and `kind`', ({ event }) => `waf-${event.kind}`),
  constant('event.outcome', 'failure'),
  field('event.reason', '`reason`', ({ body }) => body.reason),
  field('event.start', '`from`', ({ body }) => date(gapSpan(body).start ?? null)),
  field('event.end', '`to`', ({ body }) => date(gapSpan(body).end ?? null)),
  field('event.duration', '`to` less `from`, nanoseconds', ({ body }) => nanoseconds(body.from, body.to)),
  field('error.message', '`reason`', ({ body }) => body.reason),
]

function gapSpan({ from, to }: GapBody): Period {
  return period(instant(from), instant(to))
}

const heartbeat: readonly Row<View<HeartbeatBody>>[] = [
  // "A measurement taken at given point in time", of conditions rather than numbers, at intervals: ECS on state.
  constant('event.kind', 'state'),
  field('event.category', 'api', () => ['api']),
  field('event.type', 'info', () => ['info']),
  field('event.action', '`waf-` and `kind`', ({ event }) => `waf-${event.kind}`),
  constant('event.outcome', 'success'),
  field('waf.heartbeat.watermark', '`watermark`', ({ body }) => date(body.watermark)),
  field('waf.heartbeat.last_sequence', '`lastSequence`', ({ body }) => whole(body.lastSequence)),
  field('waf.heartbeat.events', '`events`', ({ body }) => whole(body.events)),
]
