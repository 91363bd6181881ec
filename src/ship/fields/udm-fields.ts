// The fields of Google's unified data model, by the names that its import API takes (lowerCamelCase), and where they
// come from. Facts: "UDM usage guide" and "Unified Data Model field list" of the Google SecOps documentation.

import type {
  ConditionBody,
  GapBody,
  HeartbeatBody,
  Level,
  RuleBody,
  SecurityEvent,
  VulnerabilityBody,
} from '../../event.ts'
import { levelOf } from '../../event.ts'
import { countryCode } from './attack-view.ts'
import type { AttackView, TechniqueParts, View } from './attack-view.ts'
import type { EventTables } from './event-tables.ts'
import { isoTime } from '../iso-time.ts'
import { constant, cutFields, field, list } from './json-writer.ts'
import type { Row } from './json-writer.ts'
import { attackTypeOf, classIdOf, classToken, nameOf, product } from './taxonomy.ts'
import type { AttackType, Outcome } from './taxonomy.ts'
import { jsonText, statusCode, whole } from './typed-values.ts'

/** `additional` is last: what was cut is named in it. */
export function udmTables(originalLimit?: number): EventTables {
  const own = [
    ...common,
    field<View>('additional.original', '`record`', ({ event }) => event.recordJson, originalLimit),
  ]
  return {
    attack: [...metadata(attackEventType), ...attack, ...own, ...attackRest, cut],
    incident: [...metadata(attackEventType), ...attack, ...own, ...attackRest, cut],
    vulnerability: [...metadata(vulnerabilityEventType), ...vulnerability, ...own, ...vulnerabilityRest, cut],
    rule: [...metadata(resourceEventType), ...feed, ...rule, ...own, ...ruleRest, cut],
    condition: [...metadata(resourceEventType), ...feed, ...condition, ...own, ...conditionRest, cut],
    gap: [...metadata(() => 'STATUS_UNCATEGORIZED'), ...feed, ...gap, ...common, ...gapRest, cut],
    heartbeat: [...metadata(() => 'STATUS_HEARTBEAT'), ...feed, ...common, ...heartbeatRest, cut],
  }
}

const cut = cutFields('additional.cut', (paths) => paths.join(','))

function metadata<Body>(eventType: (view: View<Body>) => string): readonly Row<View<Body>>[] {
  return [
    field('metadata.eventTimestamp', '`time`, else `observedTime`', ({ event }) => timestamp(event)),
    field('metadata.collectedTimestamp', '`observedTime`', ({ event }) => isoTime(event.observedTime)),
    field('metadata.eventType', 'by `kind`, see above', eventType),
    constant('metadata.vendorName', product.vendor),
    constant('metadata.productName', product.product),
    constant('metadata.productVersion', product.version, 'version of Tailrace'),
    field('metadata.productEventType', 'class id', ({ event }) => classIdOf(event)),
    field('metadata.productLogId', '`id`', ({ event }) => event.id),
    field('metadata.description', 'name of the class', ({ event }) => nameOf(event)),
    list('metadata.ingestionLabels', '`labels` that have text', labelsOf, labelFields()),
  ]
}

function timestamp({ time, observedTime }: SecurityEvent): string | undefined {
  return isoTime(time) ?? isoTime(observedTime) ?? isoTime(0)
}

type Label = readonly [name: string, text: string]

function labelsOf({ event }: View): readonly Label[] {
  return Object.entries(event.labels).filter(([, text]) => text !== '')
}

function labelFields(): readonly Row<Label>[] {
  return [field('key', 'name of the label', ([name]) => name), field('value', 'its text', ([, text]) => text)]
}

/** Rules can compare text in `additional` only, so everything there is text. */
const common: readonly Row<View>[] = [
  field('additional.kind', '`kind`', ({ event }) => event.kind),
  field('additional.action', '`action`', ({ event }) => event.action),
  field('additional.tenant', '`tenant`', ({ event }) => event.tenant),
  field('additional.client', '`client`', ({ event }) => wholeText(event.client)),
  field('additional.stream', '`stream`', ({ event }) => event.stream),
  field('additional.identity', '`identity`', ({ event }) => event.identity),
  field('additional.revision', '`revision`', ({ event }) => wholeText(event.revision)),
  field('additional.sequence', '`sequence`', ({ event }) => wholeText(event.sequence)),
  field('additional.severity', '`severity`, 0 to 10', ({ event }) => wholeText(event.severity)),
  field('additional.replayed', '`replayed`', ({ event }) => String(event.replayed)),
]

function wholeText(value: number | null): string | undefined {
  const number = whole(value)
  return number === undefined ? undefined : String(number)
}

function timeText(unixMs: number | null): string | undefined {
  return unixMs === null ? undefined : isoTime(unixMs)
}

/** HTTP telemetry needs both ends; without them it is an event like any other. */
function attackEventType(view: View): string {
  const { body, sources } = view as AttackView
  return body.domain && sources.length > 0 ? 'NETWORK_HTTP' : 'GENERIC_EVENT'
}

const attack: readonly Row<AttackView>[] = [
  field('principal.ip', '`sources`: every `ip` that is an address', ({ sources }) => [
    ...new Set(sources.map(({ ip }) => ip)),
  ]),
  field('principal.location.countryOrRegion', '`country`, if there is one source', ({ sources }) =>
    sources.length === 1 ? countryCode(sources[0]?.country ?? null) : undefined,
  ),
  field('target.hostname', '`domain`', ({ body }) => body.domain),
  field('target.url', '`domain` and `path`', ({ body }) => urlOf(body)),
  constant('network.ipProtocol', 'TCP'),
  constant('network.applicationProtocol', 'HTTP'),
  field('network.http.method', '`method`', ({ body }) => body.method),
  field('network.http.responseCode', '`statusCodes`, if there is only one', ({ status }) => status),
  list('securityResult', 'the one', (view) => [view], resultFields()),
]

/** The service does not say which scheme. A path that does not begin with a slash would become part of the host. */
function urlOf({ domain, path }: { readonly domain: string | null; readonly path: string | null }): string | undefined {
  return domain && path?.startsWith('/') ? `${domain}${path}` : undefined
}

function resultFields(): readonly Row<AttackView>[] {
  return [
    field('category', 'by the tactic of the type, else `EXPLOIT`', ({ type }) => [categoryOf(type)]),
    field('threatName', 'name of the type', ({ type }) => type.title),
    field('ruleId', '`type` as in the class id', ({ body }) => classToken(body.type)),
    field('ruleName', 'name of the type', ({ type }) => type.title),
    field('summary', 'name of the class', ({ event }) => nameOf(event)),
    field('action', 'outcome', ({ outcome }) => [actions[outcome]]),
    field('actionDetails', '`blockStatus`', ({ body }) => body.blockStatus),
    field('severity', 'the level of `severity`', ({ event }) => severities[levelOf(event.severity)]),
    field('alertState', '`NOT_ALERTING` for false positives', ({ body }) =>
      body.state === 'falsepositive' ? 'NOT_ALERTING' : 'ALERTING',
    ),
    field('threatStatus', '`FALSE_POSITIVE` for those', ({ body }) =>
      body.state === 'falsepositive' ? 'FALSE_POSITIVE' : undefined,
    ),
    list('attackDetails.tactics', 'tactic of the type', ({ technique }) => technique, [
      field<TechniqueParts>('id', 'its id', ({ tacticId }) => tacticId),
      field<TechniqueParts>('name', 'its name', ({ tacticName }) => tacticName),
    ]),
    list('attackDetails.techniques', 'technique of the type', ({ technique }) => technique, [
      field<TechniqueParts>('id', 'its id', ({ id }) => id),
      field<TechniqueParts>('name', 'its name', ({ name }) => name),
      field<TechniqueParts>('subtechniqueId', 'its id', ({ subId }) => subId),
      field<TechniqueParts>('subtechniqueName', 'its name', ({ subName }) => subName),
    ]),
  ]
}

const actions: Readonly<Record<Outcome, string>> = {
  blocked: 'BLOCK',
  monitored: 'ALLOW',
  partial: 'UNKNOWN_ACTION',
  unknown: 'UNKNOWN_ACTION',
}

const severities: Readonly<Record<Level, string>> = {
  informational: 'INFORMATIONAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  critical: 'CRITICAL',
}

/** By tactics of ATT&CK: credential access, reconnaissance, impact (denial of service). */
const categories: Readonly<Record<string, string>> = {
  TA0006: 'AUTH_VIOLATION',
  TA0043: 'NETWORK_RECON',
  TA0040: 'NETWORK_DENIAL_OF_SERVICE',
}

function categoryOf({ technique }: AttackType): string {
  return categories[technique?.tactic.id ?? ''] ?? 'EXPLOIT'
}

const attackRest: readonly Row<AttackView>[] = [
  field('additional.type', '`type`', ({ body }) => body.type),
  field('additional.cwe', 'CWE of the type', ({ type }) => type.cwe),
  field('additional.path', '`path`', ({ body }) => body.path),
  field('additional.parameter', '`parameter`', ({ body }) => body.parameter),
  field('additional.point', '`point`, as JSON text', ({ body }) => jsonText(body.point)),
  field('additional.target', '`target`', ({ body }) => body.target),
  field('additional.threat', '`threat`', ({ body }) => wholeText(body.threat)),
  field('additional.state', '`state`', ({ body }) => body.state),
  field('additional.hits', '`hits`', ({ body }) => wholeText(body.hits)),
  field('additional.ip_count', '`sourceCount`', ({ body }) => wholeText(body.sourceCount)),
  field('additional.status_codes', '`statusCodes`, with commas', ({ body }) => codesText(body.statusCodes)),
  field('additional.first_time', '`firstTime`', ({ body }) => timeText(body.firstTime)),
  field('additional.last_time', '`lastTime`', ({ body }) => timeText(body.lastTime)),
  field('additional.application', '`application`', ({ body }) => wholeText(body.application)),
  field('additional.vulnerability', '`vulnerability`', ({ body }) => vulnerabilityText(body.vulnerability)),
  field('additional.other_addresses', '`sources`: every `ip` that is no address, as JSON text', (view) =>
    jsonText(view.otherAddresses),
  ),
]

function codesText(codes: readonly number[]): string {
  return codes.filter((code) => statusCode(code) !== undefined).join(',')
}

function vulnerabilityText(value: number | string | null): string | undefined {
  return typeof value === 'string' ? value : wholeText(value)
}

/** A scan needs a machine that was scanned. */
function vulnerabilityEventType({ body }: View<VulnerabilityBody>): string {
  return body.domain ? 'SCAN_VULN_NETWORK' : 'GENERIC_EVENT'
}

const vulnerability: readonly Row<View<VulnerabilityBody>>[] = [
  field('observer.assetId', '`Tailrace:`, `tenant`, `/` and `stream`', assetId),
  field('target.hostname', '`domain`', ({ body }) => body.domain),
  field('target.url', '`domain` and `path`', ({ body }) => urlOf(body)),
  list('extensions.vulns.vulnerabilities', 'the one', (view) => [view], weaknessFields()),
  list('securityResult', 'the one', (view) => [view], [
    field<View<VulnerabilityBody>>('summary', 'name of the class', ({ event }) => nameOf(event)),
    field<View<VulnerabilityBody>>('severity', 'the level of `severity`', severityText),
    field<View<VulnerabilityBody>>('threatStatus', '`status` and `action`', threatStatus),
  ]),
]

function weaknessFields(): readonly Row<View<VulnerabilityBody>>[] {
  return [
    field('name', '`title`, else name of the class', ({ event, body }) => body.title || nameOf(event)),
    field('description', '`description`', ({ body }) => body.description),
    // This enumeration has no INFORMATIONAL.
    field('severity', 'the level of `severity`', ({ event }) =>
      levelOf(event.severity) === 'informational' ? 'UNKNOWN_SEVERITY' : severities[levelOf(event.severity)],
    ),
    field('severityDetails', '`threat`, 1 to 100', ({ body }) => wholeText(body.threat)),
    field('firstFound', '`validateTime`', ({ body }) => timeText(body.validateTime)),
    field('lastFound', '`lastCheck`', ({ body }) => timeText(body.lastCheck)),
  ]
}

function severityText({ event }: View): string {
  return severities[levelOf(event.severity)]
}

function threatStatus({ event, body }: View<VulnerabilityBody>): string {
  if (body.status === 'falsepositive') return 'FALSE_POSITIVE'
  const isOver = event.action === 'closed' || event.action === 'deleted' || body.status === 'closed'
  return isOver ? 'CLEARED' : 'ACTIVE'
}

const vulnerabilityRest: readonly Row<View<VulnerabilityBody>>[] = [
  field('additional.human_id', '`humanId`', ({ body }) => body.humanId),
  field('additional.type', '`type`', ({ body }) => body.type),
  field('additional.cwe', 'CWE of the type', ({ body }) => attackTypeOf(body.type).cwe),
  field('additional.status', '`status`', ({ body }) => body.status),
  field('additional.path', '`path`', ({ body }) => body.path),
  field('additional.method', '`method`', ({ body }) => body.method),
  field('additional.parameter', '`parameter`', ({ body }) => body.parameter),
  field('additional.target', '`target`', ({ body }) => body.target),
  field('additional.invalidate_time', '`invalidateTime`', ({ body }) => timeText(body.invalidateTime)),
]

/** Who changed a rule is in no record; the events of these types must name a machine, and the feed is what reports. */
const feed: readonly Row<View>[] = [field('principal.assetId', '`Tailrace:`, `tenant`, `/` and `stream`', assetId)]

/** An asset id begins with its vendor and a colon. */
function assetId({ event }: View): string {
  return `${product.vendor}:${event.tenant}/${event.stream}`
}

function resourceEventType({ event }: View): string {
  if (event.action === 'created') return 'RESOURCE_CREATION'
  return event.action === 'updated' ? 'RESOURCE_WRITTEN' : 'RESOURCE_DELETION'
}

const rule: readonly Row<View<RuleBody>>[] = [
  constant('target.resource.resourceType', 'FIREWALL_RULE'),
  field('target.resource.resourceSubtype', '`type`', ({ body }) => body.type),
  field('target.resource.name', '`rule` and `identity`', ({ event }) => `rule ${event.identity}`),
  field('target.resource.productObjectId', '`identity`', ({ event }) => event.identity),
]

const ruleRest: readonly Row<View<RuleBody>>[] = [
  field('additional.attack_type', '`attackType`', ({ body }) => body.attackType),
  field('additional.condition', '`condition`', ({ body }) => wholeText(body.condition)),
  field('additional.point', '`point`, as JSON text', ({ body }) => jsonText(body.point)),
  field('additional.conditions', '`action` of the rule, as JSON text', ({ body }) => jsonText(body.action)),
  field('additional.regex', '`regex`', ({ body }) => body.regex),
  field('additional.comment', '`comment`', ({ body }) => body.comment),
  field('additional.validated', '`validated`', ({ body }) => flagText(body.validated)),
  field('additional.enabled', '`enabled`', ({ body }) => flagText(body.enabled)),
  field('additional.updated_at', '`updatedAt`', ({ body }) => timeText(body.updatedAt)),
]

function flagText(flag: boolean | null): string | undefined {
  return flag === null ? undefined : String(flag)
}

const condition: readonly Row<View<ConditionBody>>[] = [
  constant('target.resource.resourceType', 'SETTING'),
  field(
    'target.resource.name',
    '`name`, else `condition` and `identity`',
    ({ event, body }) => body.name || `condition ${event.identity}`,
  ),
  field('target.resource.productObjectId', '`identity`', ({ event }) => event.identity),
]

const conditionRest: readonly Row<View<ConditionBody>>[] = [
  field('additional.conditions', '`conditions`, as JSON text', ({ body }) => jsonText(body.conditions)),
  field('additional.rules', '`rules`', ({ body }) => wholeText(body.rules)),
  field('additional.updated_at', '`updatedAt`', ({ body }) => timeText(body.updatedAt)),
]

const gap: readonly Row<View<GapBody>>[] = [
  list('securityResult', 'the one', (view) => [view], [
    constant('severity', 'ERROR'),
    field<View<GapBody>>('summary', 'name of the class', ({ event }) => nameOf(event)),
    field<View<GapBody>>('description', '`reason`', ({ body }) => body.reason),
  ]),
]

const gapRest: readonly Row<View<GapBody>>[] = [
  field('additional.from', '`from`', ({ body }) => timeText(body.from)),
  field('additional.to', '`to`', ({ body }) => timeText(body.to)),
]

const heartbeatRest: readonly Row<View<HeartbeatBody>>[] = [
  field('additional.watermark', '`watermark`', ({ body }) => timeText(body.watermark)),
  field('additional.last_sequence', '`lastSequence`', ({ body }) => wholeText(body.lastSequence)),
  field('additional.events', '`events`', ({ body }) => wholeText(body.events)),
]
