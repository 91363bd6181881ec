// What an operation of the service is: its path, its description for the interface page, and what it does.

import type { StreamName } from '../../event.ts'
import type { Credentials, Directory } from '../directory.ts'
import type { Answer } from '../envelope.ts'
import type { Lists } from '../list.ts'
import type { QueryRules } from '../query.ts'
import type { World } from '../world.ts'

/** A schema of the interface description. */
export type Schema = Readonly<Record<string, unknown>>

export interface Call {
  readonly credentials: Credentials
  readonly body: Readonly<Record<string, unknown>>
  readonly params: Readonly<Record<string, string>>
  /** The body as it came: equal requests have equal ones. */
  readonly raw: string
}

/** What operations work on. */
export interface Backend {
  readonly world: World
  readonly lists: Lists
  readonly directory: Directory
  readonly queryRules: QueryRules
  /** Rules are locked while a snapshot is restored. */
  readonly isRestoring: () => boolean
}

export interface Operation {
  /** As fastify writes it: `/v2/partner/:partnerid/partner_client`. */
  readonly path: string
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly tag: string
  readonly request?: Schema
  readonly params?: Schema
  /** The body of the success answer. */
  readonly response: Schema
  /** Further statuses that it answers with, besides 200, 400, 403 and 429. */
  readonly refusals: readonly number[]
  /** Which stream a request is for, so that faults can be aimed. */
  stream?(body: Readonly<Record<string, unknown>>): StreamName
  run(call: Call, backend: Backend): Answer
}
