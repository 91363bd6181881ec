// The vocabulary of Tailrace: what a record becomes on its way to a receiver. Imports nothing.

export const streamNames = ['attacks', 'incidents', 'vulnerabilities', 'rules', 'conditions'] as const

/** One feed of a tenant. */
export type StreamName = (typeof streamNames)[number]

/** What the service returned: one element of a list. Read tolerantly; any key may be missing or odd. */
export type ServiceRecord = Readonly<Record<string, unknown>>

/**
 * What happened to a record. `gap` says that records could not be read, `heartbeat` that a stream is
 * alive; both are about the stream, not about a record.
 */
export type Action = 'created' | 'updated' | 'closed' | 'deleted' | 'gap' | 'heartbeat'

/** What an event is about. */
export type Kind = 'attack' | 'incident' | 'vulnerability' | 'rule' | 'condition' | 'gap' | 'heartbeat'

/** One source address of an attack. `count` is the number of hits from it. */
export interface AttackSource {
  readonly ip: string
  readonly country: string | null
  readonly count: number | null
}

/** An attack or incident: an aggregate of hits that grows. Times are Unix milliseconds. */
export interface AttackBody {
  readonly type: string | null
  readonly domain: string | null
  readonly path: string | null
  readonly method: string | null
  readonly parameter: string | null
  readonly point: readonly string[]
  readonly target: string | null
  readonly threat: number | null
  readonly blockStatus: string | null
  readonly state: string | null
  readonly hits: number | null
  readonly sourceCount: number | null
  readonly sources: readonly AttackSource[]
  readonly statusCodes: readonly number[]
  readonly firstTime: number | null
  readonly lastTime: number | null
  readonly application: number | null
  readonly vulnerability: number | string | null
}

/** A vulnerability. Times are Unix milliseconds. */
export interface VulnerabilityBody {
  readonly humanId: string | null
  readonly status: string | null
  readonly type: string | null
  readonly title: string | null
  readonly description: string | null
  readonly domain: string | null
  readonly path: string | null
  readonly method: string | null
  readonly parameter: string | null
  readonly target: string | null
  readonly threat: number | null
  readonly validateTime: number | null
  readonly invalidateTime: number | null
  readonly lastCheck: number | null
}

/** A rule (the service says "hint"). */
export interface RuleBody {
  readonly type: string | null
  readonly attackType: string | null
  readonly condition: number | null
  readonly point: readonly unknown[]
  readonly action: readonly unknown[]
  readonly regex: string | null
  readonly comment: string | null
  readonly validated: boolean | null
  readonly enabled: boolean | null
  readonly updatedAt: number | null
}

/** A condition (the service says "action"). */
export interface ConditionBody {
  readonly name: string | null
  readonly conditions: readonly unknown[]
  readonly rules: number | null
  readonly updatedAt: number | null
}

/** Records of [from, to] (Unix milliseconds) could not be read, and why. */
export interface GapBody {
  readonly from: number
  readonly to: number
  readonly reason: string
}

/** A stream is alive. Times are Unix milliseconds. */
export interface HeartbeatBody {
  /** How far it is known to be complete; null: not yet. */
  readonly watermark: number | null
  /** Sequence of the last event before this one. */
  readonly lastSequence: number
  /** Events since the heartbeat before. */
  readonly events: number
}

export type EventBody = AttackBody | VulnerabilityBody | RuleBody | ConditionBody | GapBody | HeartbeatBody

/** A record as a receiver sees it. */
export interface SecurityEvent {
  /** Deterministic: from tenant, stream, identity, revision and version. 22 characters of base64url. */
  readonly id: string
  /** The how-manieth version of its identity this is, from 1. */
  readonly revision: number
  /** Contiguous per tenant and stream, from 1: a receiver sees a gap. */
  readonly sequence: number
  readonly action: Action
  readonly kind: Kind
  /** When it happened, Unix milliseconds: an attack's last hit, a rule's last change. */
  readonly time: number
  /** When Tailrace read it, Unix milliseconds. */
  readonly observedTime: number
  readonly tenant: string
  readonly client: number | null
  readonly stream: StreamName
  /** What stays the same while the record changes: the service's own id of it. */
  readonly identity: string
  /** 0 to 10, a whole number, from the service's threat by the tenant's borders; `levelOf` has it in words. */
  readonly severity: number
  /** Read again by a back-fill: old, and maybe delivered before. */
  readonly replayed: boolean
  /** Extra fields of the destination. */
  readonly labels: Readonly<Record<string, string>>
  readonly body: EventBody
  /** The record as it came, and the same as JSON text. */
  readonly record: ServiceRecord
  readonly recordJson: string
}

/** A severity in words. 0 is informational, 1 to 3 low, 4 to 6 medium, 7 and 8 high, 9 and 10 critical. */
export type Level = 'informational' | 'low' | 'medium' | 'high' | 'critical'

export function levelOf(severity: number): Level {
  if (severity >= 9) return 'critical'
  if (severity >= 7) return 'high'
  if (severity >= 4) return 'medium'
  return severity >= 1 ? 'low' : 'informational'
}

/** The lowest threat (1 to 100) of a level. */
export interface SeverityBorders {
  readonly medium: number
  readonly high: number
  readonly critical: number
}

/** Names one tenant's stream: `tenant/stream`. Part of keys and job data. */
export type StreamKey = `${string}/${StreamName}`

/** The two parts of a stream key. */
export function refOf(key: StreamKey): { readonly tenant: string; readonly stream: StreamName } {
  const slash = key.lastIndexOf('/')
  return { tenant: key.slice(0, slash), stream: key.slice(slash + 1) as StreamName }
}

/** How a destination wants its events: pure, and run once, when a page is read. */
export interface Encoding {
  /** Two destinations with the same key share the bytes. */
  readonly key: string
  /** The bytes (as UTF-8 text) that the receiver gets for one event; undefined: this event is not for it. */
  encode(event: SecurityEvent): string | undefined
}
