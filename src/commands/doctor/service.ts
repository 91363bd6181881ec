// The service as the doctor sees it: credentials of tenants, its clock, and whether the limit of requests is enough.

import type { Config, Tenant } from '../../config.ts'
import { asTailraceError, errorTable } from '../../errors.ts'
import type { TailraceError } from '../../errors.ts'
import { streams } from '../../poll/streams/all.ts'
import { instanceOf } from '../../roster.ts'
import { createLimit } from '../../service/limit.ts'
import type { ServiceConnections } from '../../service/connections.ts'
import { count, counted, duration } from '../../telemetry/page/words.ts'
import { askForOne, clientOf, openServiceConnections } from '../looks.ts'
import type { RedisAccess } from '../redis-access.ts'
import { advice, eachOf, fine, fold, wrong } from './finding.ts'
import type { Finding } from './finding.ts'

const atOnce = 4
const sampleMax = 100
const timeMs = 60_000

interface Answer {
  readonly tenant: Tenant
  readonly error: TailraceError | null
  readonly skewMs: number | null
}

/** One small request for each tenant: all of them, or some from the whole length of the list. */
export async function tenantFindings(
  config: Config,
  parts: { readonly access: RedisAccess | undefined; readonly all: boolean; readonly signal: AbortSignal },
): Promise<Finding[]> {
  const { access, all } = parts
  const tenants = all ? config.tenants : sampleOf(config.tenants)
  if (tenants.length === 0) return []
  const limit = AbortSignal.timeout(timeMs)
  const signal = AbortSignal.any([parts.signal, limit])
  await using connections = openServiceConnections(config)
  using admission = openAdmission(config, access)
  const ask = async (tenant: Tenant): Promise<Answer | undefined> =>
    askTenant(tenant, config, { connections, admit: admission.of(tenant), signal })
  const answers = (await eachOf(tenants, atOnce, signal, ask)).filter((answer) => answer !== undefined)
  parts.signal.throwIfAborted()
  const refused = answers.filter(({ error }) => error !== null)
  const how = tenants.length < config.tenants.length ? ` of ${config.tenants.length}; --all asks every one` : ''
  const text = `${counted(answers.length, 'tenant')} asked${how}; ${answers.length - refused.length} answered as they should`
  const missing = tenants.length - answers.length
  return [
    ...fold(refused, {
      kind: ({ error }) => error?.code ?? '',
      name: ({ tenant }) => tenant.name,
      tell: ({ tenant, error }) =>
        wrong(`tenant ${tenant.name}`, error?.message ?? '', errorTable[error?.code ?? 'internal'].doc),
    }),
    ...(missing > 0 ? [advice('tenants', `${missing} were not asked within ${timeMs / 1_000} s`, 'Try again.')] : []),
    fine('credentials', text),
    ...clockFindings(answers),
  ]
}

function sampleOf(tenants: readonly Tenant[]): readonly Tenant[] {
  const step = Math.max(1, tenants.length / sampleMax)
  const some = Array.from({ length: Math.min(tenants.length, sampleMax) }, (_, i) => tenants[Math.floor(i * step)])
  return some.filter((tenant) => tenant !== undefined)
}

/** Undefined where there was no time left. */
async function askTenant(
  tenant: Tenant,
  config: Config,
  parts: {
    readonly connections: ServiceConnections
    readonly admit: ((signal: AbortSignal) => Promise<() => void>) | undefined
    readonly signal: AbortSignal
  },
): Promise<Answer | undefined> {
  const { connections, admit, signal } = parts
  const stream = streams.find(({ name }) => tenant.streams.some((own) => own.stream === name))
  if (!stream) return { tenant, error: null, skewMs: null }
  const client = clientOf(tenant, config, { connections, ...(admit ? { admit } : {}) })
  try {
    return { tenant, error: null, skewMs: await askForOne(client, stream, tenant.clients, signal) }
  } catch (thrown) {
    return signal.aborted ? undefined : { tenant, error: asTailraceError(thrown), skewMs: null }
  }
}

interface Admission extends Disposable {
  of(tenant: Tenant): ((signal: AbortSignal) => Promise<() => void>) | undefined
}

/** Our requests count as the daemon's do, where Redis can be reached to count them. */
function openAdmission({ service }: Config, access: RedisAccess | undefined): Admission {
  const limits = new Map<string, ReturnType<typeof createLimit>>()
  return {
    of(tenant) {
      if (!access) return undefined
      const instance = instanceOf(tenant)
      const known = limits.get(instance)
      const limit =
        known ??
        createLimit({
          redis: access.redis,
          prefix: access.prefix,
          instance,
          egress: service.egress,
          requestsPerSecond: service.requestsPerSecond,
          requestMs: service.connectTimeout + service.headersTimeout,
        })
      if (!known) limits.set(instance, limit)
      return async (signal) => limit.admit(signal)
    },
    [Symbol.dispose]() {
      for (const limit of limits.values()) limit.close()
    },
  }
}

/** The header `Date` has whole seconds, and was written a while before it arrived. */
const skewWorthMs = 5_000
const skewWrongMs = 300_000

function clockFindings(answers: readonly Answer[]): Finding[] {
  const byInstance = Map.groupBy(answers, ({ tenant }) => tenant.instance)
  return [...byInstance].flatMap(([instance, own]) => {
    const skews = own.flatMap(({ skewMs }) => (skewMs === null ? [] : [skewMs])).toSorted((a, b) => a - b)
    const skewMs = skews[Math.floor(skews.length / 2)]
    if (skewMs === undefined) return []
    const subject = `clock of ${instance}`
    if (Math.abs(skewMs) < skewWorthMs) return [fine(subject, 'agrees with ours')]
    const text = `it is ${duration(Math.abs(skewMs) / 1_000)} ${skewMs > 0 ? 'ahead of' : 'behind'} ours`
    const remedy =
      'Find out which is wrong, and let ours be set by NTP. Reading goes by the clock of the service and is not affected.'
    return [Math.abs(skewMs) < skewWrongMs ? advice(subject, text, remedy) : wrong(subject, text, remedy)]
  })
}

const shareTight = 0.7

/** What the streams ask for at the least: one request for each look. */
export function budgetFindings({ tenants, service }: Config): Finding[] {
  const { requestsPerSecond: limit } = service
  const byInstance = Map.groupBy(tenants, instanceOf)
  return [...byInstance].map(([instance, own]) => {
    const all = own.flatMap((tenant) => tenant.streams)
    const wanted = all.reduce((sum, { everyMs }) => sum + 1_000 / everyMs, 0)
    const subject = `requests to ${instance}`
    const text = `${counted(all.length, 'stream')} ask for at least ${count(wanted)} requests a second; the limit is ${count(limit)}`
    const remedy =
      'Read streams less often (every), or give replicas source addresses of their own (service.egress). What is read late is not lost.'
    if (wanted > limit) return wrong(subject, text, remedy)
    return wanted > shareTight * limit
      ? advice(subject, `${text}, which leaves little for more pages`, remedy)
      : fine(subject, text)
  })
}
