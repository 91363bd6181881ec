// `tailrace dead-letters`: events that a destination has refused for good. Looked at, sent again, or thrown away.

import { createDeadLetters, letterId } from '../queue/dead-letters.ts'
import type { DeadLetters, StoredLetter } from '../queue/dead-letters.ts'
import type { ExitCode, Terminal } from './command.ts'
import { assent, chooseStreams, misuse, openRedisAccess } from './redis-access.ts'
import type { RedisAccess, StreamChoice } from './redis-access.ts'
import { table } from './table.ts'
import { isoTime } from '../telemetry/iso-time.ts'

export interface LetterOptions extends StreamChoice {
  readonly config: string
  readonly destination?: string
  readonly code?: string
  readonly limit?: number
  readonly json?: boolean
  readonly yes?: boolean
}

/** Letters that become one batch: as many as a page has records at the most, and not too many bytes for one script. */
const together = { letters: 500, bytes: 1_000_000 }

export async function listLetters(options: LetterOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const { letters, more } = await choose(access, [], { limit: 100, ...options })
  const shown = letters.toSorted((a, b) => a.at - b.at)
  if (options.json) {
    const rows = shown.map((letter) => ({ id: letterId(letter), ...about(letter), record: letter.record.toString() }))
    terminal.print(JSON.stringify(rows, null, 2))
    return 0
  }
  if (shown.length === 0) terminal.print('There are no dead letters.')
  else terminal.print(table(['id', 'set aside', 'code', 'bytes', 'why'], shown.map(lineOf)))
  if (more) terminal.complain(`There are more than ${shown.length}: --limit shows more of them.`)
  return 0
}

export async function showLetter(id: string, options: LetterOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const [letter] = (await choose(access, [id], options)).letters
  if (!letter) throw misuse(`There is no dead letter ${id}: \`tailrace dead-letters list\` names those that there are.`)
  // What is for people goes to standard error: the record can be redirected, byte by byte.
  terminal.complain(`${letter.code}, ${isoTime(letter.at)}: ${letter.reason}`)
  terminal.print(letter.record.toString())
  return 0
}

export async function requeueLetters(
  ids: readonly string[],
  options: LetterOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const { letters } = await choose(access, ids, options)
  const known = new Set(access.config.destinations.map(({ name }) => name))
  const homeless = letters.find(({ destination }) => !known.has(destination))
  if (homeless)
    throw misuse(`${homeless.destination} is no longer configured: what is queued for it would never be sent.`)
  return await carryOut(letters, 'queued again', async (dead, some) => dead.requeue(some), { access, terminal })
}

export async function discardLetters(
  ids: readonly string[],
  options: LetterOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const { letters } = await choose(access, ids, options)
  if (letters.length > 0) {
    const names = [...new Set(letters.map(({ destination }) => destination))].join(', ')
    await assent(`This throws away ${letters.length} events that ${names} has not got.`, options.yes ?? false, terminal)
  }
  return await carryOut(letters, 'thrown away', async (dead, some) => dead.discard(some), { access, terminal })
}

async function carryOut(
  letters: readonly StoredLetter[],
  words: string,
  work: (dead: DeadLetters, some: readonly StoredLetter[]) => Promise<boolean>,
  { access, terminal }: { access: RedisAccess; terminal: Terminal },
): Promise<ExitCode> {
  const dead = createDeadLetters(access.redis, access.prefix)
  let [done, raced] = [0, 0]
  for (const some of groups(letters)) {
    terminal.signal.throwIfAborted()
    if (await work(dead, some)) done += some.length
    else raced += some.length
  }
  terminal.print(`${done} dead letters ${words}.`)
  if (raced > 0) terminal.complain(`${raced} were left alone: somebody else is at work on some of them. Try again.`)
  return raced > 0 ? 1 : 0
}

/** By stream and destination, cut so that each becomes one batch. */
function groups(letters: readonly StoredLetter[]): StoredLetter[][] {
  const byOwner = Map.groupBy(letters, ({ key, destination }) => `${key} ${destination}`)
  return [...byOwner.values()].flatMap((own) => {
    const cut: StoredLetter[][] = []
    let bytes = 0
    for (const letter of own.toSorted((a, b) => a.at - b.at || a.index - b.index)) {
      bytes += letter.record.length
      const last = cut.at(-1)
      if (last && last.length < together.letters && bytes <= together.bytes) last.push(letter)
      else {
        cut.push([letter])
        bytes = letter.record.length
      }
    }
    return cut
  })
}

/** Those that fit; with ids, those that are named. */
async function choose(
  access: RedisAccess,
  ids: readonly string[],
  { tenant, stream, destination, code, limit = Infinity }: LetterOptions,
): Promise<{ readonly letters: StoredLetter[]; readonly more: boolean }> {
  const dead = createDeadLetters(access.redis, access.prefix)
  const wanted = new Set(ids)
  const letters: StoredLetter[] = []
  for (const key of await chooseStreams(access, { ...(tenant ? { tenant } : {}), ...(stream ? { stream } : {}) })) {
    for await (const letter of dead.scan(key)) {
      if (destination !== undefined && letter.destination !== destination) continue
      if (code !== undefined && letter.code !== code) continue
      if (wanted.size > 0 && !wanted.has(letterId(letter))) continue
      if (letters.length >= limit) return { letters, more: true }
      letters.push(letter)
    }
  }
  return { letters, more: false }
}

function about({ key, destination, code, reason, at }: StoredLetter): object {
  return { stream: key, destination, code, reason, at: isoTime(at) }
}

function lineOf(letter: StoredLetter): string[] {
  const reason = letter.reason.length > 80 ? `${letter.reason.slice(0, 79)}…` : letter.reason
  return [letterId(letter), isoTime(letter.at), letter.code, String(letter.record.length), reason]
}
