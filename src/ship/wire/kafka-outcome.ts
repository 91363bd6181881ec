// Which records a cluster has, of a send that did not go well everywhere: each partition answers for itself.

import { TailraceError } from '../../errors.ts'
import { causesOf, kafkaError, protocolError } from './kafka-errors.ts'
import type { Untaken } from '../sink.ts'

/** Where a record was sent to, in order of the records. */
export interface Place {
  readonly topic: string
  readonly partition: number
}

/** One partition's part of an answer (Produce response, Kafka protocol guide). */
interface PartitionAnswer {
  readonly index: number
  readonly errorCode: number
}

interface ProduceAnswer {
  readonly responses: readonly { readonly name: string; readonly partitionResponses: readonly PartitionAnswer[] }[]
}

type Offsets = readonly { readonly topic: string; readonly partition: number }[]

/** The records that a good answer does not speak of: they are not confirmed. */
export function unanswered(offsets: Offsets | undefined, places: readonly Place[], where: string): Untaken[] {
  const taken = new Set(offsets?.map(nameOf))
  const message = `${where}: the answer leaves out a partition that was sent to`
  const error = new TailraceError('sink_reset', message, { inDoubt: true })
  return places.flatMap((place, index) => (taken.has(nameOf(place)) ? [] : [{ index, error }]))
}

/** The records that were not taken; throws where that is all of them. `names` are the protocol's, by error code. */
export function untakenOf(
  thrown: unknown,
  places: readonly Place[],
  { where, names }: { readonly where: string; readonly names: Readonly<Record<number, string>> },
): Untaken[] {
  const { taken, errors } = answersIn(thrown)
  const left = places.filter((place) => !taken.has(nameOf(place)))
  if (left.length === places.length) throw kafkaError(thrown, { where, phase: 'sending', events: left.length })
  // What other partitions said must not be held against these.
  const silent = new TailraceError('sink_reset', `${where}: no answer for a partition`, {
    cause: thrown,
    inDoubt: true,
  })
  const counts = new Map<string, number>()
  for (const place of left) counts.set(nameOf(place), (counts.get(nameOf(place)) ?? 0) + 1)
  return places.flatMap((place, index) => {
    const name = nameOf(place)
    if (taken.has(name)) return []
    const code = errors.get(name)
    const said = code === undefined ? undefined : names[code]
    // A partition's records are refused as one.
    const events = counts.get(name) ?? 1
    return [{ index, error: said === undefined ? silent : protocolError(said, { where, events }, { cause: thrown }) }]
  })
}

function nameOf({ topic, partition }: Place): string {
  return `${topic}:${partition}`
}

interface Answers {
  /** Partitions that confirmed, at whatever attempt. */
  readonly taken: ReadonlySet<string>
  readonly errors: ReadonlyMap<string, number>
}

function answersIn(thrown: unknown): Answers {
  const taken = new Set<string>()
  const errors = new Map<string, number>()
  for (const error of causesOf(thrown) as (Error & { produced?: { offsets?: Offsets }; response?: ProduceAnswer })[]) {
    for (const place of error.produced?.offsets ?? []) taken.add(nameOf(place))
    for (const { name: topic, partitionResponses } of error.response?.responses ?? []) {
      for (const { index: partition, errorCode } of partitionResponses) {
        if (errorCode === 0) taken.add(nameOf({ topic, partition }))
        else errors.set(nameOf({ topic, partition }), errorCode)
      }
    }
  }
  return { taken, errors }
}
