// What the tests of `tailrace service` share: the command line as a process, against the simulator.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Command, CommanderError } from 'commander'
import { expect } from 'vitest'
import type { Terminal } from '../../src/commands/command.ts'
import type { Act } from '../../src/commands/service/access.ts'
import { declareServiceCommands } from '../../src/commands/service/declare.ts'
import { asTailraceError, errorTable } from '../../src/errors.ts'
import { wellKnownCredentials } from '../../src/simulator/directory.ts'
import { startSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Stage extends AsyncDisposable {
  readonly simulator: Simulator
  readonly folder: string
  /** `tailrace service` with these words, in this process; the account is added. */
  service(...words: string[]): Promise<Ended>
  /** The same without the account. */
  bare(...words: string[]): Promise<Ended>
  /** The same as a process of its own, in the folder. */
  run(...words: string[]): Promise<Ended>
  /** A process that gets the signal as soon as the service has taken its request and its fault. */
  struck(signal: NodeJS.Signals, ...words: string[]): Promise<Ended>
  /** Its path. */
  write(name: string, content: string | object): Promise<string>
  read(name: string): Promise<string>
  /** How many requests the service has answered, or broken, by path. */
  count(path: string): number
}

const main = resolve('src/main.ts')
const { uuid, secret, partnerUuid } = wellKnownCredentials
const env = { ...process.env, USER_UUID: uuid, USER_SECRET: secret, PARTNER_UUID: partnerUuid, WRONG: 'wrong-secret' }

export async function openStage(options: SimulatorOptions = {}): Promise<Stage> {
  const simulator = await startSimulator({ frozen: true, ...options })
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-service-'))
  const children = new Set<ChildProcess>()
  const launch = (words: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } => {
    const child = spawn(process.execPath, [main, 'service', ...words], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.add(child)
    return { child, ended: endOf(child) }
  }
  const account = ['--instance', simulator.url, '--uuid-from', 'env:USER_UUID', '--secret-from', 'env:USER_SECRET']
  return {
    simulator,
    folder,
    service: async (...words) => inside([...words, ...account]),
    bare: async (...words) => inside(words),
    run: async (...words) => launch(words).ended,
    async struck(signal, ...words) {
      const { child, ended } = launch([...words, ...(words.includes('--instance') ? [] : account)])
      const tooSoon = ended.then(({ err }) => Promise.reject(new Error(`it ended before: ${err}`)))
      const taken = async (): Promise<void> => {
        await expect.poll(() => simulator.faults.list(), { timeout: 20_000 }).toEqual([])
      }
      await Promise.race([taken(), tooSoon])
      child.kill(signal)
      return ended
    },
    async write(name, content) {
      const path = join(folder, name)
      await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
      return path
    },
    read: async (name) => readFile(join(folder, name), 'utf8'),
    count(path) {
      const outcomes = simulator.stats.report().operations[path] ?? {}
      return Object.values(outcomes).reduce((sum, one) => sum + one, 0)
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) if (child.exitCode === null) child.kill('SIGKILL')
      await simulator[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** As src/main.ts does it: a process takes a second to start, and there are many tests. */
async function inside(words: readonly string[]): Promise<Ended> {
  const [out, err]: [string[], string[]] = [[], []]
  const program = new Command('tailrace')
    .exitOverride()
    .configureOutput({ writeOut: (text) => void out.push(text), writeErr: (text) => void err.push(text) })
  const terminal: Terminal = {
    env,
    signal: new AbortController().signal,
    print: (text) => void out.push(`${text}\n`),
    complain: (text) => void err.push(`${text}\n`),
  }
  let code = 2
  try {
    const chosen: Parameters<Act>[0][] = []
    declareServiceCommands(program, (work) => void chosen.push(work))
    await program.parseAsync(['service', ...words], { from: 'user' })
    code = (await chosen[0]?.(terminal)) ?? 2
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) {
      const error = asTailraceError(thrown)
      terminal.complain(`tailrace: ${error.message}\n  ${error.code}: ${errorTable[error.code].doc}`)
      code = ['config_invalid', 'secret_missing', 'misuse'].includes(error.code) ? 2 : 1
    }
  }
  return hiding({ code, out: out.join(''), err: err.join('') })
}

function hiding(ended: Ended): Ended {
  for (const hidden of [uuid, partnerUuid]) expect(ended.out + ended.err).not.toContain(hidden)
  return ended
}

async function endOf(child: ChildProcess): Promise<Ended> {
  let [out, err] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (out += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (err += chunk))
  await once(child, 'close')
  return hiding({ code: child.exitCode, out, err })
}

export const paths = {
  create: '/v1/objects/client/create',
  bind: '/v2/partner/:partnerid/partner_client',
  renew: '/v1/user/renew_secret',
  createRule: '/v1/objects/hint/create',
  attacks: '/v1/objects/attack',
} as const
