// Plausible records, as the service's lists return them.

import type { ServiceRecord } from '../event.ts'
import type { Random } from './random.ts'

/** What of an attack is decided elsewhere. Times are Unix seconds. */
export interface AttackFrame {
  readonly client: number
  /** The raw part of its identity. */
  readonly raw: string
  readonly first: number
  readonly last: number
  readonly hits: number
  readonly vulnerability: number | null
}

export function attackIndex(client: number): string {
  return `attacks_eu_${client}_202611_v_1`
}

export function makeAttack(random: Random, frame: AttackFrame): Record<string, unknown> {
  const index = attackIndex(frame.client)
  const [type, threat, target] = random.pick(attackTypes)
  const [point, parameter] = random.pick(points)
  const [ip, country] = random.pick(sources)
  const [other, otherCountry] = random.pick(sources)
  const second = Math.floor(frame.hits / 3)
  const two = second > 0 && other !== ip
  const top = two
    ? [
        { ip, count: frame.hits - second, country },
        { ip: other, count: second, country: otherCountry },
      ]
    : [{ ip, count: frame.hits, country }]
  return {
    id: [index, frame.raw],
    attackid: `${index}:${frame.raw}`,
    clientid: frame.client,
    domain: random.pick(domains),
    poolid: random.pick([-1, 7, 12]),
    method: random.pick(methods),
    parameter,
    path: random.pick(paths),
    point,
    type,
    first_time: frame.first,
    last_time: frame.last,
    hits: frame.hits,
    ip_count: top.length,
    ip_top: top,
    country_top: top.map((source) => ({ country: source.country, count: source.count })),
    statuscodes: random.pick(statusCodes),
    vulnid: frame.vulnerability,
    threat,
    target,
    experimental: null,
    recheck_status: 'unrecheckable',
    vectors_count: 1 + (frame.hits >>> 1),
    block_status: random.pick(blockStatuses),
    state: null,
    tor: random.pick(['none', 'none', 'tor']),
    datacenter: random.pick(['unknown', 'aws', 'hetzner', 'ovh']),
    session_count: 1,
    last_request_id: `${random.word(22)}`,
    hits_count_by_filter: frame.hits,
    ip_count_by_filter: top.length,
  }
}

/** What a hit changes in an attack. */
export function growAttack(random: Random, attack: ServiceRecord, lastTime: number): Record<string, unknown> {
  const more = random.int(1, 25)
  const hits = numberOf(attack['hits']) + more
  const [ip, country] = random.pick(sources)
  const top = (Array.isArray(attack['ip_top']) ? attack['ip_top'] : []).slice(0, 9)
  const sourceCount = Math.max(numberOf(attack['ip_count']), 1) + (random.chance(0.3) ? 1 : 0)
  return {
    hits,
    last_time: Math.max(numberOf(attack['last_time']), lastTime),
    ip_count: sourceCount,
    ip_top: [{ ip, count: more, country }, ...top],
    vectors_count: numberOf(attack['vectors_count']) + 1,
    statuscodes: random.pick(statusCodes),
    block_status: random.pick(blockStatuses),
  }
}

export function makeVulnerability(random: Random, client: number, id: number, now: number): Record<string, unknown> {
  const [type, threat, target] = random.pick(attackTypes)
  const [, parameter] = random.pick(points)
  return {
    id,
    wid: `SIM${client % 10}-${id}`,
    clientid: client,
    status: 'open',
    validated: true,
    hidden: false,
    type,
    target,
    threat,
    method: random.pick(methods),
    domain: random.pick(domains),
    path: random.pick(paths),
    parameter,
    title: `${type} in ${parameter}`,
    description: 'Input reaches an interpreter without being checked.',
    additional: null,
    exploit_example: `curl -k 'https://example.com/?q=${random.word(12)}'`,
    template: `/${type}/generic`,
    testrun_id: null,
    validate_time: now,
    invalidate_time: null,
    last_check: now,
    incidents: random.int(0, 40),
    detection_method: random.pick(['passive', 'active', 'threat_replay']),
  }
}

export function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

type Several<T> = readonly [T, ...T[]]

const attackTypes: Several<readonly [string, number, string]> = [
  ['sqli', 80, 'database'],
  ['xss', 60, 'client'],
  ['rce', 95, 'server'],
  ['ptrav', 90, 'server'],
  ['xxe', 85, 'server'],
  ['crlf', 50, 'client'],
  ['redir', 40, 'client'],
  ['nosqli', 80, 'database'],
  ['ssrf', 85, 'server'],
  ['ssti', 90, 'server'],
  ['bola', 70, 'server'],
  ['brute', 55, 'server'],
  ['dirbust', 30, 'server'],
  ['infoleak', 35, 'server'],
  ['data_bomb', 65, 'server'],
  ['scanner', 20, 'server'],
  ['vpatch', 45, 'server'],
  ['overlimit_res', 25, 'server'],
  ['undefined_endpoint', 15, 'server'],
]

const points: Several<readonly [readonly string[], string]> = [
  [['get', 'filename'], 'GET_filename_value'],
  [['get', 'q'], 'GET_q_value'],
  [['post', 'json_doc', 'hash', 'user'], 'POST_JSON_DOC_HASH_user_value'],
  [['post', 'form_urlencoded', 'login'], 'POST_FORM_URLENCODED_login_value'],
  [['header', 'USER-AGENT'], 'HEADER_USER-AGENT_value'],
  [['header', 'COOKIE', 'cookie', 'session'], 'HEADER_COOKIE_COOKIE_session_value'],
  [['uri'], 'URI_value'],
]

const domains: Several<string> = [
  'shop.example.com',
  'www.example.com',
  'api.example.com',
  'login.example.org',
  'intranet.example.net',
  '203.0.113.80',
]

const paths: Several<string> = [
  '/',
  '/log/view',
  '/api/v1/users',
  '/api/v2/orders/1042/items',
  '/login',
  '/search',
  '/admin/config.php',
  '/static/../../etc/passwd',
  '/caf%C3%A9/menü',
]

const sources: Several<readonly [string, string]> = [
  ['203.0.113.9', 'FR'],
  ['203.0.113.77', 'DE'],
  ['198.51.100.4', 'US'],
  ['198.51.100.200', 'NL'],
  ['192.0.2.33', 'BR'],
  ['192.0.2.128', 'CN'],
  ['2001:db8::7', 'SE'],
  ['2001:db8:42::1', 'SG'],
]

const statusCodes: Several<readonly number[]> = [[200], [200, 404], [403], [404], [500, 200], [302]]
const methods: Several<string> = ['GET', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH']
const blockStatuses: Several<string> = ['blocked', 'monitored', 'monitored', 'partially_blocked']
