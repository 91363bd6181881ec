// The floor: one process that fetches, parses, encodes and writes; no queue, no memory of what it has seen,
// no confirmation. Arguments: base URL, receiver's port, clients, records of each.

import { once } from 'node:events'
import { connect } from 'node:net'
import { createReader, changesOf } from '../../src/poll/changes.ts'
import { attacks } from '../../src/poll/streams/attacks.ts'
import { createServiceClient } from '../../src/service/client.ts'
import { openConnections } from '../../src/service/connections.ts'
import { encodingOf } from '../../src/ship/encoding.ts'
import { benchCredentials, syslogOptions } from './setting.ts'
import { json } from '../../src/ship/formats/json.ts'
import { syslog } from '../../src/ship/sinks/syslog.ts'

const [baseUrl = '', port = '0', clients = '', perClient = '0'] = process.argv.slice(2)
const never = new AbortController().signal

await using connections = openConnections({ connections: 8 })
const client = createServiceClient({ baseUrl, instance: 'bench', credentials: benchCredentials, connections })
const encoding = encodingOf({
  sink: syslog,
  options: await syslogOptions(Number(port)),
  format: json,
  formatOptions: {},
  streams: ['attacks'],
  labels: {},
})
const socket = connect(Number(port), '127.0.0.1')
await once(socket, 'connect')

async function walk(id: number): Promise<void> {
  const reader = createReader(attacks)
  let sequence = 0
  let to: number | null = null
  for (let left = Number(perClient); left > 0;) {
    const query = { ...attacks.query([id], { from: 0, to }), offset: 0, limit: 1000 }
    const { body, date } = await client.list('attack', query, never)
    const records = reader.read(body, (date ?? 0) / 1000)
    const borders = { medium: 34, high: 67, critical: 90 }
    const context = { tenant: `bench${id}`, reader, borders, sequence, observedTime: Date.now(), inventory: null }
    const { events } = changesOf(records, [], context)
    const frames = events.map((event) => encoding.encode(event) ?? '')
    const text = frames.map((frame) => `${Buffer.byteLength(frame)} ${frame}`).join('')
    if (!socket.write(text)) await once(socket, 'drain')
    sequence += events.length
    left -= body.length
    to = (records.at(-1)?.time ?? 0) - 1
    if (body.length === 0) break
  }
}

await Promise.all(clients.split(',').map(async (id) => walk(Number(id))))
socket.end()
await once(socket, 'close')
