// What `/api/status` answers with.

import type { ErrorCode } from '../errors.ts'
import type { StreamName } from '../event.ts'
import type { DestinationState } from './report.ts'

/** Times are ISO 8601 text. What never happened is null. */
export interface StatusPicture {
  readonly version: string
  /** When it was taken. */
  readonly at: string
  readonly startedAt: string
  readonly uptimeSeconds: number
  readonly redis: { readonly state: string; readonly reason: string; readonly since: string } | null
  /** The share of its memory that Redis uses, 0 to 1; 0 where it has no bound. */
  readonly redisMemoryShare: number | null
  readonly config: ConfigStatus
  /** What a person has paused: `tenant:…`, `stream:…`, `destination:…`. */
  readonly paused: readonly PauseStatus[]
  /** The limit of requests, and what of it is used. */
  readonly instances: readonly InstanceStatus[]
  readonly streams: readonly StreamStatus[]
  readonly destinations: readonly DestinationStatus[]
  /** The latest failures outside of turns and sends, newest first. */
  readonly failures: readonly FailureStatus[]
}

/** An instance of the service, over the last minute, as this replica sees it. */
export interface InstanceStatus {
  readonly instance: string
  readonly requestsPerSecond: number
  /** Those that were answered by anything but 2xx, or not at all, a minute. */
  readonly failedPerMinute: number
  /** `service.requestsPerSecond`: shared by all replicas behind a source address. Null: not known here. */
  readonly limitPerSecond: number | null
  /** When it last asked for a pause. */
  readonly throttledAt: string | null
}

export interface PauseStatus {
  readonly name: string
  readonly since: string
  readonly reason: string
}

export interface ConfigStatus {
  readonly appliedAt: string
  readonly brokenTenants: number
  /** Sections that have changed and count from the next start. */
  readonly restart: readonly string[]
  /** Why the files as they are now were refused; null: they are in force. */
  readonly refused: ErrorStatus | null
}

export interface StreamStatus {
  readonly tenant: string
  readonly stream: StreamName
  /** Known to be complete up to here, and how far that is behind the clock of the service. */
  readonly completeAt: string | null
  readonly watermarkAgeSeconds: number | null
  /** From one look to the next, as configured. Null: not known here. */
  readonly everySeconds: number | null
  readonly lastPass: PassStatus | null
  readonly eventsRead: number
  readonly eventsPerMinute: number
  /** Turns in a row that failed. */
  readonly failures: number
  readonly lastError: ErrorStatus | null
  /** Destinations whose full backlog makes it pause. */
  readonly pausedBy: readonly string[]
  readonly gaps: number
  readonly lastGap: { readonly from: string; readonly to: string; readonly reason: string } | null
}

export interface PassStatus {
  readonly purpose: string
  readonly pages: number
  readonly records: number
  readonly seconds: number
  readonly at: string
}

export interface DestinationStatus {
  readonly destination: string
  readonly sink: string
  readonly format: string
  /** What a confirmation of it proves, in words; `confirmed` is false where it confirms nothing. */
  readonly confirms: string
  readonly confirmed: boolean
  readonly state: DestinationState | 'unknown'
  readonly reason: string | null
  readonly backlogBatches: number
  readonly backlogBytes: number
  /** What may wait. Null: it is not configured any more, or nothing has been measured yet. */
  readonly backlogBoundBytes: number | null
  readonly deadLetters: number
  readonly eventsShipped: number
  readonly eventsPerMinute: number
  /** From the time of an event to its confirmation, of the latest batch. */
  readonly delaySeconds: number | null
  readonly lastShippedAt: string | null
  /** Until when the certificate is valid that the receiver showed last. */
  readonly certificateExpiresAt: string | null
  readonly lastError: ErrorStatus | null
}

export interface ErrorStatus {
  readonly code: ErrorCode
  readonly message: string
  readonly at: string
}

export interface FailureStatus extends ErrorStatus {
  /** What was going on, in words. */
  readonly during: string
}
