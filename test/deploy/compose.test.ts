// What deploy/compose.yaml promises, read as Compose reads it, for there may be no engine here: and the parts of it
// that run without one, run.

import { spawn, spawnSync } from 'node:child_process'
import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { registers } from '../../src/commands/registers.ts'
import { loadConfig } from '../../src/config.ts'
import { syslog } from '../../src/ship/sinks/syslog.ts'
import { batch, openSink, patient } from '../ship/options.ts'
import { answers, freePort, hasRsyslog } from '../ship/rsyslog.ts'

const deploy = new URL('../../deploy/', import.meta.url).pathname
const dockerfiles = [join(deploy, '../Dockerfile'), join(deploy, 'rsyslog/Dockerfile')]

interface Service {
  readonly image: string
  readonly build?: string
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly networks: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly user: string
  readonly [option: string]: unknown
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
  readonly volumes: Readonly<Record<string, unknown>>
}

const text = await readFile(join(deploy, 'compose.yaml'), 'utf8')
const { services, networks, volumes } = parse(text, { merge: true, uniqueKeys: true }) as Compose

/** `${NAME:-default}` as it is where NAME is not set. */
function withDefaults(value: string): string {
  return value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
}

const known = new Set(
  `build image depends_on environment volumes ports networks healthcheck user command tmpfs mem_limit stop_grace_period
  read_only cap_drop security_opt pids_limit init restart logging`.split(/\s+/),
)

describe.each(Object.entries(services))('service %s', (_name, service) => {
  test('is contained', () => {
    expect(Object.keys(service).filter((option) => !known.has(option))).toEqual([])
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      restart: 'unless-stopped',
      tmpfs: ['/tmp'],
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
      pids_limit: expect.any(Number),
    })
    expect(service.user).toMatch(/^[1-9]\d*:\d+$/)
  })

  test('is of a pinned version', () => {
    expect(service.image).toMatch(/:v?\d+\.\d+\.\d+/)
  })

  test('says whether it is healthy, and waits for those that do', () => {
    expect(service.healthcheck?.test[0]).toMatch(/^CMD(-SHELL)?$/)
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      expect(condition).toBe('service_healthy')
      expect(services[other]?.healthcheck?.test).toBeDefined()
    }
  })

  test('mounts what exists, and writes to volumes only', () => {
    const mounts = (service.volumes ?? []).map((volume) => withDefaults(volume).split(':'))
    for (const [source = '', target, mode] of mounts.filter(([from]) => from?.startsWith('.'))) {
      // Folders, not files: an editor that replaces a file would not be seen.
      expect(statSync(resolve(deploy, source)).isDirectory()).toBe(true)
      expect([target?.[0], mode]).toEqual(['/', 'ro'])
    }
    const named = mounts.map(([source = '']) => source).filter((source) => !source.startsWith('.'))
    expect(named.filter((name) => !Object.hasOwn(volumes, name))).toEqual([])
  })

  test('is published on loopback only, or not to be reached from outside', () => {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
    expect(service.networks.filter((network) => !Object.hasOwn(networks, network))).toEqual([])
    const outside = service.networks.filter((network) => networks[network]?.internal !== true)
    expect(service.ports === undefined ? outside : []).toEqual([])
  })

  test('has no secret', () => {
    for (const [name, value] of Object.entries(service.environment ?? {})) {
      expect(name).not.toMatch(/PASSWORD|SECRET|TOKEN|KEY$/)
      expect(value).not.toMatch(/\/\/[^/]*:[^/]*@/)
    }
  })
})

test('every volume and network is used', () => {
  const all = Object.values(services)
  const mounted = all.flatMap(({ volumes: own }) => (own ?? []).map((volume) => volume.split(':')[0]))
  expect(Object.keys(volumes).filter((name) => !mounted.includes(name))).toEqual([])
  const joined = all.flatMap((service) => service.networks)
  expect(Object.keys(networks).filter((name) => !joined.includes(name))).toEqual([])
})

test('images are made of pinned versions, and run as a numbered user', async () => {
  for (const file of dockerfiles) {
    const lines = (await readFile(file, 'utf8')).split('\n')
    const froms = lines.filter((line) => line.startsWith('FROM '))
    for (const from of froms) expect(from).toMatch(/^FROM docker\.io\/library\/[\w-]+:\d+\.\d+(\.\d+)?-[\w-]+/)
    expect(lines.findLast((line) => line.startsWith('USER '))).toMatch(/^USER \d+:\d+$/)
    expect(lines.some((line) => line.startsWith('HEALTHCHECK '))).toBe(true)
  }
})

test('what the images are made of has no configuration in it, nor anything that a test needs', async () => {
  const ignored = await readFile(join(deploy, '../.dockerignore'), 'utf8')
  const kept = ignored.split('\n').filter((line) => line.startsWith('!'))
  expect(kept).toEqual(['!package.json', '!package-lock.json', '!LICENSE', '!src'])
})

test('the configuration that is mounted is right, and fits the stand-in', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-compose-'))
  try {
    await writeFile(join(folder, 'ca.pem'), 'as if it were mounted')
    const demo = await readFile(join(deploy, 'demo/tailrace.yaml'), 'utf8')
    await writeFile(join(folder, 'tailrace.yaml'), demo.replace('/run/siem-ca/ca.pem', join(folder, 'ca.pem')))
    const config = await loadConfig(join(folder, 'tailrace.yaml'), services['tailrace']?.environment ?? {}, registers)
    expect(config.brokenTenants).toEqual([])
    expect(config.tenants).toMatchObject([{ instance: 'simulator' }])
    expect(config.redis.url).toBe('redis://redis:6379')
    expect(config.destinations[0]?.options).toMatchObject({ address: 'siem:6514', maxMessageBytes: 64 * 1024 })
    expect(await readFile(join(deploy, 'rsyslog/rsyslog.conf'), 'utf8')).toContain('maxMessageSize="64k"')
    const grace = Number(/^(\d+)s$/.exec(String(services['tailrace']?.['stop_grace_period']))?.[1])
    expect(grace * 1000).toBeGreaterThan(config.shutdown.grace)
  } finally {
    await rm(folder, { recursive: true })
  }
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

// The configuration and scripts of the image, with its folders moved into one of the test's.
describe.skipIf(!hasRsyslog || !hasOpenssl)('the stand-in for a SIEM', () => {
  let folder = ''
  let port = 0
  let stop = async (): Promise<void> => undefined

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tailrace-siem-'))
    port = await freePort()
    for (const name of ['siem', 'siem-ca']) await mkdir(join(folder, name))
    const moved = async (name: string): Promise<string> => {
      const content = await readFile(join(deploy, 'rsyslog', name), 'utf8')
      return content
        .replaceAll(/\/(var\/lib|usr\/local\/bin|tmp)\b/g, folder)
        .replace('port="6514"', `address="127.0.0.1" port="${port}"`)
        .replace('104857600', '4096')
        .replace('rsyslogd -n', `rsyslogd -f ${folder}/rsyslog.conf -n`)
    }
    const scripts = { mode: 0o755 }
    await writeFile(join(folder, 'rsyslog.conf'), await moved('rsyslog.conf'))
    await writeFile(join(folder, 'rotate.sh'), await moved('rotate.sh'), scripts)
    await writeFile(join(folder, 'start.sh'), await moved('start.sh'), scripts)
    const child = spawn(join(folder, 'start.sh'), { stdio: 'ignore' })
    const gone = once(child, 'exit')
    stop = async () => {
      child.kill('SIGTERM')
      await gone
    }
    // Making the key and loading GnuTLS take a while where there is much else to do.
    await vi.waitFor(async () => answers(port), { timeout: 50_000 })
  }, 60_000)

  afterAll(async () => {
    await stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('takes events over TLS by its own certificate, whole, and keeps the file before', async () => {
    const ca = join(folder, 'siem-ca/ca.pem')
    await using sink = openSink(syslog, {
      address: `127.0.0.1:${port}`,
      transport: 'tls',
      confirm: 'close',
      tls: { ca, servername: 'siem' },
    })
    const message = (words: string): string => `<132>1 2026-11-21T06:34:40.000Z host tailrace - - - ${words}`
    const send = async (words: string) => sink.send([Buffer.from(message(words))], batch, patient)
    const stored = async () => {
      const names = ['events.log.1', 'events.log']
      const read = async (name: string) => readFile(join(folder, 'siem', name), 'utf8').catch(() => '')
      return (await Promise.all(names.map(read))).join('')
    }
    const long = `first ${'x'.repeat(20_000)}`
    await send(long)
    // What is confirmed is written.
    expect(await stored()).toContain(`${message(long)}\n`)
    await send('second')
    await send('third')
    expect(await stored()).toBe([long, 'second', 'third'].map((words) => `${message(words)}\n`).join(''))
    expect(await readFile(join(folder, 'siem/events.log.1'), 'utf8')).toContain('first')
  })
})

test('deploy/README.md links to what there is', async () => {
  const [readme = '', runbook = '', rules = ''] = await Promise.all(
    ['README.md', 'runbook.md', 'prometheus/tailrace.rules.yaml'].map(async (name) =>
      readFile(join(deploy, name), 'utf8'),
    ),
  )
  const files = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, file = '']) => file)
  expect(files.filter((file) => !existsSync(resolve(deploy, file)))).toEqual([])
  const sections = new Set([...runbook.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name.toLowerCase()))
  const alerts = [...readme.matchAll(/\[(\w+)\]\(runbook\.md#(\w+)\)/g)]
  expect(alerts.length).toBeGreaterThan(0)
  expect(alerts.filter(([, , section = '']) => !sections.has(section))).toEqual([])
  expect(alerts.filter(([, name = '']) => !rules.includes(`alert: Tailrace${name}\n`))).toEqual([])
})
