// Who may do what: credentials, partners and the clients that they made.

import type { Random } from './random.ts'

export interface Credentials {
  readonly uuid: string
  readonly secret: string
  /** Has partner status, and may create and bind clients. */
  readonly partnerUuid?: string
  /** May see these clients only. Default: all. */
  readonly clients?: readonly number[]
}

export const wellKnownCredentials: Credentials & { readonly partnerUuid: string } = {
  uuid: '11111111-1111-4111-8111-111111111111',
  secret: 'simulated-secret',
  partnerUuid: '22222222-2222-4222-8222-222222222222',
}

/** The id of every partner here: there is one account. */
export const partnerId = 77

export interface Directory {
  /** undefined: wrong uuid or secret. */
  authenticate(uuid: unknown, secret: unknown): Credentials | undefined
  mayUse(credentials: Credentials, clients: readonly number[]): boolean
  put(credentials: Credentials): void
  revoke(uuid: string): boolean
  /** A new secret; the old one dies at once. */
  renew(credentials: Credentials): string
  /** The client's id, or undefined if name or prefix are taken. */
  createClient(owner: Credentials, client: ClientDraft): number | undefined
  /** False: it is bound already. */
  bind(client: number, id: number): boolean
  owns(owner: Credentials, client: number): boolean
}

export interface ClientDraft {
  readonly name: string
  readonly prefix: string
}

export function createDirectory(known: readonly Credentials[], clients: readonly number[], random: Random): Directory {
  const byUuid = new Map(known.map((credentials) => [credentials.uuid, credentials]))
  const owned = new Map<number, ClientDraft & { readonly owner: string }>()
  const bindings = new Map<number, number>()
  const all = new Set(clients)
  let latest = Math.max(1000, ...clients)
  return {
    authenticate(uuid, secret) {
      const credentials = typeof uuid === 'string' ? byUuid.get(uuid) : undefined
      return credentials !== undefined && credentials.secret === secret ? credentials : undefined
    },
    mayUse: (credentials, wanted) =>
      wanted.every((client) => all.has(client) && (credentials.clients?.includes(client) ?? true)),
    put: (credentials) => void byUuid.set(credentials.uuid, credentials),
    revoke: (uuid) => byUuid.delete(uuid),
    renew(credentials) {
      const secret = random.word(48)
      byUuid.set(credentials.uuid, { ...credentials, secret })
      return secret
    },
    createClient(owner, client) {
      for (const other of owned.values()) {
        if (other.name === client.name || other.prefix === client.prefix) return undefined
      }
      const id = ++latest
      all.add(id)
      owned.set(id, { ...client, owner: owner.uuid })
      const current = byUuid.get(owner.uuid)
      if (current?.clients !== undefined) byUuid.set(owner.uuid, { ...current, clients: [...current.clients, id] })
      return id
    },
    bind(client, id) {
      if (bindings.has(client)) return false
      bindings.set(client, id)
      return true
    },
    owns: (owner, client) => owned.get(client)?.owner === owner.uuid,
  }
}
