// Attacks of the past. There may be a million, so each is a number and a place in time; its content is put
// together, when it is asked for, from one of a thousand patterns.

import type { ServiceRecord } from '../event.ts'
import { createRandom } from './random.ts'
import { attackIndex, makeAttack } from './records.ts'

/** What tells one attack of the past from another. Times are Unix seconds. */
export interface Trace {
  readonly client: number
  readonly serial: number
  /** Which pattern. */
  readonly seed: number
  readonly first: number
  readonly last: number
}

/** The content as JSON. */
export function traceJson(trace: Trace): string {
  const { head, middle, times, between, tail } = patternOf(trace)
  const raw = traceRaw(trace)
  return `${head}${raw}${middle}${raw}${times}${trace.first}${between}${trace.last}${tail}`
}

export function traceRecord(trace: Trace): ServiceRecord {
  return JSON.parse(traceJson(trace)) as ServiceRecord
}

export function traceIdentity(trace: Trace): string {
  return `${attackIndex(trace.client)}:${traceRaw(trace)}`
}

/** What is needed for sorting and selecting, without making the content. */
export function traceFacts(client: number, seed: number): { readonly hits: number; readonly vulnerable: boolean } {
  return patternOf({ client, seed })
}

/** Whether an identity could be one of the history. */
export function isHistoric(identity: string): boolean {
  return /:h\d{10}_\d+$/.test(identity)
}

/** JSON, cut where an attack differs from others of its pattern. */
interface Pattern {
  readonly hits: number
  readonly vulnerable: boolean
  readonly head: string
  readonly middle: string
  readonly times: string
  readonly between: string
  readonly tail: string
}

const patternCount = 1000
const patterns = new Map<number, (Pattern | undefined)[]>()
const marks = { raw: '@raw@', first: 1_000_000_000_001, last: 1_000_000_000_002 }

function patternOf({ client, seed }: Pick<Trace, 'client' | 'seed'>): Pattern {
  let own = patterns.get(client)
  if (own === undefined) patterns.set(client, (own = []))
  const number = seed % patternCount
  return (own[number] ??= makePattern(client, number))
}

function makePattern(client: number, number: number): Pattern {
  // Every tenth has a vulnerability behind it.
  const vulnerable = number % 10 === 0
  const hits = 1 + ((number * 7) % 97)
  const attack = makeAttack(createRandom(number), { client, hits, ...marks, vulnerability: vulnerable ? number : null })
  const cuts = new RegExp(`${marks.raw}|${marks.first}|${marks.last}`)
  const [head = '', middle = '', times = '', between = '', tail = ''] = JSON.stringify(attack).split(cuts)
  return { hits, vulnerable, head, middle, times, between, tail }
}

function traceRaw({ serial, seed }: Pick<Trace, 'serial' | 'seed'>): string {
  return `h${1_000_000_000 + serial}_${seed}`
}
