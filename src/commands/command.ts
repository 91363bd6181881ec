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
  /** Resolves to what a person answers to the question. Absent: there is no person at the terminal. */
  ask?(question: string): Promise<string>
  /** Called when nobody reads the output any more, as after `| head`. Absent: nobody can tell. */
  onUnread?(unread: () => void): void
  /** Shows a line in place of the one before, '' for none. Absent: there is no terminal to show it on. */
  progress?(line: string): void
  /** Standard output, where that is a terminal: it can be drawn upon. */
  readonly screen?: Screen
  /** To standard output, with a line feed. */
  print(text: string): void
  /** To standard error, with a line feed. */
  complain(text: string): void
}

export interface Screen {
  /** As they are now: a window changes. */
  size(): { readonly columns: number; readonly rows: number }
  /** Just as it is. */
  write(text: string): void
}

/** Where the configuration is when nobody says so. */
export const usualConfig = 'config/tailrace.yaml'

/** `--config`, which every command has that reads one. */
export function configOption(doc = 'the configuration'): readonly [flags: string, doc: string, usual: string] {
  return ['-c, --config <file>', doc, process.env['TAILRACE_CONFIG'] ?? usualConfig]
}
