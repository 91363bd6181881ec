// A real nginx before a receiver, for one test: own configuration, folder and port.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export const hasNginx = spawnSync('nginx', ['-v']).status === 0

export interface Nginx extends AsyncDisposable {
  readonly port: number
  stop(): Promise<void>
  start(): Promise<void>
}

export interface NginxParts {
  /** Port of the receiver behind it. */
  readonly upstream: number
  /** Directives of `server`, such as `ssl_certificate …;`. */
  readonly server?: string
  /** Directives of `http`. */
  readonly http?: string
  /** Behind the address of `listen`: `ssl`. */
  readonly listen?: string
}

export async function startNginx(parts: NginxParts): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-nginx-'))
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  await writeFile(config, configuration(folder, port, parts))
  const launch = async () => {
    const child = spawn('nginx', ['-p', folder, '-c', config, '-e', join(folder, 'error.log')], { stdio: 'ignore' })
    await answers(port, async () => {
      if (child.exitCode !== null) throw new Error(await readFile(join(folder, 'error.log'), 'utf8'))
    })
    return child
  }
  let child = await launch()
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  return {
    port,
    stop,
    async start() {
      child = await launch()
    },
    async [Symbol.asyncDispose]() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** One process, so that there is one to end. */
function configuration(folder: string, port: number, parts: NginxParts): string {
  const { upstream, server = '', http = '', listen = '' } = parts
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  return `daemon off;
master_process off;
pid ${folder}/pid;
events { worker_connections 256; }
http {
  access_log off;
  ${temporary.join('\n  ')}
  ${http}
  server {
    listen 127.0.0.1:${port} ${listen};
    ${server}
    location / { proxy_pass http://127.0.0.1:${upstream}; }
  }
}
`
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function answers(port: number, look: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch (error) {
      await look()
      if (tries > 500) throw error
      await delay(10)
    } finally {
      socket.destroy()
    }
  }
}
