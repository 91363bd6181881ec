// Rules and the conditions that scope them: made by callers and, in a living world, by people at the service.

import type { ServiceRecord } from '../event.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/** What a rule is made of, once it has been checked. */
export interface RuleDraft {
  readonly client: number
  readonly type: string
  readonly action: readonly unknown[]
  readonly point: readonly unknown[]
  readonly attackType: string
  readonly validated: boolean
  readonly regex: string | null
  readonly comment: string | null
}

/** Adds a rule with the service's defaults, and its condition where no equal one exists. */
export function createRule(world: World, draft: RuleDraft): ServiceRecord {
  const now = world.nowSeconds()
  const condition = conditionFor(world, draft, now)
  const rule = {
    id: world.nextId(),
    actionid: condition,
    clientid: draft.client,
    type: draft.type,
    action: draft.action,
    // Sent as an array of arrays, it comes back flat.
    point: draft.point.flat(),
    attack_type: draft.attackType,
    regex: draft.regex,
    regex_id: draft.regex === null ? null : world.nextId(),
    comment: draft.comment,
    validated: draft.validated,
    system: false,
    enabled: true,
    active: true,
    create_time: now,
    create_userid: 1,
    updated_at: now,
  }
  world.add('rules', rule)
  return rule
}

/** Removes a rule, and its condition with the last rule of it. */
export function deleteRule(world: World, client: number, identity: string): ServiceRecord | undefined {
  const rule = world.get('rules', client, identity)
  if (rule === undefined) return undefined
  world.remove('rules', client, identity)
  const actionId = String(rule['actionid'])
  const condition = world.get('conditions', client, actionId)
  if (condition !== undefined) {
    const left = Number(condition['hints']) - 1
    if (left <= 0) world.remove('conditions', client, actionId)
    else world.update('conditions', client, actionId, { hints: left, updated_at: world.nowSeconds() })
  }
  return rule
}

export function randomRule(random: Random, client: number): RuleDraft {
  const regex = random.chance(0.3)
  return {
    client,
    type: regex ? 'regex' : 'vpatch',
    action: [
      { type: 'equal', point: ['path', 0], value: random.pick(['api', 'admin', 'login', 'shop']) },
      { type: 'iequal', point: ['header', 'HOST'], value: random.pick(['a.example.com', 'b.example.com']) },
    ],
    point: [['header', random.pick(['HOST', 'X-FORWARDED-FOR', 'REFERER'])]],
    attackType: regex ? 'scanner' : 'any',
    validated: false,
    regex: regex ? `^10\\.${random.int(0, 255)}\\.` : null,
    comment: random.chance(0.5) ? 'made by a person' : null,
  }
}

function conditionFor(world: World, draft: RuleDraft, now: number): number {
  const wanted = JSON.stringify(draft.action)
  for (const known of world.records('conditions', draft.client)) {
    if (JSON.stringify(known['conditions']) !== wanted) continue
    const id = Number(known['id'])
    world.update('conditions', draft.client, String(id), { hints: Number(known['hints']) + 1, updated_at: now })
    return id
  }
  const id = world.nextId()
  world.add('conditions', {
    id,
    clientid: draft.client,
    name: null,
    conditions: draft.action,
    hints: 1,
    updated_at: now,
  })
  return id
}
