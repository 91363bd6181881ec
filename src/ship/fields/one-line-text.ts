// Text from anywhere as part of one line: no line break, no control character, no bidi control, well-formed.

/** What replaces a character that cannot be sent: it shows that there was one. */
export const replacement = '\ufffd'

/** For `mapping`, so that all formats say it in the same words. */
export const replacedCharacters =
  'Control characters (C0, DEL, C1), U+2028, U+2029, bidi controls, byte order marks, U+FFFE, U+FFFF and lone surrogates'

// \p{Cc} is C0, DEL and C1; \p{Bidi_Control} could make a line read in another order than it is.
const unsafe = String.raw`\p{Cc}\p{Bidi_Control}\p{Surrogate}\u2028\u2029\ufeff\ufffe\uffff`

/** The same for one UTF-16 unit, and every surrogate: looking for these is what most texts cost. */
const suspect = String.raw`\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff`

/**
 * A function that writes each character of `written` as it says there, and what is unsafe elsewhere as U+FFFD.
 * Without a mapping of its own, a line break is unsafe as well.
 */
export function compileClean(written: Readonly<Record<string, string>>): (text: string) => string {
  const own = Object.keys(written)
    .map((character) => String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
  const found = new RegExp(`[${suspect}${own}]`)
  const all = new RegExp(`[${unsafe}${own}]`, 'gu')
  const write = (character: string): string => written[character] ?? replacement
  return (text) => (found.test(text) ? text.replaceAll(all, write) : text)
}

/** Without white space at its ends, and at most so many UTF-16 units long; never half a character. */
export function trimmed(text: string, lengthMax: number): string {
  const whole = text.trim()
  if (whole.length <= lengthMax) return whole
  const isPairCut = (whole.codePointAt(lengthMax - 1) ?? 0) > 0xffff
  return whole.slice(0, isPairCut ? lengthMax - 1 : lengthMax).trimEnd()
}
