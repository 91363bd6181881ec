// The checker of formats, where it is at hand: official schemas, and rules of its own.

import { Buffer } from 'node:buffer'
import { existsSync } from 'node:fs'
import { streamNames } from '../../src/event.ts'
import type { Encode } from '../../src/ship/format.ts'
import { actions, hostileEvents } from './hostile.ts'

const checker = new URL('../../../shared/conformance/lib/check.mjs', import.meta.url)

export const hasChecker = existsSync(checker)

/** Of each stream and action. The checker is slow: `HOSTILE_EVENTS=10000` for a long look. */
export const eventsEach = Number(process.env['HOSTILE_EVENTS'] ?? 400)

interface Verdict {
  readonly events: number
  readonly faulty: number
  readonly problems: readonly string[]
}

type CheckAll = (format: string, input: Buffer, options?: object) => Verdict

/** What is wrong with hostile events of all streams and actions in this format. */
export async function faultsOf(format: string, encode: Encode, options: object = {}): Promise<Verdict> {
  const { checkAll } = (await import(checker.href)) as { readonly checkAll: CheckAll }
  const sum = { events: 0, faulty: 0, problems: [] as string[] }
  for (const [i, stream] of streamNames.entries()) {
    for (const [j, action] of actions.entries()) {
      const lines = Array.from(hostileEvents(eventsEach, { stream, action, seed: 1 + i * 10 + j }), encode)
      const { events, faulty, problems } = checkAll(format, Buffer.from(lines.join('\n')), options)
      sum.events += events
      sum.faulty += faulty
      sum.problems.push(...problems)
    }
  }
  return sum
}
