// The shapes in which the service answers: envelopes, field maps, error bodies.

/** The bytes of an answer. Compressed at most once, for answers that are cached. */
export interface AnswerBytes {
  readonly plain: Buffer
  gzipped?: Buffer
}

export interface Answer {
  readonly status: number
  readonly bytes: AnswerBytes
}

/** What is wrong with each field of a request. */
export type FieldMap = Record<string, { readonly error: string; readonly value: unknown }>

export function succeed(body: unknown): Answer {
  return answerJson(200, { status: 200, body })
}

export function refuse(status: number, body: unknown): Answer {
  return answerJson(status, { status, body })
}

export function answerJson(status: number, envelope: unknown): Answer {
  return { status, bytes: { plain: Buffer.from(JSON.stringify(envelope)) } }
}

export const notAuthenticated = (): Answer => refuse(403, 'User not authenticated')
export const notPermitted = (): Answer => refuse(403, 'Check permissions failed')

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A kind of value that a field may hold, with the words for when it does not. */
export interface FieldKind {
  readonly expected: string
  accepts(value: unknown): boolean
}

export const text: FieldKind = { expected: 'string expected', accepts: (value) => typeof value === 'string' }
export const flag: FieldKind = { expected: 'boolean expected', accepts: (value) => typeof value === 'boolean' }
export const whole: FieldKind = { expected: 'integer expected', accepts: (value) => Number.isSafeInteger(value) }
export const object: FieldKind = { expected: 'object expected', accepts: isObject }
export const list: FieldKind = { expected: 'array expected', accepts: (value) => Array.isArray(value) }

/** Every field of `kinds` that is missing from the body or of another kind. Empty: all is well. */
export function checkFields(body: Record<string, unknown>, kinds: Readonly<Record<string, FieldKind>>): FieldMap {
  const problems: FieldMap = {}
  for (const [name, kind] of Object.entries(kinds)) {
    const value = body[name]
    if (value === undefined) problems[name] = { error: 'required', value: null }
    else if (!kind.accepts(value)) problems[name] = { error: kind.expected, value }
  }
  return problems
}

export function hasProblems(problems: FieldMap): boolean {
  return Object.keys(problems).length > 0
}
