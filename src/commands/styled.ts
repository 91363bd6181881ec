// Lines for a terminal: cut to its width, coloured where that is wanted, and with nothing in them that it would obey.

import { visible } from '../telemetry/page/html.ts'

export type Style = 'plain' | 'strong' | 'soft' | 'act' | 'watch' | 'fine'
export type Piece = readonly [text: string, style: Style]
export type Line = readonly Piece[]

const codes: Readonly<Record<Style, string>> = {
  plain: '',
  strong: '\u001B[1m',
  soft: '\u001B[2m',
  act: '\u001B[1;31m',
  watch: '\u001B[33m',
  fine: '\u001B[32m',
}

/** The line as text of at most `width` columns. */
export function paint(line: Line, width: number, colours: boolean): string {
  let left = Math.max(1, width)
  let text = ''
  for (const [raw, style] of line) {
    const shown = cut(visible(raw), left)
    left -= columnsOf(shown)
    text += colours && style !== 'plain' && shown !== '' ? `${codes[style]}${shown}\u001B[0m` : shown
    if (left <= 0) break
  }
  return text
}

export function padded(text: string, width: number): string {
  const shown = cut(visible(text), width)
  return shown + ' '.repeat(width - columnsOf(shown))
}

function cut(text: string, width: number): string {
  if (columnsOf(text) <= width) return text
  let shown = ''
  let columns = 0
  for (const character of text) {
    columns += columnsOf(character)
    if (columns > width - 1) break
    shown += character
  }
  return `${shown}\u2026`
}

/** Characters of East Asian writing, and pictures, take two columns; combining ones none. */
function columnsOf(text: string): number {
  let columns = 0
  for (const character of text) {
    if (/^\p{Mn}|^\p{Me}|^\p{Cf}/u.test(character)) continue
    columns +=
      /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|^\p{Emoji_Presentation}/u.test(
        character,
      )
        ? 2
        : 1
  }
  return columns
}
