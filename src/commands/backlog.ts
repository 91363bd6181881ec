// `tailrace backlog`: what waits for each destination, also for those that are no longer configured.

import type { ExitCode, Terminal } from './command.ts'
import { assent, misuse, openRedisAccess } from './redis-access.ts'
import type { RedisAccess } from './redis-access.ts'
import { table } from './table.ts'

export interface BacklogOptions {
  readonly config: string
  readonly destination?: string
  readonly json?: boolean
  readonly yes?: boolean
}

interface BacklogRow {
  readonly destination: string
  readonly configured: boolean
  readonly batches: number
  readonly bytes: number
  readonly dead: number
}

export async function listBacklogs(options: BacklogOptions, terminal: Terminal): Promise<ExitCode> {
  await using access = await openRedisAccess(options.config, terminal)
  const rows = await backlogs(access)
  if (options.json) terminal.print(JSON.stringify(rows, null, 2))
  else {
    const lines = rows.map((row) => [
      row.destination,
      row.configured ? 'yes' : 'no',
      ...[row.batches, row.bytes, row.dead].map(String),
    ])
    terminal.print(table(['destination', 'configured', 'batches', 'bytes', 'dead letters'], lines))
  }
  return 0
}

async function backlogs({ config, store, batches }: RedisAccess): Promise<BacklogRow[]> {
  const configured = config.destinations.map(({ name }) => name)
  const sums = new Map(configured.map((name) => [name, { batches: 0, bytes: 0, dead: 0 }]))
  for (const key of await store.registered()) {
    for (const debt of await batches.debts(key)) {
      const sum = sums.get(debt.destination) ?? { batches: 0, bytes: 0, dead: 0 }
      sum.batches += debt.batches
      sum.bytes += debt.bytes
      sum.dead += debt.dead
      sums.set(debt.destination, sum)
    }
  }
  const rows = [...sums].map(([destination, sum]) => ({
    destination,
    configured: configured.includes(destination),
    ...sum,
  }))
  return rows.filter((row) => row.configured || row.batches > 0 || row.dead > 0)
}

/** Batches of one look; each is settled by a script of its own, so that it can be broken off anywhere. */
const together = 1_000

export async function discardBacklog(options: BacklogOptions, terminal: Terminal): Promise<ExitCode> {
  const { destination } = options
  if (destination === undefined) throw misuse('Name the destination: --destination old')
  await using access = await openRedisAccess(options.config, terminal)
  const row = (await backlogs(access)).find((one) => one.destination === destination)
  if (!row || row.batches === 0) {
    terminal.print(`Nothing waits for ${destination}.`)
    return 0
  }
  const still = row.configured ? ' It is still configured: what it has not got yet is lost to it.' : ''
  await assent(
    `This throws away ${row.batches} batches that wait for ${destination}.${still}`,
    options.yes ?? false,
    terminal,
  )
  const { store, batches } = access
  let discarded = 0
  for (const key of await store.registered()) {
    for (let skip = 0; ;) {
      const owed = await batches.owed(key, 0, together, skip)
      const own = [...owed].filter(([, owers]) => owers.includes(destination))
      for (const [id] of own) await batches.settle({ key, id }, destination, { left: [], dead: [] })
      discarded += own.length
      skip += owed.size - own.length
      if (owed.size < together) break
    }
  }
  terminal.print(`${discarded} batches thrown away.`)
  return 0
}
