// What of the page is wanted: a filter and a place, as a form or link puts them into the address.

import { streamStates } from './stream-state.ts'
import type { StreamState } from './stream-state.ts'

export interface PageQuery {
  /** A part of a tenant's name, in lower case. */
  readonly text: string
  readonly state: StreamState | null
  /** From 1. */
  readonly page: number
}

const textMax = 100

/** Whatever was asked for, as something that can be shown. */
export function readQuery(given: unknown): PageQuery {
  const values = typeof given === 'object' && given !== null ? given : {}
  const text = (name: string): string => {
    const value: unknown = Reflect.get(values, name)
    return typeof value === 'string' ? value.slice(0, textMax).trim() : ''
  }
  const page = Number(text('page'))
  return {
    text: text('q').toLowerCase(),
    state: streamStates.find((state) => state === text('state')) ?? null,
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  }
}

/** The address of the page with this filter; what is usual is left out. */
export function addressOf({ text, state, page }: PageQuery): string {
  const search = new URLSearchParams()
  if (text !== '') search.set('q', text)
  if (state !== null) search.set('state', state)
  if (page > 1) search.set('page', String(page))
  return search.size === 0 ? './' : `./?${search.toString()}`
}
