// Answers that go wrong on purpose: the next few, or some share of all.

import type { Random } from './random.ts'

export const faultKinds = [
  '429',
  '429-date',
  '503',
  '503-html',
  '500',
  '400',
  '403',
  '409',
  '423',
  'html-200',
  'inner-error',
  'truncate',
  'cut',
  'reset',
  'stall',
  'swallow',
  'slow',
] as const

/**
 * What goes wrong. With `truncate`, `cut`, `reset`, `stall` and `slow` the operation is performed and its answer
 * suffers; with the others it is not performed. `swallow`: the request leads nowhere, and no answer comes.
 */
export type FaultKind = (typeof faultKinds)[number]

/** Applies to the next `count` answers, each with `probability`. */
export interface Fault {
  readonly kind: FaultKind
  /** Default: 1, or without end where a probability is given. */
  readonly count?: number | undefined
  /** Default: 1. */
  readonly probability?: number | undefined
  /** For 429 and 503. Default: none is sent (429, 503), 1 (429-date). */
  readonly retryAfterSeconds?: number | undefined
  /** Only answers for this stream: attacks, incidents, vulnerabilities, rules, conditions. */
  readonly stream?: string | undefined
  /** Only answers of this operation, by its path. */
  readonly path?: string | undefined
  /** For `slow`: how long the answer drips. Default: 5. */
  readonly seconds?: number | undefined
  /** For `inner-error`. Default: 500. */
  readonly status?: number | undefined
}

export interface Faults {
  inject(fault: Fault): void
  clear(): void
  /** The fault that the present answer is to suffer, if any. */
  next(stream: string | undefined, path: string): Fault | undefined
  list(): Fault[]
}

export function createFaults(random: Random): Faults {
  let pending: { readonly fault: Fault; left: number }[] = []
  return {
    inject(fault) {
      const left = fault.count ?? (fault.probability === undefined ? 1 : Number.POSITIVE_INFINITY)
      pending.push({ fault, left })
    },
    clear() {
      pending = []
    },
    next(stream, path) {
      for (const item of pending) {
        const { fault } = item
        if (fault.stream !== undefined && fault.stream !== stream) continue
        if (fault.path !== undefined && fault.path !== path) continue
        if (!random.chance(fault.probability ?? 1)) continue
        if (--item.left <= 0) pending = pending.filter((other) => other !== item)
        return fault
      }
      return undefined
    },
    list: () => pending.map(({ fault, left }) => ({ ...fault, count: Number.isFinite(left) ? left : undefined })),
  }
}

/** A request body as a fault, or what is wrong with it. */
export function readFault(body: Readonly<Record<string, unknown>>): Fault | string {
  const kind = faultKinds.find((known) => known === body['kind'])
  if (kind === undefined) return `"kind" must be one of ${faultKinds.join(', ')}.`
  const numbers = ['count', 'probability', 'retryAfterSeconds', 'seconds', 'status'] as const
  const texts = ['stream', 'path'] as const
  for (const key of Object.keys(body)) {
    if (key !== 'kind' && ![...numbers, ...texts].some((known) => known === key)) return `"${key}" is not known.`
  }
  const bad =
    numbers.find((key) => body[key] !== undefined && !(typeof body[key] === 'number' && body[key] >= 0)) ??
    texts.find((key) => body[key] !== undefined && typeof body[key] !== 'string')
  if (bad !== undefined) return `"${bad}" has a wrong value.`
  return { ...body, kind }
}
