// The command line as a person uses it: a process of its own.

import { execFile } from 'node:child_process'

export interface Ended {
  /** -1: it was ended by a signal. */
  readonly code: number
  readonly out: string
  readonly err: string
}

/** `env`: besides the variables of this process. Ended by force after a minute. */
export async function runCommand(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const options = { timeout: 60_000, env: { ...process.env, ...env } }
  return await new Promise((resolve) => {
    execFile(process.execPath, ['src/main.ts', ...args], options, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err })
    })
  })
}

export async function tailrace(...args: string[]): Promise<Ended> {
  return await runCommand(args)
}
