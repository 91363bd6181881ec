/* oxlint-disable eslint/no-control-regex -- the sequences of a terminal are what it is about */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { paint, padded } from '../src/commands/styled.ts'
import { statusLines } from '../src/commands/status-view.ts'
import { createStatus } from '../src/telemetry/status.ts'
import { runCommand } from './command-line.ts'
import { hasTerminals } from './terminal.ts'
import { fewTenants, openScene, reportNight, reportWell } from './telemetry/scene.ts'

const token = 'a-token-for-a-terminal'

function watching(command: string, args: readonly string[], env: object = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk))
  const closed = once(child, 'close')
  return {
    out: () => out,
    async end(signal: NodeJS.Signals) {
      child.kill(signal)
      await closed
      return child.exitCode ?? child.signalCode
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill('SIGKILL')
      await closed
    },
  }
}

test('status says what is wrong and what to do, with a token from where it is said to be', async () => {
  await using scene = await openScene({ token })
  reportWell(scene.report, fewTenants)
  reportNight(scene.report, fewTenants)
  const { url } = scene.http
  const [shown, none, wrong, misplaced] = await Promise.all([
    runCommand(['status', '--url', url, '--token-from', 'env:THE_TOKEN'], { THE_TOKEN: token }),
    runCommand(['status', '--url', url]),
    runCommand(['status', '--url', url, '--token-from', 'env:THE_TOKEN'], { THE_TOKEN: 'another' }),
    runCommand(['status', '--url', url, '--token-from', token]),
  ])
  expect(shown).toMatchObject({ code: 0, err: '' })
  expect(shown.out).toContain('5 things need a person')
  expect(shown.out).toContain('Correct it or set tls.ca')
  expect(shown.out).toMatch(/initech\/attacks\s+1 h 13 min ago\s+behind/)
  expect(shown.out).not.toContain('\u001b')
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('wants a token') })
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('another token') })
  expect(misplaced).toMatchObject({ code: 2, err: expect.not.stringContaining(token) })
})

test('status --watch without a terminal is a line at a time, and outlives the daemon', async () => {
  const scene = await openScene()
  reportWell(scene.report, fewTenants)
  await using watch = watching(process.execPath, ['src/main.ts', 'status', '--watch', '--url', scene.http.url])
  await expect.poll(watch.out, { timeout: 15_000 }).toMatch(/(.*Z {2}ok {2}streams 15 .*\n){2}/)
  await scene[Symbol.asyncDispose]()
  await expect.poll(watch.out, { timeout: 15_000 }).toContain('No Tailrace answers')
  expect(watch.out()).not.toContain('\u001b')
  expect(await watch.end('SIGINT')).toBe(0)
})

test.skipIf(!hasTerminals)('status --watch draws on a terminal, and leaves it as it was', async () => {
  await using scene = await openScene()
  reportWell(scene.report, fewTenants)
  const run = (rows: number, columns: number, env: object) => {
    // A terminal of that size; its program says first who it is.
    const command = `echo $$; stty rows ${rows} cols ${columns}; exec ${process.execPath} src/main.ts status --watch --url ${scene.http.url}`
    return watching('script', ['-qefc', command, '/dev/null'], { TERM: 'xterm', NO_COLOR: '', ...env })
  }
  await using wide = run(50, 100, {})
  await using narrow = run(12, 40, { NO_COLOR: '1' })
  await expect.poll(wide.out, { timeout: 15_000 }).toMatch(/\u001b\[32m\u25cf All is well/)
  reportNight(scene.report, fewTenants)
  await expect.poll(wide.out, { timeout: 15_000 }).toContain('splunk has stopped')
  await expect.poll(narrow.out, { timeout: 15_000 }).toContain('make the window')
  expect(wide.out()).toMatch(/^\d+\r\n\u001b\[\?1049h/)
  const frames = narrow
    .out()
    .split('\u001b[?2026h\u001b[H')
    .slice(1)
    .filter((frame) => frame.endsWith('\u001b[?2026l'))
  expect(frames.length).toBeGreaterThan(0)
  for (const frame of frames) {
    const lines = frame.replaceAll(/\u001b\[[?\d]*[A-Za-z]/g, '').split(/\r+\n/)
    expect(lines.length).toBeLessThanOrEqual(12)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(40)
    expect(frame).not.toMatch(/\u001b\[\d+(;\d+)?m/)
  }
  process.kill(Number.parseInt(wide.out(), 10), 'SIGINT')
  await expect.poll(wide.out, { timeout: 15_000 }).toMatch(/\u001b\[\?25h\u001b\[\?1049l$/)
})

test('names and errors cannot drive the terminal', () => {
  const status = createStatus({ version: '1' })
  const hostile = '\u001b]0;owned\u0007\u001b[2J\u202e\r\n'
  reportWell(status.report, [hostile])
  status.report.redisChanged({ state: 'lost', reason: hostile })
  const text = statusLines(status.picture(), 80).map((line) => paint(line, 80, false))
  expect(text.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
})

test('a line is cut to its columns, wide characters and all', () => {
  expect(paint([['\u6f22\u5b57\u6f22\u5b57', 'plain']], 5, false)).toBe('\u6f22\u5b57\u2026')
  expect(
    paint(
      [
        ['abc', 'act'],
        ['def', 'plain'],
      ],
      4,
      true,
    ),
  ).toBe('\u001b[1;31mabc\u001b[0m\u2026')
  expect(padded('ab', 4)).toBe('ab  ')
})
