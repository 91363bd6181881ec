// An attack as the reader would hand it to a format, with anything replaced.

import type { SecurityEvent } from '../../src/event.ts'

export function attack(replaced: Partial<SecurityEvent> = {}): SecurityEvent {
  const record = { attackid: 'AM5CP50BU', clientid: 4711, type: 'sqli', domain: 'shop.example.com', hits: 17 }
  return {
    id: 'q83vEjRWeJCrze8SNFZ4kA',
    revision: 2,
    sequence: 41,
    action: 'updated',
    kind: 'attack',
    time: Date.UTC(2026, 2, 30, 17, 44, 59, 7),
    observedTime: Date.UTC(2026, 2, 30, 17, 45, 1),
    tenant: 'acme',
    client: 4711,
    stream: 'attacks',
    identity: 'AM5CP50BU',
    severity: 7,
    replayed: false,
    labels: {},
    body: {
      type: 'sqli',
      domain: 'shop.example.com',
      path: '/search',
      method: 'GET',
      parameter: 'q',
      point: ['get', 'q'],
      target: 'server',
      threat: 75,
      blockStatus: 'blocked',
      state: null,
      hits: 17,
      sourceCount: 1,
      sources: [{ ip: '192.0.2.1', country: 'DE', count: 17 }],
      statusCodes: [403],
      firstTime: Date.UTC(2026, 2, 30, 17, 40),
      lastTime: Date.UTC(2026, 2, 30, 17, 44, 59),
      application: 1,
      vulnerability: null,
    },
    record,
    recordJson: JSON.stringify(record),
    ...replaced,
  }
}
