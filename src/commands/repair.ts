// Declares the commands that look at, and change, what is kept in Redis.

import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { discardBacklog, listBacklogs } from './backlog.ts'
import { listBackfills, startBackfill, stopBackfill } from './backfill.ts'
import { configOption } from './command.ts'
import type { ExitCode, Terminal } from './command.ts'
import { discardLetters, listLetters, requeueLetters, showLetter } from './dead-letters.ts'
import { momentHelp } from './moment.ts'
import { listPauses, pause, resume } from './pause.ts'
import { trace } from './trace.ts'
import { resetWatermark, setWatermark, showWatermarks } from './watermark.ts'

export type Act = (work: (terminal: Terminal) => Promise<ExitCode>) => void

export function declareRepairCommands(program: Command, act: Act): void {
  declareWatermark(program, act)
  declareBackfill(program, act)
  declareDeadLetters(program, act)
  declareBacklog(program, act)
  declarePauses(program, act)
  declareTrace(program, act)
}

function withConfig(command: Command): Command {
  return command.option(...configOption('the configuration: it says where Redis is'))
}

function withStreams(command: Command): Command {
  return withConfig(command).option('--tenant <name>', 'of this tenant').option('--stream <name>', 'of this stream')
}

const json = ['--json', 'for programs', false] as const
const yes = ['--yes', 'without being asked', false] as const

function declareWatermark(program: Command, act: Act): void {
  const group = program
    .command('watermark')
    .description('how far streams are complete; and to move that by hand')
    .addHelpText(
      'after',
      `
Examples:
  tailrace watermark                                      all streams
  tailrace watermark set --tenant acme --stream attacks --to 6h
  tailrace watermark reset --tenant acme --stream attacks

It works whether the daemon runs or not, as long as Redis does. A watermark that is moved back only looks again:
what is known is not sent twice (\`backfill\` does that). One that is moved forward skips what has not been read.`,
    )
  withStreams(group.command('show', { isDefault: true }))
    .description('watermark, sequence, passes under way, and how late records come')
    .option(...json)
    .action((options) => act(async (terminal) => showWatermarks(options, terminal)))
  withStreams(group.command('set'))
    .description('go on from another moment')
    .option('--to <moment>', momentHelp)
    .option(...yes)
    .action((options) => act(async (terminal) => setWatermark(options, terminal)))
  withStreams(group.command('reset'))
    .description('read anew from `start` on; sequence numbers go on, and what is known is not sent again')
    .option(...yes)
    .action((options) => act(async (terminal) => resetWatermark(options, terminal)))
}

function declareBackfill(program: Command, act: Act): void {
  const group = program
    .command('backfill')
    .description('read a range of the past again, and deliver it again')
    .addHelpText(
      'after',
      `
Examples:
  tailrace backfill --tenant acme --stream attacks --from 7d --destination lake --wait
  tailrace backfill --tenant acme --stream attacks --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z
  tailrace backfill --tenant acme --stream vulnerabilities --destination lake      all that are active now
  tailrace backfill list
  tailrace backfill stop r0123456789ab

The daemon reads it, behind what is new. What was delivered before is delivered again with the same id, as
\`replayed\` and without a sequence number of its own, to the named destinations only. What turns out never to
have been read goes to all of them. Without --stream: all streams of the tenant that have ranges, or, without
--from, all that have none.`,
    )
  withStreams(group.command('start', { isDefault: true }))
    .description('ask for one')
    .option('--from <moment>', momentHelp)
    .option('--to <moment>', 'the same; left out: now')
    .option('--destination <name...>', 'only to these; left out: to all that take the stream')
    .option('--wait', 'until it has been read, with its progress', false)
    .option(...json)
    .action((options) => act(async (terminal) => startBackfill(options, terminal)))
  withStreams(group.command('list'))
    .description('what is waiting, under way, or has ended lately')
    .option(...json)
    .action((options) => act(async (terminal) => listBackfills(options, terminal)))
  withConfig(group.command('stop <id>'))
    .description('end one; what it has read is still delivered')
    .action((id: string, options) => act(async (terminal) => stopBackfill(id, options, terminal)))
}

function withLetters(command: Command): Command {
  return withStreams(command)
    .option('--destination <name>', 'refused by this destination')
    .option('--code <code>', 'with this error code')
}

function declareDeadLetters(program: Command, act: Act): void {
  const group = program
    .command('dead-letters')
    .description('events that a destination has refused for good')
    .addHelpText(
      'after',
      `
Examples:
  tailrace dead-letters --destination soc
  tailrace dead-letters show acme/attacks/soc/b4aGx…/17
  tailrace dead-letters requeue --destination soc --code sink_refused_event
  tailrace dead-letters discard --destination soc --yes

\`requeue\` sends the same bytes again: mend the receiver first. Another format only counts for what is read later;
\`backfill\` reads and encodes again.`,
    )
  withLetters(group.command('list', { isDefault: true }))
    .description('the oldest first')
    .option('--limit <number>', 'at most so many', positive, 100)
    .option(...json)
    .action((options) => act(async (terminal) => listLetters(options, terminal)))
  withConfig(group.command('show <id>'))
    .description('the record as it was sent')
    .action((id: string, options) => act(async (terminal) => showLetter(id, options, terminal)))
  withLetters(group.command('requeue [ids...]'))
    .description('send them again: the named ones, or all that fit')
    .option('--limit <number>', 'at most so many', positive)
    .action((ids: string[], options) => act(async (terminal) => requeueLetters(ids, options, terminal)))
  withLetters(group.command('discard [ids...]'))
    .description('throw them away: the named ones, or all that fit')
    .option('--limit <number>', 'at most so many', positive)
    .option(...yes)
    .action((ids: string[], options) => act(async (terminal) => discardLetters(ids, options, terminal)))
}

function declareBacklog(program: Command, act: Act): void {
  const group = program.command('backlog').description('what waits for each destination')
  withConfig(group.command('list', { isDefault: true }))
    .description('also for destinations that are no longer configured')
    .option(...json)
    .action((options) => act(async (terminal) => listBacklogs(options, terminal)))
  withConfig(group.command('discard'))
    .description('throw away what waits for a destination, such as one that is gone')
    .option('--destination <name>', 'this one')
    .option(...yes)
    .action((options) => act(async (terminal) => discardBacklog(options, terminal)))
}

function declarePauses(program: Command, act: Act): void {
  const paused = (command: Command): Command =>
    withConfig(command)
      .option('--tenant <name>', 'all streams of this tenant')
      .option('--stream <tenant/stream>', 'this stream, such as acme/attacks')
      .option('--destination <name>', 'this destination')
  const group = program
    .command('pause')
    .description('stop reading a tenant or stream, or sending to a destination')
    .addHelpText(
      'after',
      `
Examples:
  tailrace pause --destination soc --reason 'maintenance until 14:00'
  tailrace pause --stream acme/attacks
  tailrace pause list
  tailrace resume --destination soc

All running daemons honour it within two seconds, and after a restart too. What waits for a paused destination is
kept, up to its backlogBytes; then the streams that feed it pause as well.`,
    )
  paused(group.command('start', { isDefault: true }))
    .description('pause it')
    .option('--reason <text>', 'shown to whoever asks', '')
    .action((options) => act(async (terminal) => pause(options, terminal)))
  withConfig(group.command('list'))
    .description('what is paused, since when, and why')
    .option(...json)
    .action((options) => act(async (terminal) => listPauses(options, terminal)))
  paused(program.command('resume'))
    .description('let go on what was paused')
    .action((options) => act(async (terminal) => resume(options, terminal)))
}

function declareTrace(program: Command, act: Act): void {
  withStreams(program.command('trace <event>'))
    .description('the way of one event: when it was read, in which batch it went to whom, and who has confirmed it')
    .option(...json)
    .addHelpText(
      'after',
      `
Examples:
  tailrace trace f4_A1nQ0z9mXr2LdKwPq8g           by its id
  tailrace trace acme/attacks#1234                by its sequence

An id that begins with a hyphen comes after two more: tailrace trace -- -A1nQ0…

It knows the latest events of each stream: queue.trail says how many. A destination's filter is not looked at: a
batch that it has confirmed may have had the event left out for it.`,
    )
    .action((event: string, options) => act(async (terminal) => trace(event, options, terminal)))
}

function positive(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return number
}
