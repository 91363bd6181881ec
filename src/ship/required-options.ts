// Options of a sink that have no default which could be right.

import { TailraceError } from '../errors.ts'

/** Throws `sink_misconfigured` for the first that is empty. */
export function requireOptions<Options extends object>(
  sink: string,
  options: Options,
  names: readonly (keyof Options & string)[],
): void {
  const missing = names.find((name) => options[name] === '')
  if (missing !== undefined) throw new TailraceError('sink_misconfigured', `${sink}: ${missing} is not set`)
}
