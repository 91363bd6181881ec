// An event that anyone recognises as a test: for `check --send-test`.

import { randomBytes } from 'node:crypto'
import type { AttackBody, SecurityEvent } from '../event.ts'

/** `now`: Unix milliseconds. Each has an id of its own, or a receiver that drops duplicates would drop the second. */
export function testEvent(now: number): SecurityEvent {
  const id = `test-${randomBytes(12).toString('base64url')}`
  const record = { attackid: id, type: 'tailrace_test', domain: 'tailrace-test.example', path: '/', hits: 1 }
  const body: AttackBody = {
    type: 'tailrace_test',
    domain: 'tailrace-test.example',
    path: '/',
    method: 'GET',
    parameter: null,
    point: [],
    target: null,
    threat: 1,
    blockStatus: 'monitored',
    state: null,
    hits: 1,
    sourceCount: 1,
    // An address for documentation: RFC 5737.
    sources: [{ ip: '192.0.2.1', country: null, count: 1 }],
    statusCodes: [],
    firstTime: now,
    lastTime: now,
    application: null,
    vulnerability: null,
  }
  return {
    id,
    revision: 1,
    sequence: 0,
    action: 'created',
    kind: 'attack',
    time: now,
    observedTime: now,
    tenant: 'tailrace-test',
    client: null,
    stream: 'attacks',
    identity: id,
    severity: 1,
    replayed: false,
    labels: {},
    body,
    record,
    recordJson: JSON.stringify(record),
  }
}
