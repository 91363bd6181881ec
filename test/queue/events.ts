// Events to be queued.

import type { SecurityEvent } from '../../src/event.ts'

export function eventsOf(count: number, text = ''): SecurityEvent[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `e${i}`,
    revision: 1,
    sequence: i + 1,
    action: 'created',
    kind: 'attack',
    time: 1_800_000_000_000 + i,
    observedTime: 1_800_000_000_000,
    tenant: 'acme',
    client: 1,
    stream: 'attacks',
    identity: `i${i}`,
    severity: 5,
    replayed: false,
    labels: {},
    body: { watermark: 0, lastSequence: 0, events: 0 },
    record: {},
    recordJson: JSON.stringify({ text }),
  }))
}
