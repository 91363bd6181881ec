// What the doctor finds, and how many things of a kind become one finding.

import { errorTable } from '../../errors.ts'
import type { TailraceError } from '../../errors.ts'
import { named } from '../../telemetry/page/words.ts'

/** `wrong`: something does not work, or will not for long. `advice`: it works, and could be better. */
export const severities = ['wrong', 'advice', 'fine'] as const
export type Severity = (typeof severities)[number]

export interface Finding {
  readonly severity: Severity
  readonly subject: string
  readonly text: string
  /** What to do; null: nothing. */
  readonly remedy: string | null
}

export function fine(subject: string, text: string): Finding {
  return { severity: 'fine', subject, text, remedy: null }
}

export function advice(subject: string, text: string, remedy: string): Finding {
  return { severity: 'advice', subject, text, remedy }
}

export function wrong(subject: string, text: string, remedy: string): Finding {
  return { severity: 'wrong', subject, text, remedy }
}

export function wrongBy(subject: string, error: TailraceError): Finding {
  return wrong(subject, error.message, errorTable[error.code].doc)
}

const singly = 5

/** A few are told one by one; many of the same `kind` are one finding that names some of them. */
export function fold<T>(
  things: readonly T[],
  parts: {
    readonly kind: (thing: T) => string
    readonly name: (thing: T) => string
    readonly tell: (thing: T) => Finding
  },
): Finding[] {
  return [...Map.groupBy(things, parts.kind).values()].flatMap((alike) => {
    const [first] = alike
    if (first === undefined || alike.length <= singly) return alike.map(parts.tell)
    const one = parts.tell(first)
    return [
      { ...one, subject: `${alike.length} alike: ${named(alike.map(parts.name))}`, text: `the first: ${one.text}` },
    ]
  })
}

/** `work` for each, so many at once; what the signal does not leave time for is undefined. */
export async function eachOf<T, R>(
  things: readonly T[],
  atOnce: number,
  signal: AbortSignal,
  work: (thing: T) => Promise<R>,
): Promise<(R | undefined)[]> {
  const results: (R | undefined)[] = things.map(() => undefined)
  const left = things.entries()
  const take = async (): Promise<void> => {
    for (const [i, thing] of left) {
      if (signal.aborted) return
      results[i] = await work(thing)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, take))
  return results
}
