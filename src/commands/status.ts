// `tailrace status`: what a running daemon says of itself, once or again and again.

import { setTimeout as sleep } from 'node:timers/promises'
import { asTailraceError } from '../errors.ts'
import type { ExitCode, Screen, Terminal } from './command.ts'
import { addressOf, fetchPicture } from './status-client.ts'
import type { DaemonAddress } from './status-client.ts'
import { statusLine, statusLines } from './status-view.ts'
import { paint } from './styled.ts'
import type { Line } from './styled.ts'

export interface StatusOptions {
  readonly config: string
  readonly url: string | undefined
  readonly tokenFrom: string | undefined
  readonly json: boolean
  readonly watch: boolean
}

export const statusHelp = `
Examples:
  tailrace status                                        once, from the daemon of config/tailrace.yaml
  tailrace status --watch                                a picture that is drawn again every second; Ctrl-C ends it
  tailrace status --watch >> status.log                  a line every second
  tailrace status --url http://10.0.0.7:9464 --token-from file:/run/secrets/tailrace-token
  tailrace status --watch --json                         a JSON object on a line, every second

The token of the configuration (http.token) is used by itself, but not with --url. Colours are left out where the
output is no terminal, or NO_COLOR is set.`

export async function status(options: StatusOptions, terminal: Terminal): Promise<ExitCode> {
  const address = await addressOf(options, terminal)
  if (options.watch) return await watch(address, options, terminal)
  const picture = await fetchPicture(address, terminal.signal)
  if (options.json) terminal.print(JSON.stringify(picture, null, 2))
  else {
    const width = terminal.screen?.size().columns ?? Infinity
    for (const line of statusLines(picture, Math.min(width, 120)))
      terminal.print(paint(line, width, colours(terminal)).trimEnd())
  }
  return 0
}

const everyMs = 1_000

async function watch(address: DaemonAddress, { json }: StatusOptions, terminal: Terminal): Promise<ExitCode> {
  const { screen, signal, env } = terminal
  if (!json && screen && env['TERM'] !== 'dumb') return await draw(screen, address, terminal)
  const unread = new AbortController()
  terminal.onUnread?.(() => unread.abort())
  const ended = AbortSignal.any([signal, unread.signal])
  await repeat(ended, async () => {
    try {
      const picture = await fetchPicture(address, ended)
      terminal.print(json ? JSON.stringify(picture) : statusLine(picture))
    } catch (thrown) {
      const { code, message } = worthShowing(thrown, ended)
      const at = new Date().toISOString()
      terminal.print(json ? JSON.stringify({ at, error: { code, message } }) : `${at}  ${message}`)
    }
  })
  return 0
}

const sequences = {
  // The alternate screen, without a cursor and without breaking long lines; and back.
  open: '\u001B[?1049h\u001B[?25l\u001B[?7l',
  close: '\u001B[?7h\u001B[?25h\u001B[?1049l',
  // One picture at once, where the terminal can do that.
  begin: '\u001B[?2026h\u001B[H',
  end: '\u001B[J\u001B[?2026l',
  restOfLine: '\u001B[K',
}

/** Lines are written over what was there, and only the rest is cleared: nothing flickers. */
async function draw(screen: Screen, address: DaemonAddress, terminal: Terminal): Promise<ExitCode> {
  let known: Line[] = []
  const show = (lines: readonly Line[]): void => {
    const { columns, rows } = screen.size()
    const hidden = lines.length - (rows - 1)
    const more: Line = [[`\u2026 ${hidden + 1} more lines: make the window taller`, 'soft']]
    const shown = hidden > 0 ? [...lines.slice(0, rows - 2), more] : lines
    const text = shown.map((line) => paint(line, columns, colours(terminal)) + sequences.restOfLine).join('\r\n')
    screen.write(sequences.begin + text + sequences.end)
  }
  screen.write(sequences.open)
  try {
    await repeat(terminal.signal, async () => {
      try {
        known = statusLines(await fetchPicture(address, terminal.signal), screen.size().columns)
        show(known)
      } catch (thrown) {
        const { message } = worthShowing(thrown, terminal.signal)
        show([[[message, 'act']], [['What is below is old.', 'act']], [], ...known])
      }
    })
  } finally {
    screen.write(sequences.close)
  }
  return 0
}

/** Until the signal, which is no error. */
async function repeat(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    for (;;) {
      await work()
      await sleep(everyMs, undefined, { signal })
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown
  }
}

/** A daemon that is away may come back; one that wants a token will not change its mind. */
function worthShowing(thrown: unknown, signal: AbortSignal): { readonly code: string; readonly message: string } {
  signal.throwIfAborted()
  const error = asTailraceError(thrown)
  if (error.code !== 'daemon_unreachable') throw error
  return error
}

/** https://no-color.org */
function colours({ screen, env }: Terminal): boolean {
  return screen !== undefined && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}
