// One tenant of the configuration: from its own file, or from the list in the main file.

import { asTailraceError } from './errors.ts'
import { streamNames, type SeverityBorders, type StreamName } from './event.ts'
import { checkOptions, refuseUnknown, unknownOption } from './config-check.ts'
import { isTree, type ConfigFile, type Path, type Tree } from './config-file.ts'
import { streamOptions, tenantOptions, usualStreams, type mainOptions, type Values } from './config-options.ts'
import { guard } from './secrets.ts'
import { checkBaseUrl, resolveBaseUrl } from './service/instances.ts'

export interface Tenant {
  readonly name: string
  readonly file: string
  /** For metrics and the limit of requests: the instance's name, or the host of the base URL. */
  readonly instance: string
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly credentials: { readonly uuid: string; readonly secret: string }
  readonly clients: readonly number[]
  /** Those that are enabled. */
  readonly streams: readonly StreamSettings[]
  /** Names of destinations. */
  readonly destinations: readonly string[]
  readonly severity: SeverityBorders
}

/** How a stream is read. Durations in milliseconds; for inventories, those of timelines are 0. */
export interface StreamSettings {
  readonly stream: StreamName
  readonly everyMs: number
  readonly overlapMs: number
  readonly startMs: number
  readonly pageSize: number
  readonly reconcileEveryMs: number
  readonly reconcileWindowMs: number
  /** From one heartbeat event to the next; 0: none. */
  readonly heartbeatMs: number
}

/** What of the main file matters to a tenant. */
export interface Known {
  readonly main: Values<typeof mainOptions>
  readonly destinations: readonly string[]
}

/** Problems go to the file; where there are any, what comes back is of no use. */
export function readTenant(file: ConfigFile, path: Path, known: Known, fileName?: string): Tenant {
  const elsewhere = fileName === undefined ? ['streams', 'name'] : ['streams']
  const values = checkOptions(file, tenantOptions, path, elsewhere) as Values<typeof tenantOptions>
  const content = file.at(path)
  const given = isTree(content) ? content : {}
  const name = fileName ?? (typeof given['name'] === 'string' ? given['name'] : '')
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name)) {
    const rule = 'must have a name of 1 to 63 letters, digits, dots, hyphens and underscores'
    file.problem(fileName === undefined ? [...path, 'name'] : [], rule)
  }
  refuseUnknown(file, [...path, 'destinations'], values.destinations, known.destinations)
  const destinations = 'destinations' in given ? values.destinations : known.destinations
  if (destinations.length === 0) {
    const text =
      'destinations' in given ? 'is empty: leave it out for all destinations' : 'has none: declare one in the main file'
    file.problem([...path, 'destinations'], text)
  }
  const { medium, high, critical } = values.severity
  if (medium > high || high > critical) {
    file.problem([...path, 'severity'], 'has borders in another order than medium, high, critical')
  }
  return {
    name,
    file: file.file,
    ...placeOf(file, path, values, known.main),
    credentials: guard({ ...values.credentials }, ['uuid', 'secret']),
    clients: values.clients,
    streams: readStreams(file, [...path, 'streams'], given),
    destinations,
    severity: values.severity,
  }
}

function placeOf(
  file: ConfigFile,
  path: Path,
  { instance, baseUrl }: { readonly instance: string; readonly baseUrl: string },
  { service, simulator }: Known['main'],
): Pick<Tenant, 'instance' | 'baseUrl'> {
  const none = { instance, baseUrl }
  if (file.isBroken([...path, 'instance']) || file.isBroken([...path, 'baseUrl'])) return none
  if ((instance === '') === (baseUrl === '')) {
    file.problem(
      [...path, 'instance'],
      instance === '' ? 'is missing: name an instance, or give a baseUrl' : 'and baseUrl exclude one another',
    )
    return none
  }
  if (baseUrl !== '') return { instance: new URL(baseUrl).host, baseUrl: checkBaseUrl(baseUrl, 'baseUrl') }
  if (instance === 'simulator') {
    if (!simulator.enabled) file.problem([...path, 'instance'], 'is the simulator, which is off: set simulator.enabled')
    return { instance, baseUrl: `http://127.0.0.1:${simulator.port}` }
  }
  try {
    return { instance, baseUrl: resolveBaseUrl(instance, service.instances) }
  } catch (error) {
    file.problem([...path, 'instance'], asTailraceError(error).message)
    return none
  }
}

function readStreams(file: ConfigFile, path: Path, tenant: Tree): StreamSettings[] {
  const given = tenant['streams'] ?? Object.fromEntries(usualStreams.map((name) => [name, {}]))
  if (!isTree(given)) {
    file.problem(path, `must be a table of streams, such as { attacks: { every: 15s } }`)
    return []
  }
  for (const name of Object.keys(given)) {
    if (!streamNames.some((known) => known === name)) file.problem([...path, name], unknownOption(name, streamNames))
  }
  const streams = streamNames
    .filter((name) => Object.hasOwn(given, name))
    .flatMap((stream) => {
      const values = checkOptions(file, { ...streamOptions[stream] }, [...path, stream])
      return values['enabled'] === false ? [] : [settingsOf(stream, values)]
    })
  if (streams.length === 0 && !file.isBroken(path)) file.problem(path, 'has no stream that is enabled')
  return streams
}

function settingsOf(stream: StreamName, values: Tree): StreamSettings {
  const number = (name: string): number => (typeof values[name] === 'number' ? values[name] : 0)
  return {
    stream,
    everyMs: number('every'),
    overlapMs: number('overlap'),
    startMs: number('start'),
    pageSize: number('pageSize'),
    reconcileEveryMs: number('reconcileEvery'),
    reconcileWindowMs: number('reconcileWindow'),
    heartbeatMs: number('heartbeat'),
  }
}
