// What the tests of the structured formats (ECS, OCSF, UDM) share: an event of each kind, and what must hold of each.

import { Buffer } from 'node:buffer'
import { existsSync } from 'node:fs'
import convict from 'convict'
import { expect, test } from 'vitest'
import '../../src/config-formats.ts'
import type { Kind, SecurityEvent, StreamName } from '../../src/event.ts'
import { streamNames } from '../../src/event.ts'
import type { Encode, Format } from '../../src/ship/format.ts'
import { attack } from './events.ts'
import { actions, hostileEvents } from './hostile.ts'

export function incident(replaced: Partial<SecurityEvent> = {}): SecurityEvent {
  const usual = attack()
  return attack({ kind: 'incident', stream: 'incidents', action: 'created', body: usual.body, ...replaced })
}

export function vulnerability(replaced: Partial<SecurityEvent> = {}, status = 'open'): SecurityEvent {
  return of('vulnerability', 'vulnerabilities', {
    severity: 5,
    identity: '8812',
    body: {
      humanId: 'ACME-17',
      status,
      type: 'xss',
      title: 'XSS in the search',
      description: 'The parameter q comes back as it is.',
      domain: 'shop.example.com',
      path: '/search',
      method: 'GET',
      parameter: 'q',
      target: 'client',
      threat: 60,
      validateTime: Date.UTC(2026, 2, 1),
      invalidateTime: null,
      lastCheck: Date.UTC(2026, 2, 30),
    },
    ...replaced,
  })
}

export function rule(replaced: Partial<SecurityEvent> = {}): SecurityEvent {
  return of('rule', 'rules', {
    severity: 0,
    identity: '55',
    body: {
      type: 'vpatch',
      attackType: 'sqli',
      condition: 12,
      point: [['get', 'id']],
      action: [{ type: 'equal', point: ['path', 0], value: 'admin' }],
      regex: null,
      comment: 'Until the release.',
      validated: true,
      enabled: true,
      updatedAt: Date.UTC(2026, 2, 30, 17),
    },
    ...replaced,
  })
}

export function condition(replaced: Partial<SecurityEvent> = {}): SecurityEvent {
  return of('condition', 'conditions', {
    severity: 0,
    identity: '12',
    body: {
      name: 'Admin pages',
      conditions: [{ type: 'equal', point: ['path', 0], value: 'admin' }],
      rules: 3,
      updatedAt: Date.UTC(2026, 2, 30, 17),
    },
    ...replaced,
  })
}

export function gap(replaced: Partial<SecurityEvent> = {}): SecurityEvent {
  const body = { from: Date.UTC(2026, 2, 30, 16), to: Date.UTC(2026, 2, 30, 17), reason: 'offset too large' }
  return of('gap', 'attacks', { ...report, action: 'gap', severity: 7, body, ...replaced })
}

export function heartbeat(replaced: Partial<SecurityEvent> = {}): SecurityEvent {
  const body = { watermark: Date.UTC(2026, 2, 30, 17), lastSequence: 40, events: 6 }
  return of('heartbeat', 'attacks', { ...report, action: 'heartbeat', severity: 0, body, ...replaced })
}

/** What is about a stream has no record. */
const report = { identity: '', client: null, record: {}, recordJson: '{}' }

function of(kind: Kind, stream: StreamName, replaced: Partial<SecurityEvent>): SecurityEvent {
  return attack({ kind, stream, action: 'created', record: { id: 1 }, recordJson: '{"id":1}', ...replaced })
}

export type Document = Record<string, unknown>

/** Asserts what a receiver of lines depends on. */
export function parsed(line: string): Document {
  if (/[\n\r\u0085\u2028\u2029]/.test(line)) throw new Error(`more than a line: ${JSON.stringify(line)}`)
  if (!line.isWellFormed()) throw new Error(`a lone surrogate: ${JSON.stringify(line)}`)
  return JSON.parse(line) as Document
}

/** A path, what stands there, and what should. */
export type Expected = readonly [path: string, value: unknown, expected: unknown]

/** Those that are not as they should be; text is compared as it must be written, and not where it was cut. */
export function wrong(rows: readonly Expected[], cut: string): readonly Expected[] {
  return rows.filter(([path, value, expected]) => {
    const text = typeof expected === 'string' ? expected.toWellFormed() : expected
    return value !== text && !cut.includes(path)
  })
}

/** A format with options as the daemon would read them. */
export function compiled<Options extends object>(format: Format<Options>, values: object): Encode {
  const config = convict(format.options)
  config.load(values)
  config.validate({ allowed: 'strict' })
  return format.compile(config.getProperties())
}

/** The value at `a.b[].c`: of lists the first element. */
export function at(document: unknown, path: string): unknown {
  return path
    .split(/\.|\[\]\.?/)
    .filter(Boolean)
    .reduce<unknown>((value, key) => {
      const inner: unknown = Array.isArray(value) ? value[0] : value
      return typeof inner === 'object' && inner !== null ? (inner as Document)[key] : undefined
    }, document)
}

/** The text at a path; empty: there is none. */
export function textAt(document: unknown, path: string): string {
  const value = at(document, path)
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}

/** Every path that has a value, as the mapping writes it; `closed` are objects with keys of others. */
export function pathsOf(value: unknown, closed: readonly string[], path = ''): string[] {
  if (closed.includes(path) || typeof value !== 'object' || value === null) return [path]
  if (!Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, closed, path === '' ? key : `${path}.${key}`))
  }
  const objects = value.filter((item) => typeof item === 'object')
  if (objects.length === 0) return [path]
  return [`${path}[]`, ...objects.flatMap((item) => pathsOf(item, closed, `${path}[]`))]
}

/** Paths of the mapping, and those of them that are for a kind. */
export function mappedPaths({ mapping }: Format, kind?: Kind): Set<string> {
  const rows = mapping.flatMap((table) => table.rows)
  const own = rows.filter(([, , of = '']) => kind === undefined || of === 'all' || of.split(', ').includes(kind))
  return new Set(own.map(([path = '']) => path.slice(1, -1)))
}

/** Calls back with hostile events of every stream and action and their lines; as many of each. */
export function eachHostile(
  count: number,
  encode: Encode,
  judge: (events: readonly SecurityEvent[], lines: readonly string[]) => void,
): void {
  for (const stream of streamNames) {
    for (const action of actions) {
      const events = [...hostileEvents(count, { stream, action, seed: 11 })]
      judge(events, events.map(encode))
    }
  }
}

/** How many events of each stream and action: more where somebody asks for it. */
export const perAction = Number(process.env['HOSTILE_EVENTS'] ?? 350)

const checker = new URL('../../../shared/conformance/lib/check.mjs', import.meta.url)

interface Checked {
  readonly events: number
  readonly problems: readonly string[]
}

type Check = (format: string, input: Buffer, options?: object) => Checked

/** The checker of a schema, where it is present. */
export async function loadCheck(): Promise<Check | undefined> {
  if (!existsSync(checker)) return undefined
  const { checkAll } = (await import(checker.href)) as { readonly checkAll: Check }
  return checkAll
}

export function joined(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join('\n')}\n`)
}

/** Where a format has what the tests look at. */
export interface Places {
  readonly path: string
  readonly cut: string
  readonly list: string
  readonly original: string
}

/** What every structured format must do. */
export function testStructured<Options extends object>(format: Format<Options>, places: Places): void {
  const encode = compiled(format, {})

  test('the mapping has every path that is written, and every path of it is written for some event', () => {
    const full = compiled(format, { original: true })
    const seen = seenPaths(full)
    for (const [kind, paths] of seen) {
      expect([kind, [...paths].toSorted()]).toEqual([kind, [...mappedPaths(format, kind)].toSorted()])
    }
  })

  test('what is longer than a field may be is cut between characters, and named', () => {
    const path = `/${'😀'.repeat(10_000)}`
    const usual = attack()
    const document = parsed(encode({ ...usual, body: { ...usual.body, path } }))
    const written = textAt(document, places.path)
    expect(Buffer.byteLength(written)).toBeLessThanOrEqual(32_766)
    expect(Buffer.byteLength(written)).toBeGreaterThan(32_760)
    expect(path.startsWith(written)).toBe(true)
    expect(written.isWellFormed()).toBe(true)
    expect(textAt(document, places.cut)).toContain(places.path)
  })

  test('lists are cut after a hundred elements, and named', () => {
    const usual = attack()
    const sources = Array.from({ length: 150 }, (_, n) => ({ ip: `192.0.2.${n}`, country: null, count: 1 }))
    const document = parsed(encode({ ...usual, body: { ...usual.body, sources } }))
    expect(at(document, places.list)).toHaveLength(100)
    expect(textAt(document, places.cut)).toContain(places.list)
  })

  test('the original is bounded, and can be left out', () => {
    const long = attack({ recordJson: `{"a":"${'x'.repeat(3000)}"}` })
    const bounded = compiled(format, { original: true, originalLimit: 1024 })
    expect(textAt(parsed(bounded(long)), places.original)).toBe(long.recordJson.slice(0, 1024))
    expect(textAt(parsed(bounded(long)), places.cut)).toContain(places.original)
    expect(compiled(format, { original: false })(long)).not.toContain('xxx')
    const whole = compiled(format, { original: true })
    expect(at(parsed(whole(long)), places.original)).toBe(long.recordJson)
  })
}

/** The paths that are written for events of each kind: usual ones, long ones, hostile ones. */
function seenPaths(encode: Encode): Map<Kind, Set<string>> {
  const seen = new Map<Kind, Set<string>>()
  const note = (event: SecurityEvent, line: string): void => {
    const own = seen.get(event.kind) ?? new Set<string>()
    seen.set(event.kind, own)
    for (const path of pathsOf(JSON.parse(line), ['labels'])) own.add(path)
  }
  for (const event of [attack(), incident(), vulnerability(), rule(), condition(), gap(), heartbeat()]) {
    const long = { ...event, tenant: '€'.repeat(40_000), labels: { site: 'berlin' } }
    for (const one of [event, long]) note(one, encode(one))
  }
  for (const event of [attack(), incident()]) {
    const stuffing = { ...event, body: { ...event.body, type: 'credential_stuffing' } }
    note(stuffing, encode(stuffing))
  }
  eachHostile(200, encode, (events, lines) => {
    for (const [n, event] of events.entries()) note(event, lines[n] ?? '')
  })
  return seen
}
