// The contract of a format, and how one is declared: options, published mapping and code in one file.

import type convict from 'convict'
import type { SecurityEvent } from '../event.ts'

/** A part of `config/mappings.md`: rendered from what the code goes by. */
export interface MappingTable {
  readonly title: string
  /** Sentences above the table, where there is something to say. */
  readonly notes?: readonly string[]
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** One event as text: pure, no I/O, without line breaks, and throws for no event. */
export type Encode = (event: SecurityEvent) => string

export interface Format<Options extends object = object> {
  readonly name: string
  readonly summary: string
  /** Of lines of it. What has `json` in it is one JSON object an event. */
  readonly contentType: string
  /** Type, default, doc and check of every option, once. `destinations[].<name of the format>.<option>`. */
  readonly options: convict.Schema<Options>
  /** Where each field comes from, for people who write searches. */
  readonly mapping: readonly MappingTable[]
  /** Puts together what is constant once. */
  compile(options: Options): Encode
}

/** Declares a format; `Options` is inferred from the schema. */
export function defineFormat<Options extends object>(format: Format<Options>): Format<Options> {
  return format
}

export function isJson({ contentType }: Pick<Format, 'contentType'>): boolean {
  return contentType.includes('json')
}
