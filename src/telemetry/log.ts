// The log: one JSON object per line, without secrets. Where lines go is the process's business: stdout.

import { createRequire } from 'node:module'
import { pino } from 'pino'
import type { DestinationStream, Logger } from 'pino'
import { TailraceError } from '../errors.ts'
import { scrub } from './scrub.ts'

export type Log = Logger
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export interface LogOptions {
  readonly level: LogLevel
  /** For people: coloured lines, where pino-pretty is installed (it is not in the image); JSON otherwise. */
  readonly pretty?: boolean
  /** Values that must appear in no line, whatever they are part of: the configuration's secrets. */
  readonly secrets?: () => Iterable<string>
  /** Default: stdout. */
  readonly stream?: DestinationStream
}

const secretNames = [
  'password',
  'secret',
  'token',
  'authorization',
  'credentials',
  'apiKey',
  'key',
  'headers',
  'cookie',
  'env',
]

/** Normal operation logs nothing above `info`; `warn` is odd, with nothing lost; `error` needs a person. */
export function createLog(options: LogOptions): Log {
  // Not synchronous, and bounded: who does not read our lines must not stop the daemon. Flushed at exit by pino.
  const plain = () => pino.destination({ dest: 1, sync: false, maxLength: 4_000_000 })
  const stream = options.stream ?? prettyStream(options.pretty ?? false) ?? plain()
  const { secrets } = options
  return pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      redact: { paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '***' },
      serializers: { error: describeError, err: describeError },
      hooks: secrets ? { streamWrite: (line) => withoutSecrets(line, secrets()) } : {},
    },
    stream,
  )
}

export interface ErrorDescription {
  readonly code: string
  readonly message: string
  /** Names and codes of what caused it; their texts may have anything in them. */
  readonly causes?: readonly string[]
  readonly stack?: string
}

/** What a log line says of an error. A stack only for mistakes of ours: the others have a code that says it all. */
export function describeError(thrown: unknown): ErrorDescription {
  const message = scrub(thrown instanceof Error ? thrown.message : typeof thrown === 'string' ? thrown : typeof thrown)
  const code = thrown instanceof TailraceError ? thrown.code : 'internal'
  const causes = causesOf(thrown)
  const stack = code === 'internal' ? stackOf(thrown) : undefined
  return {
    code,
    message,
    ...(causes.length > 0 ? { causes } : {}),
    ...(stack === undefined ? {} : { stack }),
  }
}

function causesOf(thrown: unknown): string[] {
  const causes: string[] = []
  let cause = thrown instanceof Error ? thrown.cause : undefined
  for (; cause instanceof Error && causes.length < 5; cause = cause.cause) {
    const code = 'code' in cause && typeof cause.code === 'string' ? ` ${cause.code}` : ''
    causes.push(scrub(`${cause.name}${code}`))
  }
  return causes
}

/** Where it happened, without the message above it. The innermost cause is where it began. */
function stackOf(thrown: unknown): string | undefined {
  let innermost = thrown
  for (let depth = 0; innermost instanceof Error && innermost.cause instanceof Error && depth < 5; depth++) {
    innermost = innermost.cause
  }
  if (!(innermost instanceof Error)) return undefined
  const frames = innermost.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  return frames?.slice(0, 10).join('\n')
}

/** A secret inside a JSON string looks as JSON.stringify writes it. Short ones would hit innocent text. */
function withoutSecrets(line: string, secrets: Iterable<string>): string {
  let clean = line
  for (const secret of secrets) {
    if (secret.length >= 6) clean = clean.replaceAll(JSON.stringify(secret).slice(1, -1), '***')
  }
  return clean
}

function prettyStream(wanted: boolean): DestinationStream | undefined {
  if (!wanted) return undefined
  const require = createRequire(import.meta.url)
  try {
    const build = require('pino-pretty') as (options: object) => DestinationStream
    return build({ colorize: process.stdout.isTTY, ignore: 'pid,hostname', sync: true, singleLine: true })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
