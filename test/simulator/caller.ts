// A caller of the simulated service, for these tests: every request over real HTTP.

import { request } from 'undici'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { wellKnownCredentials } from '../../src/simulator/directory.ts'

export interface Reply {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
  /** `body` of the envelope. */
  readonly body: unknown
}

export interface Caller {
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>
  list(path: string, filter: object, rest?: object): Promise<Record<string, unknown>[]>
}

export function createCaller(simulator: Simulator, credentials = wellKnownCredentials as Who): Caller {
  const own = { 'x-serviceapi-uuid': credentials.uuid, 'x-serviceapi-secret': credentials.secret }
  const caller: Caller = {
    async post(path, body, headers = {}) {
      const answer = await request(simulator.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...own, ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      const text = await answer.body.text()
      return { status: answer.statusCode, headers: answer.headers, text, body: bodyOf(text) }
    },
    async list(path, filter, rest = {}) {
      const reply = await caller.post(path, { filter, ...rest })
      if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`)
      return reply.body as Record<string, unknown>[]
    },
  }
  return caller
}

/** A request to the simulator's controls. */
export async function control(simulator: Simulator, method: string, path: string, body?: object): Promise<string> {
  const answer = await request(`${simulator.url}/simulator/${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return answer.body.text()
}

interface Who {
  readonly uuid: string
  readonly secret: string
}

function bodyOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { body?: unknown }).body
  } catch {
    return undefined
  }
}
