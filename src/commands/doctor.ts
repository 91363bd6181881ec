// `tailrace doctor`: everything that is wrong, or could be better, on one page, with what to do about it.

import type { Command } from 'commander'
import { loadConfig } from '../config.ts'
import type { Config } from '../config.ts'
import { asTailraceError } from '../errors.ts'
import { asRedisError } from '../redis.ts'
import { exposureWarnings } from '../telemetry/access.ts'
import { problemsOf } from '../telemetry/page/problems.ts'
import { counted } from '../telemetry/page/words.ts'
import { version } from '../version.ts'
import { configOption } from './command.ts'
import type { ExitCode, Terminal } from './command.ts'
import { advice, eachOf, fine, severities, wrong, wrongBy } from './doctor/finding.ts'
import type { Finding, Severity } from './doctor/finding.ts'
import { budgetFindings, tenantFindings } from './doctor/service.ts'
import { backlogFindings, redisFindings, streamFindings } from './doctor/state.ts'
import { lookAt } from './looks.ts'
import { openRedisAccess } from './redis-access.ts'
import type { RedisAccess } from './redis-access.ts'
import { registers } from './registers.ts'
import { fetchPicture, urlOf } from './status-client.ts'
import { paint } from './styled.ts'
import type { Style } from './styled.ts'

export interface DoctorOptions {
  readonly config: string
  /** Asks every tenant, not some. */
  readonly all: boolean
  readonly json: boolean
}

export function declareDoctorCommand(
  program: Command,
  act: (work: (terminal: Terminal) => Promise<ExitCode>) => void,
): void {
  program
    .command('doctor')
    .description('look at everything, and say what is wrong and what to do about it')
    .option(...configOption())
    .option('--all', 'ask for a record of every tenant; else of 100 at most', false)
    .option('--json', 'for programs', false)
    .addHelpText(
      'after',
      `
Examples:
  tailrace doctor                   a page for people, the worst first
  tailrace doctor --all             with the credentials of all of thousands of tenants
  tailrace doctor --json | jq '.findings[] | select(.severity == "wrong")'

It changes nothing and sends no event, and may be run beside a daemon: its requests to the service count in the same
limit. Exit codes: 0 nothing is wrong (there may be advice), 1 something is, 2 the main configuration cannot be read.`,
    )
    .action((options) => act(async (terminal) => doctor(options, terminal)))
}

export async function doctor(options: DoctorOptions, terminal: Terminal): Promise<ExitCode> {
  let config: Config
  try {
    config = await loadConfig(options.config, terminal.env, registers)
  } catch (thrown) {
    show([wrongBy('configuration', asTailraceError(thrown))], options, terminal)
    return 2
  }
  const findings = await examine(config, options, terminal)
  show(findings, options, terminal)
  return findings.some(({ severity }) => severity === 'wrong') ? 1 : 0
}

async function examine(config: Config, options: DoctorOptions, terminal: Terminal): Promise<Finding[]> {
  const { signal } = terminal
  const [opened, redisTrouble] = await openRedis(config, options, terminal)
  await using access = opened
  const state = access ? [redisFindings(access), backlogFindings(config, access), streamFindings(config, access)] : []
  const looked = await Promise.all([
    ...state.map(async (part) => part.catch((thrown: unknown) => [wrongBy('redis', asRedisError(thrown))])),
    tenantFindings(config, { access, all: options.all, signal }),
    destinationFindings(config, signal),
    daemonFindings(config, signal),
  ])
  signal.throwIfAborted()
  return [...configFindings(config), ...redisTrouble, ...budgetFindings(config), ...looked.flat()]
}

function configFindings(config: Config): Finding[] {
  const { file, http, tenants, destinations, brokenTenants } = config
  return [
    ...brokenTenants.map(({ name, error }) => wrongBy(`tenant ${name}`, error)),
    ...exposureWarnings(http.host, http.token).map((text) =>
      advice('http', text, 'A token of 32 random characters: `openssl rand -hex 16`.'),
    ),
    ...(destinations.length === 0 ? [wrong('destinations', 'there are none', 'Configure one.')] : []),
    ...(tenants.length === 0 ? [wrong('tenants', 'there are none', 'Write a file for each into the folder.')] : []),
    fine(
      'configuration',
      `${file}: ${counted(tenants.length, 'tenant')}, ${counted(destinations.length, 'destination')}`,
    ),
  ]
}

/** With what is to be said where it cannot be opened. */
async function openRedis(
  { redis }: Config,
  { config: file }: DoctorOptions,
  terminal: Terminal,
): Promise<readonly [RedisAccess | undefined, Finding[]]> {
  try {
    return [await openRedisAccess(file, terminal), []]
  } catch (thrown) {
    const error = asRedisError(thrown)
    if (redis.url !== '') return [undefined, [wrongBy('redis', error)]]
    const text = 'the private Redis runs only while the daemon does: what is in it could not be looked at'
    return [undefined, [advice('redis', text, 'Start the daemon, then ask again.')]]
  }
}

const lookMs = 30_000
const looksAtOnce = 4

async function destinationFindings({ destinations }: Config, signal: AbortSignal): Promise<Finding[]> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(lookMs)])
  const found = await eachOf(destinations, looksAtOnce, bounded, async (destination) => {
    const subject = `destination ${destination.name}`
    try {
      return fine(subject, (await lookAt(destination, bounded)).join('; '))
    } catch (thrown) {
      signal.throwIfAborted()
      if (!bounded.aborted) return wrongBy(subject, asTailraceError(thrown))
      return wrong(subject, `did not answer within ${lookMs / 1_000} s`, 'Check its address, and that it runs.')
    }
  })
  const late = found.filter((finding) => finding === undefined).length
  const remedy = 'Others took too long; put those right first.'
  return [
    ...found.filter((finding) => finding !== undefined),
    ...(late > 0 ? [advice('destinations', `${late} were not looked at within ${lookMs / 1_000} s`, remedy)] : []),
  ]
}

/** What only a running daemon knows. The rest of its troubles is found without it. */
const daemonOnly = /^(halted|down|cert|throttled|limit)-|^(redis|config|restart|gaps)$/

async function daemonFindings({ http }: Config, signal: AbortSignal): Promise<Finding[]> {
  const url = urlOf(http)
  try {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(3_000)])
    const picture = await fetchPicture({ url, token: http.token }, bounded)
    const problems = problemsOf(picture, Date.parse(picture.at)).filter(({ id }) => daemonOnly.test(id))
    return [
      ...problems.map(({ urgency, title, words, remedy }) => {
        const text = words === null ? title : `${title}: ${words}`
        return urgency === 'act' ? wrong('daemon', text, remedy) : advice('daemon', text, remedy)
      }),
      fine('daemon', `version ${picture.version} answers at ${url}`),
    ]
  } catch (thrown) {
    signal.throwIfAborted()
    const refused = asTailraceError(thrown).code === 'daemon_refused'
    const text = refused ? `${url} wants another token than http.token` : `none answers at ${url}`
    const remedy = refused
      ? 'Start the daemon again with the configuration as it is now.'
      : 'If it runs elsewhere, ask there. Otherwise nothing is read or sent: start it.'
    return [refused ? wrong('daemon', text, remedy) : advice('daemon', text, remedy)]
  }
}

const labels: Readonly<Record<Severity, readonly [string, Style]>> = {
  wrong: ['WRONG ', 'act'],
  advice: ['advice', 'watch'],
  fine: ['ok    ', 'fine'],
}

function show(findings: readonly Finding[], { json }: DoctorOptions, terminal: Terminal): void {
  const sorted = severities.flatMap((severity) => findings.filter((finding) => finding.severity === severity))
  const [bad, better] = severities.map((severity) => findings.filter((finding) => finding.severity === severity).length)
  if (json) return terminal.print(JSON.stringify({ version, wrong: bad, advice: better, findings: sorted }, null, 2))
  const colours = terminal.screen !== undefined && (terminal.env['NO_COLOR'] ?? '') === ''
  const verdict = bad === 0 ? 'nothing is wrong' : `${counted(bad ?? 0, 'thing is', 'things are')} wrong`
  terminal.print(
    paint(
      [[`Tailrace ${version}: ${verdict}, ${counted(better ?? 0, 'piece')} of advice.`, 'strong']],
      Infinity,
      colours,
    ),
  )
  terminal.print('')
  for (const { severity, subject, text, remedy } of sorted) {
    const [label, style] = labels[severity]
    terminal.print(
      paint(
        [
          [label, style],
          [`  ${subject}: `, 'strong'],
          [text, 'plain'],
        ],
        Infinity,
        colours,
      ),
    )
    if (remedy !== null) terminal.print(paint([[`        \u2192 ${remedy}`, 'plain']], Infinity, colours))
  }
}
