// Packages that only some destinations need: they are imported when the first of these is put to use.

import { TailraceError } from '../errors.ts'

export interface OptionalModule {
  /** Of the sink, for messages. */
  readonly sink: string
  /** As npm would install it: `name@version`. */
  readonly install: string
}

/** What `load` imports. Throws `sink_misconfigured`, with what to install, where that cannot be imported. */
export async function optionalModule<T>({ sink, install }: OptionalModule, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    const trouble = missing ? 'is not installed' : 'cannot be loaded'
    const message = `${sink}: the package that it needs ${trouble}; run: npm install ${install}`
    throw new TailraceError('sink_misconfigured', message, { cause: error })
  }
}
