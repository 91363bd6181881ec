// Numbers, sizes and times as people read them.

import { html } from './html.ts'
import type { Html } from './html.ts'

/** `12 s`, `3 min`, `2 h 5 min`, `4 d`: two units at most, for the small ones matter no more. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 60) return `${whole} s`
  if (whole < 600) return joined([Math.floor(whole / 60), 'min'], [whole % 60, 's'])
  if (whole < 3_600) return `${Math.round(whole / 60)} min`
  if (whole < 86_400) return joined([Math.floor(whole / 3_600), 'h'], [Math.floor((whole % 3_600) / 60), 'min'])
  return joined([Math.floor(whole / 86_400), 'd'], [Math.floor((whole % 86_400) / 3_600), 'h'])
}

function joined(...parts: (readonly [number, string])[]): string {
  const shown = parts.filter(([count]) => count > 0)
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}

/** `1 234`, with thin spaces that do not break. */
export function count(value: number): string {
  return (Math.round(value * 10) / 10).toLocaleString('en-US').replaceAll(',', '\u202f')
}

/** `1.2 MB`. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

/** `1 event`, `2 events`. */
export function counted(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`
}

/** `acme, beta and 4 more`. */
export function named(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most)
  const rest = names.length - shown.length
  if (rest > 0) return `${shown.join(', ')} and ${rest} more`
  return shown.length > 1 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : shown.join('')
}

/** How long ago, with the moment itself for programs and for who points at it. */
export function ago(iso: string, now: number): Html {
  const at = Date.parse(iso)
  if (Number.isNaN(at)) return html`${iso}`
  return html`<time datetime="${iso}" title="${iso}">${duration((now - at) / 1_000)} ago</time>`
}

/** `2026-11-21 09:12 UTC`. */
export function moment(iso: string): string {
  return Number.isNaN(Date.parse(iso)) ? iso : `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}

/** `09:12:31 UTC`. */
export function clock(now: number): Html {
  const iso = new Date(now).toISOString()
  return html`<time datetime="${iso}">${iso.slice(11, 19)} UTC</time>`
}
