// The contract of a stream: pure; it writes requests and reads records.

import type { EventBody, Kind, ServiceRecord, StreamName } from '../event.ts'
import type { ListFilter, ListOperation, ListQuery } from '../service/operations.ts'

/** A range of ordering times, Unix seconds; null: open on that side. */
export interface TimeRange {
  readonly from: number | null
  readonly to: number | null
}

export interface Stream {
  readonly name: StreamName
  readonly kind: Kind
  readonly summary: string
  readonly operation: ListOperation
  /**
   * - `timeline`: sorted newest first, read from the watermark on
   * - `inventory`: no order; everything is listed and compared
   * - `both`: a timeline for what is new, an inventory for what has gone
   */
  readonly reading: 'timeline' | 'inventory' | 'both'
  /** Whether the list can be restricted by time. */
  readonly ranges: boolean
  /** What an identity that has gone from an inventory is called. */
  readonly gone: 'closed' | 'deleted'
  /** The keys of a record in the order in which the service usually sends them: written as they are. */
  readonly keys: readonly string[]
  query(clients: readonly number[], range: TimeRange): Omit<ListQuery, 'offset' | 'limit'>
  /** The service's own id of the record; undefined where it has none. */
  identity(record: ServiceRecord): string | undefined
  /** Ordering time, Unix seconds; undefined where it has none. */
  time(record: ServiceRecord): number | undefined
  /** 1 to 100; null where the service says nothing. */
  threat(record: ServiceRecord): number | null
  client(record: ServiceRecord): number | null
  body(record: ServiceRecord): EventBody
}

/** `time` as the interface documents it: `[[from, null]]`; with an end only where closed ranges are honoured. */
export function timeFilter(range: TimeRange): Pick<ListFilter, 'time'> {
  return range.from === null && range.to === null ? {} : { time: [[range.from ?? 0, range.to]] }
}
