// The dashboards, as Grafana reads them from files.

import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { buildBoard, type Board } from './board.ts'
import { destination } from './destination.ts'
import { overview } from './overview.ts'
import { service } from './service.ts'
import { tenant } from './tenant.ts'

const boards: readonly Board[] = [overview, tenant, destination, service]

/** By name of the file. */
export function dashboards(): ReadonlyMap<string, Dashboard> {
  return new Map(boards.map((board) => [`${board.uid}.json`, buildBoard(board)]))
}

export function textOf(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboard, null, 2)}\n`
}
