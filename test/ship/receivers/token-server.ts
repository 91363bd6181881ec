// Tokens for client credentials from a real OpenID Connect server, at the place where Entra ID has them.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { generateKeyPairSync } from 'node:crypto'
import Provider, { type AdapterPayload } from 'oidc-provider'

export const application = {
  tenantId: 'contoso.example',
  clientId: '6fa1c2d4-0000-4000-8000-000000000001',
  // Characters that a form has to escape.
  clientSecret: 'Q~secret+of/the=application&more',
}

export interface TokenServer extends AsyncDisposable {
  readonly origin: string
  /** Every token that was given out for the scope, in order: for another, it gives tokens that are good for nothing. */
  readonly issued: readonly string[]
  /** Those of them that have not expired. */
  good(): readonly string[]
  /** How long tokens last from now on, seconds. */
  life: number
  stop(): Promise<void>
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

export async function startTokenServer(scope = 'https://monitor.azure.com/.default'): Promise<TokenServer> {
  const issued: string[] = []
  const ends = new Map<string, number>()
  const provider = new Provider('http://127.0.0.1', {
    adapter: memory,
    clients: [
      {
        client_id: application.clientId,
        client_secret: application.clientSecret,
        token_endpoint_auth_method: 'client_secret_post',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        scope,
      },
    ],
    cookies: { keys: ['only for tests'] },
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig' }] },
    routes: { token: `/${application.tenantId}/oauth2/v2.0/token` },
    scopes: [scope],
    ttl: { ClientCredentials: () => state.life },
  })
  provider.on('grant.success', ({ body }) => {
    const given = body as { readonly access_token: string; readonly expires_in: number; readonly scope?: string }
    if (given.scope !== scope) return
    issued.push(given.access_token)
    ends.set(given.access_token, performance.now() + given.expires_in * 1000)
  })
  const answer = provider.callback()
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  const good = () => issued.filter((token) => performance.now() < (ends.get(token) ?? 0))
  const state = { origin: `http://127.0.0.1:${port}`, issued, good, life: 3600, stop, [Symbol.asyncDispose]: stop }
  return state
}

/** What the server keeps. Without one of its own it warns that its memory is not for production. */
function memory() {
  const kept = new Map<string, AdapterPayload>()
  const nothing = async () => undefined
  return {
    upsert: async (id: string, payload: AdapterPayload) => void kept.set(id, payload),
    find: async (id: string) => kept.get(id),
    findByUid: nothing,
    findByUserCode: nothing,
    consume: nothing,
    destroy: async (id: string) => void kept.delete(id),
    revokeByGrantId: nothing,
  }
}
