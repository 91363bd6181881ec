// A real Prometheus for one test, which watches one daemon every second.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0

export interface Prometheus extends AsyncDisposable {
  /** How many series answer an expression now. Rejects with Prometheus' words where it is none. */
  count(expr: string): Promise<number>
  get(path: string): Promise<unknown>
}

/** `target`: host:port. `rules`: a file of alert rules. */
export async function startPrometheus(target: string, rules: string): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-prometheus-'))
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'tailrace', static_configs: [{ targets: [target] }] }],
  }
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config)) // JSON is YAML
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  const get = async (path: string): Promise<unknown> => {
    const answer = (await (await fetch(url + path)).json()) as { status: string; error?: string; data: unknown }
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`)
    return answer.data
  }
  for (let tries = 0; ; tries++) {
    const ready = await fetch(`${url}/-/ready`).catch(() => undefined)
    if (ready?.ok === true) break
    if (tries > 200 || child.exitCode !== null) throw new Error('Prometheus does not start')
    await delay(50)
  }
  return {
    get,
    async count(expr) {
      const data = (await get(`/api/v1/query?query=${encodeURIComponent(expr)}`)) as { result: readonly unknown[] }
      return data.result.length
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
