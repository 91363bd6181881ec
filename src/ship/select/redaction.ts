// Takes out of an event what a destination must not see: named fields, and the same text wherever else the record
// has it. Total and pure.

import { createHmac } from 'node:crypto'
import type { EventBody, SecurityEvent, ServiceRecord } from '../../event.ts'
import { isAboutStream } from './filter.ts'
import { isWhole, pathMistake, pathOf, type FieldPath } from './field-path.ts'

const treatments = ['drop', 'mask', 'hash'] as const

/** What becomes of a value: nothing is left, a constant is, or a keyed hash, the same for the same value. */
export type Treatment = (typeof treatments)[number]

export interface RedactedField {
  readonly field: string
  readonly do: Treatment
}

export interface Redaction {
  readonly fields: readonly RedactedField[]
  /** Of the hash. */
  readonly key: string
}

/** What is left of masked text. */
const mask = '***'
/** Hexadecimal digits of an HMAC-SHA256 that are kept: 128 bits. */
const hashDigits = 32
/** Shorter text is replaced where it is the whole text only: as a part it would be found everywhere. */
const partLength = 4
/** What is nested deeper is dropped. Records have some five levels; the stack has room for thousands. */
const depthMax = 64

/** Undefined where there is nothing to redact: that costs nothing. */
export function compileRedaction({ fields, key }: Redaction): ((event: SecurityEvent) => SecurityEvent) | undefined {
  if (fields.length === 0) return undefined
  const own = new Map(fields.map(({ field, do: treatment }) => [field, treatment]))
  const plan = planOf(fields)
  const body = plan.inner.get('body') ?? nothing
  const record = plan.inner.get('record') ?? nothing
  return (event) => {
    const top = redactTop(event, own, key)
    // Gaps and heartbeats have nothing of a record, and are evidence.
    if (isAboutStream(event)) return { ...event, ...top }
    const texts = new Map<string, Treatment>()
    collect(event.identity, { treatment: own.get('identity'), inner: none }, texts)
    collect(event.body, body, texts)
    collect(event.record, record, texts)
    const replace = replacerOf(texts, key)
    const redacted = redact(event.record, record, { typed: false, key, replace }) ?? {}
    return {
      ...event,
      ...top,
      // Both keep their shape: a body has null where a value is gone, a record is an open table.
      body: redact(event.body, body, { typed: true, key, replace }) as EventBody,
      record: redacted as ServiceRecord,
      recordJson: JSON.stringify(redacted),
    }
  }
}

function redactTop(
  { identity, tenant, client }: SecurityEvent,
  own: ReadonlyMap<string, Treatment>,
  key: string,
): Pick<SecurityEvent, 'identity' | 'tenant' | 'client'> {
  const text = (name: string, value: string): string => {
    const treatment = own.get(name)
    // These two are never missing: what is dropped is masked.
    return treatment === undefined ? value : (redactText(value, treatment, key) ?? mask)
  }
  return {
    identity: text('identity', identity),
    tenant: text('tenant', tenant),
    client: own.has('client') ? null : client,
  }
}

function redactText(text: string, treatment: Treatment, key: string): string | undefined {
  if (treatment === 'drop') return undefined
  return treatment === 'mask' ? mask : createHmac('sha256', key).update(text).digest('hex').slice(0, hashDigits)
}

/** The fields to redact, as a tree along their paths. */
interface Plan {
  readonly treatment: Treatment | undefined
  readonly inner: ReadonlyMap<string, Plan>
}

const none: ReadonlyMap<string, Plan> = new Map()
const nothing: Plan = { treatment: undefined, inner: none }

function planOf(fields: readonly RedactedField[]): Plan {
  // A short name is redacted in both places that it may mean.
  const paths = fields.flatMap(({ field, do: treatment }) => {
    const path = pathOf(field)
    const whole = isWhole(path)
      ? [path]
      : [
          ['body', ...path],
          ['record', ...path],
        ]
    return whole.map((one) => ({ path: one, treatment }))
  })
  return grow(paths)
}

function grow(paths: readonly { readonly path: FieldPath; readonly treatment: Treatment }[]): Plan {
  const here = paths.find(({ path }) => path.length === 0)
  const below = Map.groupBy(
    paths.filter(({ path }) => path.length > 0),
    ({ path }) => path[0] ?? '',
  )
  const inner = new Map(
    [...below].map(([name, group]) => [
      name,
      grow(group.map(({ path, treatment }) => ({ path: path.slice(1), treatment }))),
    ]),
  )
  return { treatment: here?.treatment, inner }
}

/** Finds the texts that are redacted by name. What was named first decides what becomes of a text. */
function collect(value: unknown, plan: Plan, texts: Map<string, Treatment>, depth = 0): void {
  if (typeof value === 'string') {
    if (plan.treatment !== undefined && value !== '' && !texts.has(value)) texts.set(value, plan.treatment)
  } else if (depth <= depthMax && typeof value === 'object' && value !== null) {
    const isList = Array.isArray(value)
    for (const [name, inner] of Object.entries(value)) {
      const below = isList ? plan : planBelow(plan, name)
      if (below !== nothing) collect(inner, below, texts, depth + 1)
    }
  }
}

interface Walk {
  /** Whether it is a body: what is gone leaves null, and a number stays a number or is gone. */
  readonly typed: boolean
  readonly key: string
  /** Puts something else in the place of texts that are redacted elsewhere. */
  readonly replace: (text: string) => string | undefined
}

/** The value as it may be shown; undefined: nothing is left of it. */
function redact(value: unknown, plan: Plan, walk: Walk, depth = 0): unknown {
  const { treatment } = plan
  if (typeof value === 'string') {
    return treatment === undefined ? walk.replace(value) : redactText(value, treatment, walk.key)
  }
  if (typeof value === 'number' || typeof value === 'boolean') {
    if (treatment === undefined) return value
    return walk.typed ? undefined : redactText(String(value), treatment, walk.key)
  }
  if (value === null) return null
  if (typeof value !== 'object' || depth > depthMax) return undefined
  if (Array.isArray(value)) {
    if (treatment === 'drop') return walk.typed ? [] : undefined
    return value.map((inner) => redact(inner, plan, walk, depth + 1)).filter((inner) => inner !== undefined)
  }
  if (treatment === 'drop') return undefined
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const left = redact(inner, planBelow(plan, name), walk, depth + 1)
      if (left !== undefined) return [[nameOf(name, walk), left]]
      return walk.typed ? [[name, name === 'ip' ? '' : null]] : []
    }),
  )
}

/** A redacted field is redacted with all that is in it. */
function planBelow(plan: Plan, name: string): Plan {
  return plan.treatment === undefined ? (plan.inner.get(name) ?? nothing) : plan
}

/** Tables may be keyed by what is redacted, an address, say. A plain word is the name of a field, and stays. */
function nameOf(name: string, { replace }: Walk): string {
  return /^\w*$/.test(name) ? name : (replace(name) ?? mask)
}

/** Looks for texts where they were not named: the whole text, or a part of it. */
function replacerOf(texts: ReadonlyMap<string, Treatment>, key: string): Walk['replace'] {
  if (texts.size === 0) return (text) => text
  const parts = [...texts].filter(([text]) => text.length >= partLength).toSorted(([a], [b]) => b.length - a.length)
  return (text) => {
    const treatment = texts.get(text)
    if (treatment !== undefined) return redactText(text, treatment, key)
    let pieces: readonly Piece[] = [{ text, isOpen: true }]
    for (const [part, partTreatment] of parts) {
      if (!text.includes(part)) continue
      const substitute = { text: redactText(part, partTreatment, key) ?? mask, isOpen: false }
      pieces = pieces.flatMap((piece) => (piece.isOpen ? cut(piece.text, part, substitute) : [piece]))
    }
    return pieces.map((piece) => piece.text).join('')
  }
}

/** A part of a text; what was put in is closed, and not looked at again. */
interface Piece {
  readonly text: string
  readonly isOpen: boolean
}

function cut(text: string, part: string, substitute: Piece): Piece[] {
  return text
    .split(part)
    .flatMap((piece, index) => [...(index === 0 ? [] : [substitute]), { text: piece, isOpen: true }])
}

const redactable = ['identity', 'tenant', 'client', 'body', 'record']

/** What is wrong with the redactions of the configuration; undefined: nothing. Shows no values: they may be secrets. */
export function redactionMistake(fields: unknown): string | undefined {
  if (!Array.isArray(fields)) return 'must be a list, such as [{ field: body.sources.ip, do: hash }]'
  const seen = new Set<string>()
  for (const [index, redacted] of fields.entries()) {
    const mistake = fieldMistake(redacted, seen)
    if (mistake !== undefined) return `element ${index} ${mistake}`
  }
  return undefined
}

function fieldMistake(redacted: unknown, seen: Set<string>): string | undefined {
  if (typeof redacted !== 'object' || redacted === null) return 'must have field and do'
  const { field, do: treatment, ...rest }: Readonly<Record<string, unknown>> = { ...redacted }
  const other = Object.keys(rest)[0]
  if (other !== undefined) return `has ${other}, which is neither field nor do`
  if (typeof field !== 'string') return 'has no field: name one, such as body.sources.ip'
  if (!treatments.some((known) => known === treatment))
    return `(${field}) has a do that is not one of ${treatments.join(', ')}`
  const path = pathOf(field)
  const [first = ''] = path
  const mistake = pathMistake(field)
  if (mistake !== undefined) return `(${field}) ${mistake}`
  if (isWhole(path) && !redactable.includes(first))
    return `(${field}) cannot be redacted: without it events are no evidence`
  if (field === 'body') return '(body) is too much: name fields of it'
  if (seen.has(field)) return `(${field}) names a field twice`
  seen.add(field)
  return undefined
}
