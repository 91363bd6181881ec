// The kinds of panels that the dashboards are made of, and what all of them have in common.

import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import * as common from '@grafana/grafana-foundation-sdk/common'
import type { DataTransformerConfig, Panel, ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard'
import {
  DashboardLinkBuilder,
  DashboardLinkType,
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table'
import { PanelBuilder as SeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries'
import type { Threshold } from './thresholds.ts'

export const datasource = { type: 'prometheus', uid: '${datasource}' }

/** PromQL, and how a series of its answer is called. */
export type Query = readonly [expr: string, legend: string]

/** By how much counters have risen, those that began meanwhile too, which `increase` alone does not see. */
export function rise(counter: string, range: string): string {
  return `increase(${counter}[${range}]) > 0 or (${counter} unless ${counter} offset ${range}) > 0`
}

interface Card {
  readonly title: string
  /** What it shows and what is normal, for somebody who sees it for the first time. */
  readonly says: string
  /** By Grafana's names: s, bytes, percentunit, short, … */
  readonly unit: string
  readonly alarm?: Threshold
  /** Of 24 columns. */
  readonly width?: number
}

export interface SeriesCard extends Card {
  readonly queries: readonly Query[]
  readonly stacked?: boolean
  readonly max?: number
}

/** Lines over time, with what is a worry drawn in. */
export function series({ queries, stacked = false, max, width = 12, ...card }: SeriesCard): Builder<Panel> {
  const panel = new SeriesBuilder()
    .title(card.title)
    .description(card.says)
    .datasource(datasource)
    .unit(card.unit)
    .min(0)
    .span(width)
    .height(8)
    .fillOpacity(stacked ? 30 : 8)
    .lineWidth(1)
    .showPoints(common.VisibilityMode.Never)
    .targets(queries.map(rangeQuery))
    .tooltip(
      new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending),
    )
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true),
    )
  if (stacked) panel.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal).group('A'))
  if (max !== undefined) panel.max(max)
  if (card.alarm === undefined) return panel
  const style = new common.GraphThresholdsStyleConfigBuilder().mode(common.GraphThresholdsStyleMode.Dashed)
  return panel.thresholds(thresholdsOf(card.alarm)).thresholdsStyle(style)
}

export interface StatCard extends Card {
  readonly query: string
  /** Words for values, and their colours. */
  readonly words?: Readonly<Record<number, readonly [text: string, color: string]>>
}

/** One number, coloured by how bad it is. */
export function stat({ query, words, width = 3, ...card }: StatCard): Builder<Panel> {
  const panel = new StatBuilder()
    .title(card.title)
    .description(card.says)
    .datasource(datasource)
    .unit(card.unit)
    .span(width)
    .height(4)
    .targets([instantQuery([query, ''], 0)])
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .colorMode(common.BigValueColorMode.Background)
    .graphMode(common.BigValueGraphMode.None)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .thresholds(card.alarm === undefined ? plain : thresholdsOf(card.alarm))
  return words === undefined ? panel : panel.mappings([wordsOf(words)])
}

export interface TableCard extends Omit<Card, 'unit' | 'alarm'> {
  /** A column for each: its expression, name and unit. The labels are columns of their own. */
  readonly columns: readonly (readonly [expr: string, name: string, unit: string, alarm?: Threshold])[]
  /** Labels that are shown, in order. */
  readonly labels: readonly string[]
  /** A row leads there: the uid of a dashboard, and the label that it takes as its variable. */
  readonly leadsTo?: readonly [uid: string, label: string]
  /** The column that rows are sorted by, the highest first. */
  readonly sortBy: string
}

/** A row for each set of labels. */
export function table({ columns, labels, leadsTo, sortBy, width = 12, ...card }: TableCard): Builder<Panel> {
  const panel = new TableBuilder()
    .title(card.title)
    .description(card.says)
    .datasource(datasource)
    .span(width)
    .height(9)
    .targets(columns.map(([expr], index) => instantQuery([expr, ''], index).format(PromQueryFormat.Table)))
    .transformations(joined(columns, labels))
    .sortBy([new common.TableSortByFieldStateBuilder().displayName(sortBy).desc(true)])
  for (const [, name, unit, alarm] of columns) {
    panel.overrideByName(name, [
      { id: 'unit', value: unit },
      ...(alarm === undefined
        ? []
        : [
            { id: 'thresholds', value: thresholdsOf(alarm).build() },
            { id: 'custom.cellOptions', value: { type: 'color-text' } },
          ]),
    ])
  }
  if (leadsTo === undefined) return panel
  const [uid, label] = leadsTo
  const url = `/d/${uid}?\${datasource:queryparam}&\${job:queryparam}&var-${label}=\${__data.fields.${label}}&\${__url_time_range}`
  return panel.overrideByName(label, [{ id: 'links', value: [{ title: `The dashboard of this ${label}`, url }] }])
}

/** Answers of several queries side by side, without what is no column of ours. */
function joined(columns: TableCard['columns'], labels: readonly string[]): DataTransformerConfig[] {
  const values = columns.map(([, name], index) => [columns.length === 1 ? 'Value' : `Value #${refOf(index)}`, name])
  const names = [...labels, ...values.map(([value = '']) => value)]
  return [
    { id: 'merge', options: {} },
    { id: 'filterFieldsByName', options: { include: { names } } },
    {
      id: 'organize',
      options: {
        indexByName: Object.fromEntries(names.map((name, index) => [name, index])),
        renameByName: Object.fromEntries(values),
      },
    },
  ]
}

function rangeQuery([expr, legend]: Query, index: number): DataqueryBuilder {
  return new DataqueryBuilder().refId(refOf(index)).datasource(datasource).expr(expr).legendFormat(legend).range()
}

function instantQuery([expr, legend]: Query, index: number): DataqueryBuilder {
  return new DataqueryBuilder().refId(refOf(index)).datasource(datasource).expr(expr).legendFormat(legend).instant()
}

function refOf(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index)
}

const plain = new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([{ value: null, color: 'blue' }])

function thresholdsOf({ warning, critical, falling }: Threshold): ThresholdsConfigBuilder {
  const orange = { value: warning, color: 'orange' }
  const red = critical === undefined ? [] : [{ value: critical, color: 'red' }]
  // A step begins at its value: what falls is at its worst at the bottom.
  const steps =
    falling === true
      ? [
          { value: null, color: critical === undefined ? 'orange' : 'red' },
          ...(critical === undefined ? [] : [{ value: critical, color: 'orange' }]),
          { value: warning, color: 'green' },
        ]
      : [{ value: null, color: 'green' }, aboveZero(orange), ...red]
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps)
}

/** A step begins at its value: of what is counted, anything above 0 begins at 1. */
function aboveZero(step: { value: number; color: string }): { value: number; color: string } {
  return step.value === 0 ? { ...step, value: 1 } : step
}

function wordsOf(words: NonNullable<StatCard['words']>): ValueMapping {
  const options = Object.entries(words).map(([value, [text, color]]) => [value, { text, color }] as const)
  return { type: MappingType.ValueToText, options: Object.fromEntries(options) }
}

/** To the other dashboards, with the time that is looked at. */
export function linkToAll(): DashboardLinkBuilder {
  return new DashboardLinkBuilder('Tailrace')
    .type(DashboardLinkType.Dashboards)
    .tags(['tailrace'])
    .asDropdown(false)
    .includeVars(true)
    .keepTime(true)
}
