// The HTTP Event Collector of Splunk as its documentation has it, and strict: "Format events for HTTP Event
// Collector", "HTTP Event Collector REST API endpoints", "About HTTP Event Collector Indexer Acknowledgment" and
// "Troubleshoot HTTP Event Collector".

import { startHttpReceiver, type HttpReceiver, type Received, type Reply } from './http-receiver.ts'

export interface HecEvent {
  readonly event: unknown
  readonly time?: number
  readonly host?: string
  readonly source?: string
  readonly sourcetype?: string
  readonly index?: string
  readonly fields?: Readonly<Record<string, unknown>>
}

export interface HecSetup {
  readonly token: string
  /** Whether the token has acknowledgement. */
  readonly ack?: boolean
  /** Indices that the token may write to. */
  readonly indexes?: readonly string[]
  /** Whether what is before an invalid event is indexed: accounts of it differ. */
  readonly keepsBefore?: boolean
  /** Whether it stands behind a load balancer that goes by a cookie. */
  readonly sticky?: boolean
}

export interface Hec extends HttpReceiver {
  /** What is indexed, in order; of raw lines only `event`. */
  readonly events: readonly HecEvent[]
  /** From now on this is the answer to events; undefined: it is as it was. */
  says(reply: Reply | 'reset' | undefined): void
  /** From now on: events are taken, and then the connection breaks, so often. */
  resetAfterTaking(times: number): void
  /** The same for questions about acknowledgement. */
  saysOfAcks(reply: Reply | undefined): void
  /** How often it says no to each question about acknowledgement before it says yes. */
  acknowledgesAfter(questions: number): void
  /** From now on it knows of no request before, and numbers those to come from 0. */
  crash(): void
}

type Parsed =
  | { readonly events: readonly HecEvent[] }
  | { readonly code: number; readonly at: number; readonly events: readonly HecEvent[] }

const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export async function startHec(setup: HecSetup): Promise<Hec> {
  const { token, ack = false, indexes = ['main'], keepsBefore = false, sticky = false } = setup
  const events: HecEvent[] = []
  /** Channel to what waits for acknowledgement: how often that was asked for. */
  const channels = new Map<string, Map<number, number>>()
  let nextAck = 0
  let said: Reply | 'reset' | undefined
  let saidOfAcks: Reply | undefined
  let resets = 0
  let questions = 0

  function take(parsed: Parsed, channel: string): Reply | 'reset' {
    if ('code' in parsed) {
      if (keepsBefore) events.push(...parsed.events)
      return hec(400, parsed.code, { 'invalid-event-number': parsed.at })
    }
    if (parsed.events.length === 0) return hec(400, 5)
    events.push(...parsed.events)
    if (resets-- > 0) return 'reset'
    if (!ack) return hec(200, 0)
    const ackId = nextAck++
    channels.set(channel, (channels.get(channel) ?? new Map<number, number>()).set(ackId, 0))
    return { ...hec(200, 0, { ackId }), headers: sticky ? { 'set-cookie': ['node=seven; Path=/', 'b=c'] } : {} }
  }

  function acknowledge(request: Received, channel: string): Reply {
    if (!ack) return hec(400, 14)
    if (channel === '') return hec(400, 10)
    const { acks } = JSON.parse(request.body.toString()) as { acks: number[] }
    const here = !sticky || request.headers.cookie === 'node=seven; b=c'
    const known = here ? channels.get(channel) : undefined
    const states = acks.map((id) => {
      const asked = known?.get(id)
      if (asked === undefined) return [id, false]
      // Once it was told, it is forgotten.
      if (asked >= questions) known?.delete(id)
      else known?.set(id, asked + 1)
      return [id, asked >= questions]
    })
    return { status: 200, body: { acks: Object.fromEntries(states) as object } }
  }

  const receiver = await startHttpReceiver((request) => {
    const { url, headers, method } = request
    const { authorization } = headers
    if (authorization === undefined) return hec(401, 2)
    if (!authorization.startsWith('Splunk ')) return hec(401, 3)
    if (authorization !== `Splunk ${token}`) return hec(403, 4)
    if (url.searchParams.has('token')) return hec(400, 16)
    const [, path] = /^\/services\/collector\/(event|raw|ack|health)$/.exec(url.pathname) ?? []
    if (path === undefined)
      return { status: 404, body: { text: 'The requested URL was not found on this server.', code: 404 } }
    if (method !== (path === 'health' ? 'GET' : 'POST')) return { status: 405 }
    if (path === 'health') return hec(200, 17)
    const channel = [headers['x-splunk-request-channel'] ?? url.searchParams.get('channel') ?? ''].flat().join('')
    if (channel !== '' && !guid.test(channel)) return hec(400, 11)
    if (path === 'ack') return saidOfAcks ?? acknowledge(request, channel)
    if (said !== undefined) return said
    if ((ack || path === 'raw') && channel === '') return hec(400, 10)
    if (path === 'raw') return take({ events: rawLines(request).map((event) => ({ event })) }, channel)
    if (headers['content-type'] !== 'application/json') return { status: 415, body: '<html><body>Unsupported' }
    return take(parseStacked(request.body.toString(), indexes), channel)
  })
  return {
    ...receiver,
    events,
    says: (reply) => void (said = reply),
    saysOfAcks: (reply) => void (saidOfAcks = reply),
    resetAfterTaking: (times) => void (resets = times),
    acknowledgesAfter: (times) => void (questions = times),
    crash() {
      channels.clear()
      nextAck = 0
    },
  }
}

const texts: Readonly<Record<number, string>> = {
  0: 'Success',
  2: 'Token is required',
  3: 'Invalid authorization',
  4: 'Invalid token',
  5: 'No data',
  6: 'Invalid data format',
  7: 'Incorrect index',
  9: 'Server is busy',
  10: 'Data channel is missing',
  11: 'Invalid data channel',
  12: 'Event field is required',
  13: 'Event field cannot be blank',
  14: 'ACK is disabled',
  15: 'Error in handling indexed fields',
  16: 'Query string authorization is not enabled',
  17: 'HEC is healthy',
  26: 'HEC queue is at capacity and cannot process any more requests',
}

export function hec(status: number, code: number, more: object = {}): Reply {
  return { status, body: { text: texts[code] ?? `code ${code}`, code, ...more } }
}

function rawLines({ body }: Received): string[] {
  return body
    .toString()
    .split('\n')
    .filter((line) => line.trim() !== '')
}

/** Objects that stand one after the other. What comes after the last one is one more, and invalid. */
function parseStacked(text: string, indexes: readonly string[]): Parsed {
  const events: HecEvent[] = []
  for (let start = 0; start < text.length;) {
    const end = endOfObject(text, start)
    const event = parseEvent(text.slice(start, end), indexes)
    if (typeof event === 'number') return { code: event, at: events.length, events }
    events.push(event)
    start = end
    if (text[start] === '\n' && start + 1 < text.length) start += 1
  }
  return { events }
}

/** Where the object that begins here ends, by its braces; strings may have some. */
function endOfObject(text: string, start: number): number {
  const token = /["\\{}]/g
  token.lastIndex = start
  let depth = 0
  let inText = false
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [sign] = match
    if (sign === '\\') token.lastIndex += 1
    else if (sign === '"') inText = !inText
    else if (!inText) depth += sign === '{' ? 1 : -1
    if (depth === 0 && sign === '}' && !inText) return token.lastIndex
  }
  return text.length
}

const keys = new Set(['time', 'host', 'source', 'sourcetype', 'index', 'event', 'fields'])

/** The event, or the code of what is wrong with it. */
function parseEvent(text: string, indexes: readonly string[]): HecEvent | number {
  let value: Record<string, unknown>
  try {
    value = JSON.parse(text) as Record<string, unknown>
  } catch {
    return 6
  }
  const names = ['host', 'source', 'sourcetype', 'index'].filter((name) => name in value)
  if (Object.keys(value).some((key) => !keys.has(key))) return 6
  if (names.some((name) => typeof value[name] !== 'string' || value[name] === '')) return 6
  if ('time' in value && typeof value['time'] !== 'number') return 6
  if (value['event'] === undefined || value['event'] === null) return 12
  if (value['event'] === '') return 13
  if (typeof value['index'] === 'string' && !indexes.includes(value['index'])) return 7
  const { fields = {} } = value
  if (typeof fields !== 'object' || Array.isArray(fields)) return 6
  if (Object.values(fields ?? {}).some((field) => typeof field === 'object')) return 15
  return { event: value['event'], ...value }
}
