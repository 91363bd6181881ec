// Takes out of a text what looks like a secret. The second fence: our own messages have none in them, but those
// of libraries and receivers are not ours.

const patterns: readonly (readonly [RegExp, string])[] = [
  // user:password@ in an URL
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@"']{0,500}@/gi, '$1***@'],
  [/\b(Bearer|Basic|Splunk|ApiKey|Token)\s+[\w.~+/=-]{6,}/gi, '$1 ***'],
  // name=value, "name": "value", x-name: value
  [
    /((?:password|passwd|secret|token|credential|authorization|api[-_]?key|private[-_]?key|cookie)[\w.-]{0,40}["']?\s{0,5}[=:]\s{0,5})(?:"[^"]*"|'[^']*'|(?!\*\*\*|(?:Bearer|Basic|Splunk|ApiKey|Token) )[^\s"',;}\])]+)/gi,
    '$1***',
  ],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, '***'],
]

const charactersMax = 2_000

/** The text without what looks like a secret, and cut to 2 000 characters. */
export function scrub(text: string): string {
  // Cut generously first: what others send has no bound, and these patterns are run over it.
  let clean = text.slice(0, 4 * charactersMax)
  for (const [pattern, replacement] of patterns) clean = clean.replace(pattern, replacement)
  return clean.length > charactersMax ? `${clean.slice(0, charactersMax)}…` : clean
}
