// `tailrace reference`: the reference of the configuration and the mappings of the formats, from their declarations.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { renderMappings } from '../mappings.ts'
import { renderMetrics } from '../metrics-reference.ts'
import { renderReference } from '../reference.ts'
import type { ExitCode, Terminal } from './command.ts'

/** Writes `reference.md`, `mappings.md` and `metrics.md` into the folder `write`; without one, prints the reference. */
export async function reference(options: { readonly write?: string }, terminal: Terminal): Promise<ExitCode> {
  const { write: folder } = options
  if (folder === undefined) {
    terminal.print(renderReference())
    return 0
  }
  await writeFile(join(folder, 'reference.md'), renderReference())
  await writeFile(join(folder, 'mappings.md'), renderMappings())
  await writeFile(join(folder, 'metrics.md'), renderMetrics())
  return 0
}
