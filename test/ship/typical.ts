// One event of each kind, as the reader would hand it to a format.

import type { SecurityEvent } from '../../src/event.ts'
import { attack } from './events.ts'

export { attack } from './events.ts'

const from = Date.UTC(2026, 2, 30, 17, 40)

function other(what: Partial<SecurityEvent>): SecurityEvent {
  return { ...attack(), identity: '17', action: 'created', severity: 0, ...what }
}

export function vulnerability(): SecurityEvent {
  return other({
    kind: 'vulnerability',
    stream: 'vulnerabilities',
    action: 'closed',
    severity: 5,
    body: {
      humanId: 'ACME-17',
      status: 'closed',
      type: 'xss',
      title: 'XSS',
      description: 'Two\nlines',
      domain: 'shop.example.com',
      path: '/search',
      method: 'GET',
      parameter: 'q',
      target: 'client',
      threat: 60,
      validateTime: from,
      invalidateTime: from + 200_000,
      lastCheck: from + 100_000,
    },
  })
}

export function rule(): SecurityEvent {
  return other({
    kind: 'rule',
    stream: 'rules',
    action: 'deleted',
    body: {
      type: 'vpatch',
      attackType: 'any',
      condition: 4,
      point: [['header', 'HOST']],
      action: [{ type: 'equal', point: ['path', 0], value: 'a=b' }],
      regex: String.raw`^a=\d+|b$`,
      comment: 'Blocks a path.',
      validated: false,
      enabled: true,
      updatedAt: from + 100_000,
    },
  })
}

export function condition(): SecurityEvent {
  return other({
    kind: 'condition',
    stream: 'conditions',
    body: { name: 'Shop', conditions: [{ type: 'absent' }], rules: 3, updatedAt: from + 100_000 },
  })
}

export function gap(): SecurityEvent {
  const body = { from, to: from + 100_000, reason: 'HTTP 400' }
  return other({ kind: 'gap', action: 'gap', identity: 'gap:41', client: null, severity: 7, body })
}

export function heartbeat(): SecurityEvent {
  const body = { watermark: from + 100_000, lastSequence: 40, events: 3 }
  return other({ kind: 'heartbeat', action: 'heartbeat', identity: 'heartbeat:41', client: null, body })
}
