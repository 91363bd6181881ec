// Names that an operator chooses by what an event is, such as `waf_{tenant}`.

import type { SecurityEvent } from '../event.ts'
import { compileTemplate } from './template.ts'

const values = {
  kind: ({ kind }) => kind,
  stream: ({ stream }) => stream,
  tenant: ({ tenant }) => tenant,
  client: ({ client }) => (client === null ? '' : String(client)),
  action: ({ action }) => action,
} as const satisfies Record<string, (event: SecurityEvent) => string>

export type Placeholder = keyof typeof values

/** As the reference has them. */
export function show(placeholders: readonly Placeholder[]): string {
  return placeholders.map((name) => `{${name}}`).join(' ')
}

/** Check of an option. Throws for a placeholder that is not among `known`, and for a brace that is none. */
export function checkName(template: string, known: readonly Placeholder[]): void {
  compileTemplate({ text: template, known, where: 'it' })
}

export function isConstant(template: string): boolean {
  return !template.includes('{')
}

/** What a template has beside its placeholders. */
export function constantsOf(template: string): string {
  return template.replaceAll(/\{[^{}]*\}/g, '')
}

/** `fit` makes the value of a placeholder fit for the name. Throws as `checkName` does. */
export function compileName(
  template: string,
  known: readonly Placeholder[],
  fit: (value: string) => string = (value) => value,
): (event: SecurityEvent) => string {
  const fill = compileTemplate({ text: template, known, where: 'a name' })
  const used = known.filter((name) => template.includes(`{${name}}`))
  if (used.length === 0) return () => template
  return (event) => fill(Object.fromEntries(used.map((name) => [name, fit(values[name](event))])))
}
