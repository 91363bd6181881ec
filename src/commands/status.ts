// `tailrace status`: what a running daemon says of itself.

import { request } from 'undici'
import { loadConfig } from '../config.ts'
import { TailraceError } from '../errors.ts'
import type { StatusPicture } from '../telemetry/status.ts'
import type { ExitCode, Terminal } from './command.ts'
import { registers } from './registers.ts'
import { table } from './table.ts'

export interface StatusOptions {
  readonly config: string
  readonly url: string | undefined
  readonly json: boolean
}

export async function status(options: StatusOptions, terminal: Terminal): Promise<ExitCode> {
  const url = options.url ?? (await urlOf(options.config, terminal))
  const picture = await fetchPicture(url, terminal.signal)
  terminal.print(options.json ? JSON.stringify(picture, null, 2) : render(picture))
  return 0
}

async function urlOf(config: string, terminal: Terminal): Promise<string> {
  const { http } = await loadConfig(config, terminal.env, registers)
  const host = http.host === '0.0.0.0' ? '127.0.0.1' : http.host === '::' ? '::1' : http.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${http.port}`
}

async function fetchPicture(url: string, signal: AbortSignal): Promise<StatusPicture> {
  try {
    const { body } = await request(`${url}/api/status`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
    })
    return (await body.json()) as StatusPicture
  } catch (cause) {
    throw new TailraceError('daemon_unreachable', `No Tailrace answers at ${url}: start it, or name another --url.`, {
      cause,
    })
  }
}

function render(picture: StatusPicture): string {
  const streams = picture.streams.map((stream) => [
    `${stream.tenant}/${stream.stream}`,
    seconds(stream.watermarkAgeSeconds),
    stream.lastPass ? `${stream.lastPass.purpose}, ${stream.lastPass.records} records` : '-',
    String(stream.failures),
    stream.lastError ? `${stream.lastError.code}: ${stream.lastError.message}` : '',
  ])
  const destinations = picture.destinations.map((destination) => [
    destination.destination,
    destination.state,
    String(destination.backlogBatches),
    String(destination.backlogBytes),
    String(destination.deadLetters),
    destination.reason ?? '',
  ])
  return [
    `Tailrace ${picture.version}, up for ${picture.uptimeSeconds} s`,
    table(['stream', 'complete up to', 'last pass', 'failures', 'last error'], streams),
    table(['destination', 'state', 'batches', 'bytes', 'dead', 'why'], destinations),
  ].join('\n\n')
}

function seconds(age: number | null): string {
  return age === null ? '-' : `${Math.round(age)} s ago`
}
