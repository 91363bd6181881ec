// What every command is given, and what it gives back.

import type { Environment } from '../secrets.ts'

/** 0 done, 1 failed, 2 misuse or bad configuration. */
export type ExitCode = 0 | 1 | 2

export interface Terminal {
  readonly env: Environment
  /** Aborted at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal
  /** Called whenever the process is asked to read its configuration again. Absent: nobody can ask. */
  onReload?(reload: () => void): void
  /** To standard output, with a line feed. */
  print(text: string): void
  /** To standard error, with a line feed. */
  complain(text: string): void
}
