// `tailrace check`: is the configuration right; with `--connect`, does everything that it names answer.

import { loadConfig } from '../config.ts'
import type { Config, Destination, Tenant } from '../config.ts'
import { asTailraceError } from '../errors.ts'
import { encodingOf } from '../ship/encoding.ts'
import { testEvent } from '../ship/test-event.ts'
import { streams } from '../poll/streams/all.ts'
import { assertSafe, asRedisError, connectRedis, inspectRedis } from '../redis.ts'
import type { ServiceConnections } from '../service/connections.ts'
import type { ExitCode, Terminal } from './command.ts'
import { askForOne, clientOf, lookAt, openServiceConnections } from './looks.ts'
import { registers } from './registers.ts'

export interface CheckOptions {
  readonly config: string
  readonly connect: boolean
  /** Sends one test event to each destination, or to this one. */
  readonly sendTest?: string | true
  readonly json: boolean
}

interface Finding {
  readonly subject: string
  readonly ok: boolean
  readonly text: string
}

const lookTimeoutMs = 30_000

/** 2 where the configuration is wrong, 1 where something does not answer as it should. */
export async function check(options: CheckOptions, terminal: Terminal): Promise<ExitCode> {
  const config = await loadConfig(options.config, terminal.env, registers)
  const broken = config.brokenTenants.map(({ name, error }) => failing(`tenant ${name}`, error.message))
  const findings = [describe(config), ...broken]
  if (options.connect) findings.push(...(await connect(config, terminal.signal)))
  if (options.sendTest !== undefined) findings.push(...(await sendTests(config, options.sendTest, terminal.signal)))
  terminal.print(options.json ? JSON.stringify(findings, null, 2) : findings.map(render).join('\n'))
  if (broken.length > 0) return 2
  return findings.every(({ ok }) => ok) ? 0 : 1
}

function describe({ file, tenants, destinations }: Config): Finding {
  const text = `${tenants.length} tenants, ${destinations.length} destinations`
  return { subject: file, ok: true, text }
}

async function connect(config: Config, signal: AbortSignal): Promise<Finding[]> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(lookTimeoutMs)])
  await using connections = openServiceConnections(config)
  const found = await Promise.all([
    lookAtRedis(config),
    ...config.tenants.map(async (tenant) => lookAtTenant(tenant, config, { connections, signal: bounded })),
    ...config.destinations.map(async (destination) => lookAtDestination(destination, bounded)),
  ])
  return found.flat()
}

async function lookAtRedis({ redis }: Config): Promise<Finding[]> {
  const subject = 'redis'
  if (redis.url === '') return [passing(subject, `embedded, in ${redis.data}: it starts with the daemon`)]
  const client = connectRedis(redis, 'commands')
  try {
    const report = await inspectRedis(client)
    const warnings = assertSafe(report)
    return [
      passing(subject, `${report.cluster ? 'a cluster of ' : ''}${report.nodes.length} answers`),
      ...warnings.map((warning) => passing(subject, warning)),
    ]
  } catch (thrown) {
    return [failing(subject, asRedisError(thrown).message)]
  } finally {
    client.disconnect()
  }
}

interface Look {
  readonly connections: ServiceConnections
  readonly signal: AbortSignal
}

/** One record of each stream. */
async function lookAtTenant(tenant: Tenant, config: Config, look: Look): Promise<Finding[]> {
  const client = clientOf(tenant, config, { connections: look.connections })
  const wanted = streams.filter((stream) => tenant.streams.some((settings) => settings.stream === stream.name))
  return await Promise.all(
    wanted.map(async (stream) => {
      const subject = `tenant ${tenant.name}, ${stream.name}`
      try {
        const skewMs = await askForOne(client, stream, tenant.clients, look.signal)
        const skew = skewMs === null ? 'unknown' : `${Math.round(skewMs / 1000)} s`
        return passing(subject, `answers; its clock is ahead of ours by ${skew}`)
      } catch (thrown) {
        return failing(subject, asTailraceError(thrown).message)
      }
    }),
  )
}

async function lookAtDestination(destination: Destination, signal: AbortSignal): Promise<Finding[]> {
  const subject = `destination ${destination.name}`
  try {
    const findings = await lookAt(destination, signal)
    return findings.map((text) => passing(subject, text))
  } catch (thrown) {
    return [failing(subject, asTailraceError(thrown).message)]
  }
}

/** Only to destinations that are named, or to all: each gets one event that says that it is a test. */
async function sendTests({ destinations }: Config, which: string | true, signal: AbortSignal): Promise<Finding[]> {
  const wanted = destinations.filter(({ name }) => which === true || name === which)
  if (wanted.length === 0) return [failing('test event', `no destination is called ${String(which)}`)]
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(lookTimeoutMs)])
  return await Promise.all(wanted.map(async (destination) => sendTest(destination, bounded)))
}

async function sendTest(destination: Destination, signal: AbortSignal): Promise<Finding> {
  const { name, sink: type, options, format } = destination
  const subject = `destination ${name}, test event`
  try {
    const event = testEvent(Date.now())
    // Its filter is about real events: a test is sent whatever it says.
    const record = encodingOf({ ...destination, streams: [event.stream] }).encode(event) ?? ''
    await using sink = type.open(options)
    const context = { sendId: event.id, contentType: format.contentType }
    const [untaken] = await sink.send([Buffer.from(record)], context, signal)
    if (untaken) throw untaken.error
    const how = type.unconfirmed?.(options) === true ? 'sent, but not confirmed' : 'sent and confirmed'
    return passing(subject, `${how}: look for ${event.id}, tenant ${event.tenant}`)
  } catch (thrown) {
    return failing(subject, asTailraceError(thrown).message)
  }
}

function passing(subject: string, text: string): Finding {
  return { subject, ok: true, text }
}

function failing(subject: string, text: string): Finding {
  return { subject, ok: false, text }
}

function render({ subject, ok, text }: Finding): string {
  return `${ok ? 'ok  ' : 'FAIL'}  ${subject}: ${text}`
}
