// The daemon as a process, to be killed.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'

export interface DaemonProcess extends AsyncDisposable {
  kill(signal: NodeJS.Signals): Promise<void>
  signal(signal: NodeJS.Signals): void
  start(): void
  /** Exit codes and signals of runs that were not killed by us. */
  readonly deaths: string[]
}

export function startDaemonProcess(config: string, log: string): DaemonProcess {
  const output = createWriteStream(log, { flags: 'a' })
  const deaths: string[] = []
  const expected = new WeakSet<ChildProcess>()
  const launch = (): ChildProcess => {
    const run = spawn(process.execPath, ['src/main.ts', 'run', '--config', config], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    run.stdout.pipe(output, { end: false })
    run.stderr.pipe(output, { end: false })
    run.on('exit', (code, signal) => {
      if (!expected.has(run)) deaths.push(String(code ?? signal))
    })
    return run
  }
  let child = launch()
  return {
    deaths,
    start() {
      child = launch()
    },
    signal(signal) {
      child.kill(signal)
    },
    async kill(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return
      expected.add(child)
      const exited = once(child, 'exit')
      child.kill(signal)
      await exited
    },
    async [Symbol.asyncDispose]() {
      await this.kill('SIGTERM')
      output.end()
    },
  }
}
