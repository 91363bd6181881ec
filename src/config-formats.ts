// The kinds of values that options have beside convict's own: what they accept and how they are shown.

import convict from 'convict'
import { parseDuration, parseSize, showDuration, showSize } from './quantity.ts'
import { checkBaseUrl } from './service/instances.ts'
import { parseRedisUrl } from './redis-url.ts'
import { filterMistake } from './ship/select/filter.ts'
import { redactionMistake } from './ship/select/redaction.ts'

/** `eu=https://…,ru=https://…`, as an environment variable has it. */
export function parseTable(text: string): Record<string, string> | undefined {
  const pairs = text.split(',').map((pair) => {
    const at = pair.indexOf('=')
    return at < 1 ? undefined : ([pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const)
  })
  return pairs.every((pair) => pair !== undefined) ? Object.fromEntries(pairs) : undefined
}

/** Bounds that an option may declare beside its format. */
interface Bounds {
  readonly min?: number
  readonly max?: number
  readonly [name: string]: unknown
}

function within(value: unknown, bounds: Bounds, what: string, show: (value: number) => string): void {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new Error(`must be ${what}`)
  if (value < min) throw new Error(`must be at least ${show(min)}`)
  if (value > max) throw new Error(`must be at most ${show(max)}`)
}

function matching(pattern: RegExp, what: string): convict.Format {
  return {
    validate(value: unknown) {
      if (typeof value !== 'string' || !pattern.test(value)) throw new Error(`must be ${what}`)
    },
  }
}

/** By a function that says what is wrong, if anything is. */
function without(mistakeOf: (value: unknown) => string | undefined): convict.Format {
  return {
    validate(value: unknown) {
      const mistake = mistakeOf(value)
      if (mistake !== undefined) throw new Error(mistake)
    },
  }
}

/** The formats by the names that declarations use; the values say what the reference calls them. */
export const formatNames: Readonly<Record<string, string>> = {
  duration: 'duration',
  size: 'size',
  count: 'whole number',
  ratio: 'number from 0 to 1',
  'redis-url': 'Redis URL',
  'base-url': 'URL',
  instances: 'table of URLs',
  'destination-name': 'name',
  clients: 'list of whole numbers',
  names: 'list of names',
  'header-value': 'text',
  'header-prefix': 'text',
  pem: 'PEM file or text',
  labels: 'table of text',
  headers: 'table of text',
  'http-url': 'URL',
  filter: 'filter',
  redaction: 'list of redactions',
}

// convict keeps formats in one register per process: this is done once, when the module is loaded.
convict.addFormats({
  duration: {
    coerce: (text: string) => parseDuration(text) ?? text,
    validate: (value: unknown, schema) =>
      within(value, schema, 'a duration with its unit, such as 500ms, 15s, 10m, 24h or 7d', showDuration),
  },
  size: {
    coerce: (text: string) => parseSize(text) ?? text,
    validate: (value: unknown, schema) => within(value, schema, 'a size, such as 512kb, 64mb or 1gb', showSize),
  },
  count: {
    coerce: Number,
    validate: (value: unknown, schema) => within(value, schema, 'a whole number', String),
  },
  ratio: {
    coerce: Number,
    validate(value: unknown) {
      if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw new Error('must be a number from 0 to 1')
    },
  },
  'http-url': {
    validate(value: unknown) {
      const url = typeof value === 'string' ? URL.parse(value) : null
      if (value === '') return
      if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('must begin with http:// or https://')
      if (url.username !== '' || url.password !== '') throw new Error('must not have a user or password in it')
    },
  },
  headers: {
    coerce: (text: string) => parseTable(text) ?? text,
    validate(value: unknown) {
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        throw new Error('must be a table of header names and values, such as { authorization: "…" }')
      for (const [name, text] of Object.entries(value)) {
        if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new Error('has a name that no HTTP header can have')
        if (typeof text !== 'string' || !/^[\x20-\x7e]+$/.test(text))
          throw new Error(`${name} must be text that an HTTP header can carry`)
      }
    },
  },
  'redis-url': {
    validate(value: unknown) {
      if (typeof value !== 'string') throw new Error('must be text')
      if (value === '') return
      try {
        parseRedisUrl(value)
      } catch (error) {
        const words = error instanceof Error ? error.message : 'is not a Redis URL'
        throw new Error(words.replace(/^redis\.url: /, ''), { cause: error })
      }
    },
  },
  'base-url': {
    validate(value: unknown) {
      if (typeof value !== 'string') throw new Error('must be text')
      if (value !== '') checkBaseUrl(value, 'it')
    },
  },
  instances: {
    coerce: (text: string) => parseTable(text) ?? text,
    validate(value: unknown) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        throw new Error('must be a table of instance names and base URLs, such as { eu: "https://…" }')
      }
      for (const [name, url] of Object.entries(value)) {
        if (!/^[a-z0-9-]{1,48}$/.test(name)) throw new Error('names of instances have letters a-z, digits and hyphens')
        if (name === 'simulator') throw new Error('the name simulator is taken by the built-in simulator')
        if (typeof url !== 'string') throw new Error(`${name} must be a URL`)
        if (url !== '') checkBaseUrl(url, name)
      }
    },
  },
  'destination-name': matching(/^[a-z0-9-]{1,48}$/, '1 to 48 letters a-z, digits and hyphens'),
  'header-value': matching(/^[\x21-\x7e]+$/, 'text without spaces that an HTTP header can carry, and not empty'),
  'header-prefix': matching(/^[A-Za-z0-9-]+$/, 'the beginning of a header name'),
  clients: {
    validate(value: unknown) {
      const isList = Array.isArray(value) && value.length > 0
      if (!isList || !value.every((id) => Number.isSafeInteger(id) && Number(id) > 0)) {
        throw new Error('must be a list of client ids, at least one, such as [4711]')
      }
      if (new Set(value).size < value.length) throw new Error('names a client twice')
    },
  },
  names: {
    validate(value: unknown) {
      if (!Array.isArray(value) || !value.every((name) => typeof name === 'string')) {
        throw new Error('must be a list of names')
      }
      if (new Set(value).size < value.length) throw new Error('has a name twice')
    },
  },
  labels: {
    validate(value: unknown) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        throw new Error('must be a table of text, such as { site: berlin }')
      }
      for (const [name, text] of Object.entries(value)) {
        if (!/^[a-z][a-zA-Z0-9]{0,31}$/.test(name))
          throw new Error('has names of letters and digits, the first one small')
        if (typeof text !== 'string') throw new Error(`${name} must be text: write it in quotes`)
      }
    },
  },
  filter: without(filterMistake),
  redaction: without(redactionMistake),
  pem: {
    validate(value: unknown) {
      if (typeof value !== 'string') throw new Error('must be the name of a PEM file, or PEM text')
    },
  },
})
