// A server on a free port that answers as a test says.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly SeenRequest[]
}

/** Answers each request, once its body has come. */
export async function serve(answer: (response: ServerResponse, count: number) => void): Promise<TestServer> {
  const requests: SeenRequest[] = []
  const server = createServer(listener(requests, answer))
  return listen(server, 'http', requests)
}

export interface TlsTestServer extends TestServer {
  /** PEM of the self-signed certificate. */
  readonly ca: string
}

export async function serveTls(answer: (response: ServerResponse, count: number) => void): Promise<TlsTestServer> {
  const requests: SeenRequest[] = []
  const { key, cert } = await selfSigned()
  const server = createTlsServer({ key, cert }, listener(requests, answer))
  return { ...(await listen(server, 'https', requests)), ca: cert }
}

/** Takes connections and does with them as told, below HTTP. */
export async function serveTcp(scheme: 'http' | 'https', take: (socket: Socket) => void): Promise<TestServer> {
  return listen(
    createTcpServer((socket) => {
      socket.on('error', () => undefined)
      take(socket)
    }),
    scheme,
    [],
  )
}

function listener(requests: SeenRequest[], answer: (response: ServerResponse, count: number) => void): RequestListener {
  return (request, response) => {
    void text(request).then((body) => {
      const { method = '', url = '', headers } = request
      requests.push({ method, path: url, headers, body: body === '' ? undefined : JSON.parse(body) })
      answer(response, requests.length)
    })
  }
}

async function listen(server: Server, scheme: string, requests: readonly SeenRequest[]): Promise<TestServer> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { port } = server.address() as AddressInfo
  return {
    url: `${scheme}://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

async function selfSigned(): Promise<{ key: string; cert: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-cert-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  try {
    const subject = ['-subj', '/CN=tailrace test', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    await promisify(execFile)('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert])
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  } finally {
    await rm(folder, { recursive: true })
  }
}
