// How something is, as a sign and a word: the colour only adds to it.

import { html } from './html.ts'
import type { Html } from './html.ts'

export type Tone = 'act' | 'watch' | 'idle' | 'fine'

const shapes: Readonly<Record<Tone, Html>> = {
  act: html`<path d="M1 1h10v10H1z" />`,
  watch: html`<path d="M6 .5 12 11.5H0z" />`,
  idle: html`<circle cx="6" cy="6" r="4.5" class="ring" />`,
  fine: html`<circle cx="6" cy="6" r="5" />`,
}

export function mark(tone: Tone, word: string): Html {
  return html`<span class="mark ${tone}">${sign(tone)}${word}</span>`
}

export function sign(tone: Tone): Html {
  return html`<svg class="sign ${tone}" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
    ${shapes[tone]}
  </svg>`
}

/** A share from 0 to 1 as a bar. The figures stand beside it. */
export function bar(share: number): Html {
  const width = Math.round(100 * Math.min(1, Math.max(0, share)))
  const tone = share >= 0.9 ? 'act' : share >= 0.7 ? 'watch' : 'fine'
  return html`<svg class="bar ${tone}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect class="room" width="100" height="6" />
    <rect width="${width}" height="6" />
  </svg>`
}
