// Files that operators hand to a command.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { unreadable } from '../../secrets.ts'
import { misuse } from './access.ts'

const bytesMax = 1024 * 1024

/** The content of a YAML file. Throws `misuse`, without quoting it: there may be a secret in it. */
export function readYaml(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw misuse(`--file names ${file}, a file ${unreadable(error)}`)
  }
  if (text.length > bytesMax) throw misuse(`--file names ${file}, which is larger than 1 MB`)
  try {
    const content: unknown = parse(text, { prettyErrors: false, maxAliasCount: 100 })
    return content
  } catch {
    throw misuse(`--file names ${file}, which is not YAML`)
  }
}
