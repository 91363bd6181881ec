// Identities and versions as digests, and a record as the JSON text that they are made of.

import { hash } from 'node:crypto'
import type { ServiceRecord } from '../event.ts'

/** Counters that depend on the query, not on the record. */
const volatileSuffix = '_by_filter'

export interface RecordText {
  /** 8 bytes of the digest of the record less what is volatile, as `latin1`. */
  readonly version: string
  /** The record as it came, as JSON; volatile keys last. */
  readonly json: string
}

/** How records with the same keys in the same order are written. */
interface Shape {
  readonly arrived: readonly string[]
  /** Where the keys must be put in order first: that order, volatile keys last. */
  readonly ordered: readonly string[] | null
  /** What stands before the first volatile key's value; null: there is none. */
  readonly volatileMark: string | null
}

const shapesMax = 256

/**
 * Makes the text of a stream's records: once, for digest and event both. A record whose keys come in another
 * order is the same version, so they are put in one order first: `usual`, then the unknown by name. Records
 * that arrive in it, as nearly all do, are written as they are.
 */
export function recordTexts(usual: readonly string[]): (record: ServiceRecord) => RecordText {
  const ranks = new Map(usual.map((key, rank) => [key, rank]))
  const shapes = new Map<string, Shape>()
  let latest: Shape = { arrived: [], ordered: null, volatileMark: null }

  const learn = (name: string, keys: readonly string[]): Shape => {
    const rank = (key: string): number => (key.endsWith(volatileSuffix) ? Infinity : (ranks.get(key) ?? usual.length))
    const ordered = keys.toSorted((a, b) => compare(rank(a), rank(b)) || compare(a, b))
    const first = ordered.findIndex((key) => key.endsWith(volatileSuffix))
    const volatileMark = first < 0 ? null : `${first === 0 ? '' : ','}${JSON.stringify(ordered[first])}:`
    const shape = { arrived: keys, ordered: sameKeys(ordered, keys) ? null : ordered, volatileMark }
    if (shapes.size >= shapesMax) shapes.clear() // odd records come with any keys
    shapes.set(name, shape)
    return shape
  }
  return (record) => {
    const keys = Object.keys(record)
    if (!sameKeys(keys, latest.arrived)) {
      const name = keys.join('\n')
      latest = shapes.get(name) ?? learn(name, keys)
    }
    const json = JSON.stringify(latest.ordered === null ? record : inOrder(record, latest.ordered))
    const stable = latest.volatileMark === null ? json : json.slice(0, json.lastIndexOf(latest.volatileMark))
    return { version: hash('sha256', stable, 'binary').slice(0, 8), json }
  }
}

/** 12 bytes of an identity's digest, as `latin1`. */
export function identityKey(identity: string): string {
  return hash('sha256', identity, 'binary').slice(0, 12)
}

/** The id of an event: 16 bytes, 22 characters of base64url. `version` as `latin1`. */
export function eventId(stream: string, identity: string, revision: number, version: string): string {
  return hash('sha256', `${stream}\n${identity}\n${revision}\n${version}`, 'base64url').slice(0, 22)
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

function inOrder(record: ServiceRecord, keys: readonly string[]): ServiceRecord {
  return Object.fromEntries(keys.map((key) => [key, record[key]]))
}
