// deploy/systemd as systemd itself judges it, where it is installed.

import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mainOptions, optionsOf, variableOf } from '../../src/config-options.ts'
import { registers } from '../../src/commands/registers.ts'
import { loadConfig } from '../../src/config.ts'

const folder = new URL('../../deploy/systemd/', import.meta.url).pathname
const unit = await readFile(join(folder, 'tailrace.service'), 'utf8')

function values(name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)
}

test('it has the time that it needs to end, and ends its Redis itself', async () => {
  const own = await mkdtemp(join(tmpdir(), 'tailrace-systemd-'))
  try {
    await writeFile(join(own, 'tailrace.yaml'), '{}')
    const { shutdown } = await loadConfig(join(own, 'tailrace.yaml'), {}, registers)
    expect(Number(values('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(shutdown.grace + 10_000)
  } finally {
    await rm(own, { recursive: true })
  }
  expect(values('KillMode')).toEqual(['mixed'])
  expect(values('ExecReload')).toEqual(['kill -HUP $MAINPID'])
  expect(values('RestartPreventExitStatus')).toEqual(['2'])
})

test('programs and folders are the ones that the project has', async () => {
  const [start = ''] = values('ExecStart')
  expect(start).toMatch(/^\/opt\/tailrace\/node_modules\/\.bin\/node .*\/opt\/tailrace\/src\/main\.ts run$/)
  // As `npm start` and the image run it.
  const { scripts } = JSON.parse(await readFile(join(folder, '../../package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  expect(start).toContain(/--max\S+/.exec(scripts.start)?.[0])
  const [state] = values('StateDirectory')
  expect(values('WorkingDirectory')).toEqual([`/var/lib/${state}`])
  const users = await readFile(join(folder, 'tailrace.sysusers.conf'), 'utf8')
  expect(users).toMatch(new RegExp(`^u ${values('User')[0]} `, 'm'))
  const folders = await readFile(join(folder, 'tailrace.tmpfiles.conf'), 'utf8')
  expect(folders).toMatch(/^d \/etc\/tailrace\/secrets +0700 root root/m)
  expect(values('LoadCredential')).toEqual(['secret:/etc/tailrace/secrets'])
})

test('the sample of variables names options that there are, and no secret', async () => {
  const sample = await readFile(join(folder, 'tailrace.env'), 'utf8')
  const named = [...sample.matchAll(/^#?(TAILRACE_\w+)=/gm)].map(([, name]) => name)
  const options = optionsOf(mainOptions)
  const allowed = options.filter(({ option }) => option.sensitive !== true).map(({ path }) => variableOf(path))
  expect(named.filter((name) => !allowed.includes(name ?? ''))).toEqual([])
  expect(named.length).toBeGreaterThan(0)
})

const analyze = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' })
const version = Number(/^systemd (\d+)/.exec(analyze.stdout ?? '')?.[1] ?? 0)

// 250: the first that judges files.
describe.skipIf(version < 250)('systemd', () => {
  test('finds no fault with the unit', async () => {
    const own = await mkdtemp(join(tmpdir(), 'tailrace-systemd-'))
    try {
      // Where it is installed is not here.
      const here = unit.replaceAll('/opt/tailrace/node_modules/.bin/node', process.execPath)
      await writeFile(join(own, 'tailrace.service'), here)
      const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(own, 'tailrace.service')], {
        encoding: 'utf8',
      })
      expect(stderr.split('\n').filter((line) => line.includes('tailrace'))).toEqual([])
    } finally {
      await rm(own, { recursive: true })
    }
  })

  test('finds it little exposed', () => {
    const { stdout } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', '--no-pager', join(folder, 'tailrace.service')],
      { encoding: 'utf8' },
    )
    const level = Number(/exposure level for tailrace\.service: ([\d.]+)/.exec(stdout)?.[1])
    expect(level).toBeLessThan(2)
  })

  test('takes the user', () => {
    const file = join(folder, 'tailrace.sysusers.conf')
    const { status, stderr } = spawnSync('systemd-sysusers', ['--dry-run', file], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.any(String) })
  })
})
