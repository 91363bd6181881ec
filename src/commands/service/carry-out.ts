// What all operations have in common that change something: they can be shown instead, and destroying is confirmed.

import { TailraceError } from '../../errors.ts'
import type { ServiceRequest } from '../../service/requests.ts'
import { masking, secretsIn } from '../../service/words.ts'
import type { Command } from 'commander'
import type { Terminal } from '../command.ts'
import { misuse, type Account } from './access.ts'

export interface WriteOptions {
  readonly dryRun: boolean
}

export interface DestroyOptions extends WriteOptions {
  readonly yes: boolean
}

export function declareDryRun(command: Command): Command {
  return command.option('--dry-run', 'show the request, secrets masked, and send nothing', false)
}

export function declareYes(command: Command): Command {
  return declareDryRun(command).option('-y, --yes', 'do not ask whether it is meant', false)
}

/** The request as it would be sent. */
export function showRequest(account: Account, request: Pick<ServiceRequest, 'path' | 'body'>): string {
  const prefix = account.headerPrefix ?? 'X-ServiceAPI-'
  const { uuid, secret } = account.credentials
  const hide = masking([uuid, secret, ...secretsIn(request.body)])
  return [
    `POST ${account.baseUrl}${request.path}`,
    'Content-Type: application/json',
    'Accept: application/json',
    `${prefix}UUID: ***`,
    `${prefix}Secret: ***`,
    '',
    hide(showJson(request.body)),
  ].join('\n')
}

/** Whether a person, or `--yes`, wants it. Throws `misuse` where there is nobody to ask. */
export async function confirmed(question: string, { yes }: DestroyOptions, terminal: Terminal): Promise<boolean> {
  if (yes) return true
  if (terminal.ask === undefined)
    throw misuse(`nothing was done, as nobody can be asked here: add --yes if it is meant. The question: ${question}`)
  const answer = await terminal.ask(`${question} [y/N] `)
  if (/^y(es)?$/i.test(answer.trim())) return true
  terminal.complain('Nothing was done.')
  return false
}

/** JSON that does nothing to a terminal: what is not printable is escaped, and means the same. */
export function showJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replaceAll(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, escapeUnits)
}

function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}

/** Whether a request that failed may have been carried out all the same. */
export function mayHaveHappened(error: unknown): boolean {
  if (!(error instanceof TailraceError)) return false
  // What said that it is done, but not what, has a status of success and so none here.
  return error.inDoubt || (error.code === 'service_unreadable' && error.status === undefined)
}
