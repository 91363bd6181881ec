// `tailrace reference`: the reference of the configuration, rendered from its declarations.

import { writeFile } from 'node:fs/promises'
import { renderReference } from '../reference.ts'
import type { ExitCode, Terminal } from './command.ts'

export async function reference(options: { readonly write?: string }, terminal: Terminal): Promise<ExitCode> {
  const text = renderReference()
  if (options.write === undefined) terminal.print(text)
  else await writeFile(options.write, text)
  return 0
}
