// HTML in which everything that was put in is escaped, unless it is HTML itself.

export interface Html {
  readonly html: string
}

export type Content = Html | string | number | null | readonly Content[]

/** A template: `` html`<b>${name}</b>` ``. Attributes must be in double quotes. Null is nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  return { html: compact(parts).reduce((before, part, i) => before + render(values[i - 1] ?? null) + part) }
}

const compacted = new WeakMap<TemplateStringsArray, readonly string[]>()

/** Without the indentation of our sources, which would be the larger part of a long page. */
function compact(parts: TemplateStringsArray): readonly string[] {
  const known = compacted.get(parts)
  if (known) return known
  const made = parts.map((part) => part.replaceAll(/\s*\n\s*/g, '\n'))
  compacted.set(parts, made)
  return made
}

/** Text of our own that is HTML, CSS or script as it stands. Never what came from elsewhere. */
export function trusted(text: string): Html {
  return { html: text }
}

function render(content: Content): string {
  if (content === null) return ''
  if (typeof content === 'string') return escaped(content)
  if (typeof content === 'number') return String(content)
  return 'html' in content ? content.html : content.map(render).join('')
}

function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/**
 * Without what could change how the rest is shown: control characters (those of terminals among them), and those
 * that turn the direction of writing. Each is replaced by U+FFFD.
 */
export function visible(text: string): string {
  // oxlint-disable-next-line eslint/no-control-regex -- these are what it is about
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '\ufffd')
}
