// A dashboard: rows of panels under the variables and links that all dashboards share.

import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import type { Dashboard, Panel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard'
import {
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { datasource, linkToAll } from './panel.ts'

export interface Board {
  /** Never changes: links and bookmarks lead to it. The name of its file, too. */
  readonly uid: string
  readonly title: string
  readonly says: string
  /** What is looked at: a label, and the series that have it. */
  readonly chosen?: { readonly label: string; readonly of: string }
  readonly rows: readonly (readonly [title: string, panels: readonly Builder<Panel>[]])[]
}

export function buildBoard({ uid, title, says, chosen, rows }: Board): Dashboard {
  const board = new DashboardBuilder(title)
    .uid(uid)
    .description(says)
    .tags(['tailrace'])
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .link(linkToAll())
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(
      variable('job', 'tailrace_build_info').label('Installation').includeAll(true).allValue('.+').multi(true),
    )
  // One at a time, to be typed: a list of a thousand to tick would help nobody.
  if (chosen !== undefined) board.withVariable(variable(chosen.label, chosen.of))
  for (const [name, panels] of rows) {
    board.withRow(new RowBuilder(name))
    for (const panel of panels) board.withPanel(panel)
  }
  return numbered(board.build())
}

function variable(label: string, of: string): QueryVariableBuilder {
  return new QueryVariableBuilder(label)
    .label(`${label.charAt(0).toUpperCase()}${label.slice(1).replaceAll('_', ' ')}`)
    .datasource(datasource)
    .query({ query: `label_values(${of}, ${label})`, refId: label })
    .definition(`label_values(${of}, ${label})`)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.NaturalAsc)
}

/** Panels are told apart by numbers, in links to one of them. Links go to where they are seen: not into a menu. */
function numbered(dashboard: Dashboard): Dashboard {
  const panels = (dashboard.panels ?? []).map((panel: Panel | RowPanel, index) => ({ ...panel, id: index + 1 }))
  const links = (dashboard.links ?? []).map(({ placement: _menu, ...link }) => link)
  return { ...dashboard, panels, links }
}
