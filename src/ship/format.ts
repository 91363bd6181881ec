// The contract of a format: pure, no I/O, never throws for any event.

import type { SecurityEvent } from '../event.ts'

export interface Format {
  readonly name: string
  readonly summary: string
  readonly contentType: string
  /** One event as text without line breaks. */
  encode(event: SecurityEvent): string
}
