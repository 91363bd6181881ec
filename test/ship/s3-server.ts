// A store that speaks S3: s3rver, and a door before it that checks what s3rver does not (signatures of version 4,
// Content-MD5), and that can be shut, break off, stall, or answer instead.

import type { Buffer } from 'node:buffer'
import { createHmac, hash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import S3rver from 's3rver'
import type { Certificate } from './certificates.ts'

export type Instead = (response: ServerResponse, request: IncomingMessage) => void

export interface Stored {
  readonly key: string
  readonly headers: IncomingMessage['headers']
  readonly lines: readonly string[]
}

/** The account that s3rver comes with. */
export const account = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
export const bucket = 'evidence'

export async function startS3(identity?: Certificate) {
  const directory = await mkdtemp(join(tmpdir(), 'tailrace-s3-'))
  const store = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  })
  const { port: inner } = await store.run()
  const state = { instead: undefined as Instead | undefined }
  const requests: IncomingMessage[] = []
  /** In order of the first time that each was stored. */
  const keys = new Set<string>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests.push(request)
    if (state.instead !== undefined) return state.instead(response, request)
    const body = await buffer(request)
    const refusal = refuse(request, body)
    if (refusal !== undefined) return sayError(response, 403, refusal)
    const { method, url: path = '', headers } = request
    const passed = forward({ port: inner, host: '127.0.0.1', method, path, headers }).end(body)
    const [back] = (await once(passed, 'response')) as [IncomingMessage]
    const bytes = await buffer(back)
    if (method === 'PUT' && back.statusCode === 200) keys.add(keyOf(path))
    response.writeHead(back.statusCode ?? 500, back.headers).end(bytes)
  }

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch(() => response.destroy())
  }
  const launch = async (at: number) => {
    const secure = identity && { cert: readFileSync(identity.cert), key: readFileSync(identity.key) }
    const server = secure === undefined ? createServer(listener) : createSecureServer(secure, listener)
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let door = await launch(0)
  const { port } = door.address() as AddressInfo
  const stop = async (): Promise<void> => {
    if (!door.listening) return
    door.closeAllConnections()
    door.close()
    await once(door, 'close')
  }

  /** Straight from s3rver, past the door and the SDK. */
  async function fetchObject(key: string): Promise<Stored> {
    const asked = forward({ port: inner, host: '127.0.0.1', path: `/${bucket}/${key}` }).end()
    const [back] = (await once(asked, 'response')) as [IncomingMessage]
    const text = gunzipSync(await buffer(back)).toString()
    return { key: decodeURIComponent(key), headers: back.headers, lines: text.split('\n').slice(0, -1) }
  }

  return {
    state,
    requests,
    endpoint: `${identity === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    stored: async (): Promise<Stored[]> => Promise.all([...keys].map(fetchObject)),
    stop,
    async start() {
      door = await launch(port)
    },
    async [Symbol.asyncDispose]() {
      await stop()
      store.httpServer.closeAllConnections()
      await store.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export function sayError(response: ServerResponse, status: number, code: string, headers: object = {}): void {
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>because</Message></Error>`
  response.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(text)
}

function keyOf(path: string): string {
  return path.replace(`/${bucket}/`, '').replace(/\?.*$/, '')
}

/** AWS General Reference, "Signature Version 4 signing process". */
function refuse({ method, url = '', headers }: IncomingMessage, body: Buffer): string | undefined {
  const pattern = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const [, id, scope = '', signed = '', signature] = pattern.exec(headers.authorization ?? '') ?? []
  if (id !== account.accessKeyId) return 'InvalidAccessKeyId'
  const digest = headers['content-md5']
  if (digest !== undefined && digest !== hash('md5', body, 'base64')) return 'BadDigest'
  if (headers['x-amz-content-sha256'] !== hash('sha256', body)) return 'XAmzContentSHA256Mismatch'
  const [path = '', query = ''] = url.split('?')
  const named = signed.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const sorted = query.split('&').toSorted().join('&')
  const canonical = [method, path, sorted, named.join(''), signed, headers['x-amz-content-sha256']].join('\n')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash('sha256', canonical)].join('\n')
  const first: string | Buffer = `AWS4${account.secretAccessKey}`
  const key = scope
    .split('/')
    .reduce<string | Buffer>((last, part) => createHmac('sha256', last).update(part).digest(), first)
  const expected = createHmac('sha256', key).update(text).digest('hex')
  return signature === expected ? undefined : 'SignatureDoesNotMatch'
}
