// The seen set's wire form: small, and of fixed width, so that a page travels as one argument.
//
// An identity is 12 bytes of its digest. A value is 16 bytes: 8 of the version's digest, 3 of revision,
// 1 of flags (1 = closed), 4 of mark. Both digests are kept as `latin1` strings, one character a byte.

export const identityBytes = 12
export const versionBytes = 8
const valueBytes = 16
const revisionMax = 0xffffff

export interface Seen {
  readonly version: string
  readonly revision: number
  readonly closed: boolean
  /** A timeline's ordering time (Unix seconds), or the number of the inventory pass that saw it last. */
  readonly mark: number
}

export interface SeenChange extends Seen {
  readonly identity: string
}

export function packIdentities(identities: readonly string[]): Buffer {
  const packed = Buffer.allocUnsafe(identities.length * identityBytes)
  for (const [i, identity] of identities.entries()) packed.write(identity, i * identityBytes, 'latin1')
  return packed
}

export function unpackSeen(packed: Buffer): (Seen | undefined)[] {
  const seen: (Seen | undefined)[] = []
  for (let at = 0; at < packed.length; at += valueBytes) seen.push(readSeen(packed, at))
  return seen
}

export function packChanges(changes: readonly SeenChange[]): Buffer {
  const width = identityBytes + valueBytes
  const packed = Buffer.allocUnsafe(changes.length * width)
  for (const [i, change] of changes.entries()) {
    const at = i * width
    packed.write(change.identity, at, 'latin1')
    packed.write(change.version, at + identityBytes, 'latin1')
    const tail = at + identityBytes + versionBytes
    packed.writeUIntBE(Math.min(change.revision, revisionMax), tail, 3)
    packed[tail + 3] = change.closed ? 1 : 0
    packed.writeUInt32BE(Math.max(0, Math.min(0xffffffff, Math.floor(change.mark))), tail + 4)
  }
  return packed
}

export function unpackChanges(packed: Buffer): SeenChange[] {
  const width = identityBytes + valueBytes
  const changes: SeenChange[] = []
  for (let at = 0; at < packed.length; at += width) {
    const seen = readSeen(packed, at + identityBytes)
    if (seen) changes.push({ identity: packed.toString('latin1', at, at + identityBytes), ...seen })
  }
  return changes
}

/** Revisions begin at 1, so zeros mean that nothing is known. */
function readSeen(packed: Buffer, at: number): Seen | undefined {
  const revision = packed.readUIntBE(at + versionBytes, 3)
  if (revision === 0) return undefined
  return {
    version: packed.toString('latin1', at, at + versionBytes),
    revision,
    closed: packed[at + versionBytes + 3] === 1,
    mark: packed.readUInt32BE(at + versionBytes + 4),
  }
}
