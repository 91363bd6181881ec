// The service's own words, fit for a message: no secret, no control characters, not long.

const wordsMax = 300
const secretName = /secret|token|passw|uuid|credential|authori[sz]ation|api[-_]?key|cookie|private/i
const secretInText = /\b([\w-]*(?:secret|token|passw(?:or)?d|api[-_]?key)[\w-]*(?:=|["']\s*:\s*["']))[^\s"',;&<>]+/gi
const mask = '***'

/** Hides in a text what must not be shown. */
export type Mask = (text: string) => string

/** Masks the given values however a service or gateway may echo them: as they are or escaped, in any case. */
export function masking(secrets: readonly string[]): Mask {
  const longestFirst = [...new Set(secrets)].filter((secret) => secret !== '').sort((a, b) => b.length - a.length)
  if (longestFirst.length === 0) return (text) => text.replaceAll(secretInText, `$1${mask}`)
  const pattern = new RegExp(longestFirst.map(anyForm).join('|'), 'gi')
  return (text) => text.replaceAll(pattern, mask).replaceAll(secretInText, `$1${mask}`)
}

/** A pattern of a secret in which each character may be escaped for JSON, HTML or a URL; or all of it as base64. */
function anyForm(secret: string): string {
  const whole = Buffer.from(secret).toString('base64').replace(/=+$/, '')
  return `${Array.from(secret, anyCharacter).join('')}|${literal(whole)}`
}

const entities: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

function anyCharacter(character: string): string {
  if (/[A-Za-z0-9]/.test(character)) return character
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  const forms = [
    `\\\\{0,3}${literal(character)}`,
    literal(encodeURIComponent(character.toWellFormed())),
    `%${hex}`,
    `\\\\{1,3}u0*${hex}`,
    `&#0*${code};`,
    `&#x0*${hex};`,
    ...(entities[character] === undefined ? [] : [`&${entities[character]};`]),
  ]
  // Entities first: `&` alone would leave the rest of `&amp;` standing in the way.
  return `(?:${forms.toReversed().join('|')})`
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)
}

/** The string values under secret-like names of a request, to be masked in what comes back. */
export function secretsIn(value: unknown, depth = 0): string[] {
  if (typeof value !== 'object' || value === null || depth > 8) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === 'string' && secretName.test(key) ? [inner] : secretsIn(inner, depth + 1),
  )
}

/** An error body in words: a string, a field map, `{error}`, or the title of a gateway's page. */
export function wordsOf(body: unknown, hide: Mask): string {
  return presentable(render(body, 0), hide)
}

/** Masked, on one line, control characters made visible, bounded. */
export function presentable(text: string, hide: Mask): string {
  // Masked before it is cut, or half a secret might remain.
  const shown = hide(text)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, visible)
  return shown.length > wordsMax ? `${shown.slice(0, wordsMax - 1).toWellFormed()}…` : shown
}

function visible(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
}

function render(value: unknown, depth: number): string {
  if (typeof value === 'string') return value.trimStart().startsWith('<') ? pageTitle(value) : value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'object' || value === null) return ''
  if (depth > 4) return '…'
  if (Array.isArray(value)) return value.map((inner) => render(inner, depth + 1)).join(', ')
  return Object.entries(value)
    .map(([key, inner]) => field(key, inner, depth))
    .filter((text) => text !== '')
    .join('; ')
}

function field(key: string, value: unknown, depth: number): string {
  if (secretName.test(key)) return `${key}: ${problemOnly(value) || mask}`
  if (key === 'error' || key === 'message') return render(value, depth + 1)
  if (key === 'value') return `got ${value === '' ? "''" : render(value, depth + 1)}`
  const inner = render(value, depth + 1)
  return inner === '' ? '' : `${key}: ${inner}`
}

/** Of a secret field only what is wrong with it. */
function problemOnly(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('error' in value)) return ''
  return typeof value.error === 'string' ? value.error : ''
}

function pageTitle(html: string): string {
  const title = /<title[^>]*>([^<]*)/i.exec(html)?.[1] ?? /<h1[^>]*>([^<]*)/i.exec(html)?.[1]
  return title?.trim() ? `a page titled ${JSON.stringify(title.trim())}` : 'a page of HTML'
}
