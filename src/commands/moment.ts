// Moments as people give them, and as they are shown.

import { parseDuration } from '../quantity.ts'
import { misuse } from './redis-access.ts'

export const momentHelp = 'so long ago (2h), ISO 8601 (2026-11-21T08:00:00Z), or Unix seconds'

/** Unix seconds. Rejects with `misuse`. */
export function readMoment(text: string, flag: string, nowMs: number): number {
  const ago = parseDuration(text)
  if (ago !== undefined) return Math.floor((nowMs - ago) / 1000)
  if (/^\d{9,10}(\.\d+)?$/.test(text)) return Math.floor(Number(text))
  // With a zone: a time without one means another moment on each machine.
  const dated = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(dated)) throw misuse(`${flag} ${text} is no moment: give ${momentHelp}`)
  return Math.floor(dated / 1000)
}

/** `2026-11-21T08:00:00Z`; `-` for null. */
export function showMoment(unixSeconds: number | null): string {
  if (unixSeconds === null) return '-'
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z')
}

export function showSpan(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`
}
