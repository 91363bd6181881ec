// What the tests of `tailrace service` share: the command line as a process, against the simulator.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
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
  /** `tailrace service` with these words; the account is added. */
  service(...words: string[]): Promise<Ended>
  /** The same, killed as soon as the service has taken its request and its fault. */
  killed(...words: string[]): Promise<Ended>
  /** Without the account. */
  bare(...words: string[]): Promise<Ended>
  write(name: string, content: string | object): Promise<string>
  read(name: string): Promise<string>
  /** How many requests the service has answered, or broken, by path. */
  count(path: string): number
}

const main = resolve('src/main.ts')
const { uuid, secret, partnerUuid } = wellKnownCredentials

export async function openStage(options: SimulatorOptions = {}): Promise<Stage> {
  const simulator = await startSimulator({ frozen: true, ...options })
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-service-'))
  const children = new Set<ChildProcess>()
  const launch = (words: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } => {
    const env = {
      ...process.env,
      USER_UUID: uuid,
      USER_SECRET: secret,
      PARTNER_UUID: partnerUuid,
      WRONG: 'wrong-secret',
    }
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
    service: async (...words) => launch([...words, ...account]).ended,
    bare: async (...words) => launch(words).ended,
    async killed(...words) {
      const { child, ended } = launch([...words, ...(words.includes('--instance') ? [] : account)])
      await expect.poll(() => simulator.faults.list(), { timeout: 10_000 }).toEqual([])
      child.kill('SIGKILL')
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

async function endOf(child: ChildProcess): Promise<Ended> {
  let [out, err] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (out += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (err += chunk))
  await once(child, 'close')
  for (const hidden of [uuid, partnerUuid]) expect(out + err).not.toContain(hidden)
  return { code: child.exitCode, out, err }
}

export const paths = {
  create: '/v1/objects/client/create',
  bind: '/v2/partner/:partnerid/partner_client',
  renew: '/v1/user/renew_secret',
  createRule: '/v1/objects/hint/create',
  attacks: '/v1/objects/attack',
} as const
