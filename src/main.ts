#!/usr/bin/env node
// Arguments to commands. The only file that treats the process as a program.

import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { check } from './commands/check.ts'
import { configOption } from './commands/command.ts'
import type { ExitCode, Screen, Terminal } from './commands/command.ts'
import { declareDoctorCommand } from './commands/doctor.ts'
import { reference } from './commands/reference.ts'
import { declareRepairCommands } from './commands/repair.ts'
import { run } from './commands/run.ts'
import { declareServiceCommands } from './commands/service/declare.ts'
import { simulate } from './commands/simulate.ts'
import { status, statusHelp } from './commands/status.ts'
import { asTailraceError, errorTable } from './errors.ts'
import { version } from './version.ts'

type Act = (terminal: Terminal) => Promise<ExitCode>

function declare(act: (work: Act) => void): Command {
  const program = new Command('tailrace')
    .description('Carries security events from a web-application security service to your SIEM.')
    .version(version)
    .exitOverride()
    .showHelpAfterError()
  const config = configOption()

  program
    .command('run')
    .description('run the daemon')
    .option(...config)
    .action((options) => act(async (terminal) => run(options, terminal)))
  program
    .command('check')
    .description(
      'check the configuration; with --connect also Redis, credentials, clocks and destinations; --send-test sends a test event',
    )
    .option(...config)
    .option('--connect', 'connect to everything that it names', false)
    .option('--send-test [destination]', 'send one test event to every destination, or to this one')
    .option('--json', 'for programs', false)
    .action((options) => act(async (terminal) => check(options, terminal)))
  program
    .command('status')
    .description('what a running daemon says of itself')
    .option(...config)
    .option('--url <url>', 'where the daemon serves its status, instead of what the configuration says')
    .option('--token-from <where>', 'where its http.token is: env:NAME or file:PATH')
    .option('--watch', 'again every second, until Ctrl-C', false)
    .option('--json', 'for programs', false)
    .addHelpText('after', statusHelp)
    .action((options) => act(async (terminal) => status(options, terminal)))
  program
    .command('simulate')
    .description('run a simulator of the security service, with its interface to try out')
    .option('--port <port>', 'on the loopback address; 0: any free one', integer, 9465)
    .option('--seed <number>', 'the same seed makes the same events', integer, 1)
    .option('--clients <ids>', 'client ids, separated by commas', integers, [4711])
    .option('--latency <ms>', 'how long each answer takes at the least', integer, 0)
    .option('--attacks-per-second <number>', 'new attacks for each client', Number)
    .option('--history <number>', 'attacks of the last day that are there at the start, for each client', integer)
    .option('--nasty', 'with everything that has been seen to go wrong', false)
    .option('--options <json>', 'whatever else the simulator knows')
    .action((options) => act(async (terminal) => simulate(options, terminal)))
  program
    .command('reference')
    .description('render the reference of the configuration; with --write also where the fields of formats come from')
    .option('--write <folder>', 'as reference.md and mappings.md into a folder instead of to the terminal')
    .action((options) => act(async (terminal) => reference(options, terminal)))
  declareServiceCommands(program, act)
  declareRepairCommands(program, act)
  declareDoctorCommand(program, act)
  return program
}

function integer(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 0) throw new InvalidArgumentError('It must be a whole number.')
  return number
}

function integers(text: string): number[] {
  return text.split(',').map(integer)
}

async function main(): Promise<ExitCode> {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      // The second one ends at once; nothing is lost, as nothing that matters is in memory.
      if (stop.signal.aborted) process.exit(1)
      stop.abort(new Error(`stopped by ${name}`))
    })
  }
  const terminal: Terminal = {
    env: process.env,
    signal: stop.signal,
    onReload: (reload) => void process.on('SIGHUP', reload),
    ...(process.stdout.isTTY ? { screen } : {}),
    ...(process.stdin.isTTY ? { ask } : {}),
    onUnread: (unread) => void process.stdout.on('error', unread),
    ...(process.stderr.isTTY ? { progress } : {}),
    print: (text) => void process.stdout.write(`${text}\n`),
    complain: (text) => void process.stderr.write(`${text}\n`),
  }
  // Whoever read the output has gone (`| head`): what is being done is done to its end.
  process.stdout.on('error', () => undefined)
  let work: Act | undefined
  try {
    await declare((chosen) => (work = chosen)).parseAsync(process.argv)
    return work ? await work(terminal) : 2
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2
    if (stop.signal.aborted && thrown === stop.signal.reason) return 0
    const error = asTailraceError(thrown)
    terminal.complain(`tailrace: ${error.message}`)
    terminal.complain(`  ${error.code}: ${errorTable[error.code].doc}`)
    if (error.code === 'internal' && error.cause instanceof Error) terminal.complain(error.cause.stack ?? '')
    return ['config_invalid', 'secret_missing', 'misuse'].includes(error.code) ? 2 : 1
  }
}

const screen: Screen = {
  // 0 where nobody has told the terminal its size.
  size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
  write: (text) => void process.stdout.write(text),
}

function progress(line: string): void {
  process.stderr.write(`\r\u001B[2K${line}`)
}

/** On standard error, so that the question is seen where the output goes elsewhere. */
async function ask(question: string): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // The end of the input, and Ctrl-C, are no answer.
    const ended = once(reader, 'close').then(() => '')
    return await Promise.race([reader.question(question).catch(() => ''), ended])
  } finally {
    reader.close()
  }
}

process.exitCode = await main()
// All is closed. What a library still retries (a Redis that is away) is no reason to stay.
setTimeout(() => process.exit(), 500).unref()
