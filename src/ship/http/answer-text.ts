// What receivers say in the body of an answer: words for an operator, or JSON.

const wordsMax = 300

/** At most 300 characters in one line, fit for a message. */
export function wordsOf(text: string): string {
  return text
    .slice(0, wordsMax)
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
}

export type JsonObject = Readonly<Record<string, unknown>>

/** The JSON object that the text is; undefined: it is something else. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
