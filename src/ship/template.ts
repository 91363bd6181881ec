// Texts with placeholders, such as `waf/{tenant}/{date}`, for names that an operator chooses.

import { TailraceError } from '../errors.ts'

export interface Template {
  readonly text: string
  /** What it may have in braces. */
  readonly known: readonly string[]
  /** For messages: the sink and its option. */
  readonly where: string
}

export type Fill = (values: Readonly<Record<string, string>>) => string

/** Throws `sink_misconfigured` for a placeholder that is not known, and for braces that are none. */
export function compileTemplate({ text, known, where }: Template): Fill {
  const parts = text.split(/\{([^{}]*)\}/)
  const wrong = parts.find((part, index) => (index % 2 === 1 ? !known.includes(part) : /[{}]/.test(part)))
  if (wrong !== undefined) {
    const names = known.map((name) => `{${name}}`).join(', ')
    throw new TailraceError('sink_misconfigured', `${where} has ${JSON.stringify(wrong)}, where it may have ${names}`)
  }
  return (values) => parts.map((part, index) => (index % 2 === 1 ? (values[part] ?? '') : part)).join('')
}

/** A value that adds no level to a path, and that names of topics and objects may have in them. */
export function plainName(value: string | number | undefined): string {
  return String(value ?? '').replaceAll(/[^A-Za-z0-9._-]/g, '_')
}
