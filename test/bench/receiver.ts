// Counts syslog messages (octet counting) as fast as they come, and confirms by closing. A process of its own;
// answers each line on its standard input with `count firstMs lastMs`.

import { createServer } from 'node:net'
import { createInterface } from 'node:readline'

let count = 0
let bytes = 0
let first = 0
let last = 0

const server = createServer({ allowHalfOpen: true }, (socket) => {
  // Bytes of the message under way that are still to come, and the digits of the next one's length.
  let skip = 0
  let length = 0
  socket.on('data', (chunk: Buffer) => {
    first ||= Date.now()
    bytes += chunk.length
    let at = 0
    while (at < chunk.length) {
      if (skip > 0) {
        const step = Math.min(skip, chunk.length - at)
        skip -= step
        at += step
        continue
      }
      const byte = chunk[at++] ?? 0
      if (byte !== 0x20) {
        length = length * 10 + byte - 0x30
        continue
      }
      skip = length
      length = 0
      count += 1
    }
    last = Date.now()
  })
  socket.on('end', () => socket.end())
  socket.on('error', () => socket.destroy())
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(typeof address === 'object' && address ? address.port : 0)
})
createInterface({ input: process.stdin }).on('line', (line) => {
  console.log(`${count} ${first} ${last} ${bytes}`)
  if (line === 'reset') count = first = last = bytes = 0
})
