// The status of a daemon as lines for a terminal: what is wrong first, as on its page.

import { verdictOf } from '../telemetry/page/overview.ts'
import { problemsOf } from '../telemetry/page/problems.ts'
import type { Problem } from '../telemetry/page/problems.ts'
import { pausedIn, rankOf, streamState, streamStateWords } from '../telemetry/page/stream-state.ts'
import { count, counted, duration, size } from '../telemetry/page/words.ts'
import type { DestinationStatus, StatusPicture, StreamStatus } from '../telemetry/status.ts'
import { padded } from './styled.ts'
import type { Line, Piece, Style } from './styled.ts'

const signs = { act: '\u25a0', watch: '\u25b2', fine: '\u25cf', idle: '\u25cb' } as const
const empty: Line = []

export function statusLines(picture: StatusPicture, width: number): Line[] {
  const problems = problemsOf(picture, Date.parse(picture.at))
  const { tone, title, words } = verdictOf(picture, problems)
  const { version, at, uptimeSeconds } = picture
  return [
    [
      [`Tailrace ${version}`, 'strong'],
      [`  up ${duration(uptimeSeconds)}  ${at.slice(11, 19)} UTC`, 'soft'],
    ],
    empty,
    [
      [`${signs[tone]} ${title}`, tone === 'idle' ? 'plain' : tone],
      [`  ${words}`, 'soft'],
    ],
    ...problems.flatMap((problem) => problemLines(problem, width)),
    empty,
    figureLine(picture),
    ...instanceLines(picture),
    empty,
    ...destinationLines(picture.destinations),
    empty,
    ...streamLines(picture),
  ]
}

/** One line, for a log or a pipe. */
export function statusLine(picture: StatusPicture): string {
  const { streams, destinations, at } = picture
  const problems = problemsOf(picture, Date.parse(at))
  const act = problems.filter(({ urgency }) => urgency === 'act')
  const [first] = problems
  const ages = streams.map(({ watermarkAgeSeconds }) => watermarkAgeSeconds ?? 0)
  const parts = [
    act.length > 0 ? `${count(act.length)} to do` : problems.length > 0 ? `${count(problems.length)} to know` : 'ok',
    `streams ${streams.length}`,
    `behind ${duration(ages.reduce((a, b) => Math.max(a, b), 0))}`,
    `read ${count(sum(streams.map((s) => s.eventsPerMinute)))}/min`,
    `confirmed ${count(sum(destinations.map((d) => d.eventsPerMinute)))}/min`,
    `waiting ${size(sum(destinations.map((d) => d.backlogBytes)))}`,
    `dead ${count(sum(destinations.map((d) => d.deadLetters)))}`,
    ...(first ? [first.title] : []),
  ]
  return `${at}  ${parts.join('  ')}`
}

function problemLines({ urgency, title, words, remedy, code }: Problem, width: number): Line[] {
  const indent = '    '
  const wrap = (text: string, style: Style): Line[] =>
    wrapped(text, width - indent.length).map((line) => [[indent + line, style]])
  return [
    [
      [`  ${signs[urgency]} ${title}`, urgency],
      [code === null ? '' : `  ${code}`, 'soft'],
    ],
    ...(words === null ? [] : wrap(words, 'soft')),
    ...(urgency === 'act' ? wrap(remedy, 'plain') : []),
  ]
}

function figureLine({ streams, destinations, redis }: StatusPicture): Line {
  const figures = [
    ['read', `${count(sum(streams.map((s) => s.eventsPerMinute)))}/min`],
    ['confirmed', `${count(sum(destinations.map((d) => d.eventsPerMinute)))}/min`],
    ['waiting', size(sum(destinations.map((d) => d.backlogBytes)))],
    ['dead letters', count(sum(destinations.map((d) => d.deadLetters)))],
    ['Redis', redis?.state ?? 'unknown'],
  ] as const
  return figures.flatMap(([name, value]): Piece[] => [
    [`${name} `, 'soft'],
    [`${value}   `, 'strong'],
  ])
}

function instanceLines({ instances }: StatusPicture): Line[] {
  if (instances.length === 0) return []
  const shown = instances.map(({ instance, requestsPerSecond: used, limitPerSecond: limit }): Piece => {
    const near = limit !== null && used >= 0.9 * limit
    return [`${instance} ${count(used)}${limit === null ? '' : ` of ${count(limit)}`}/s   `, near ? 'watch' : 'plain']
  })
  return [[['requests ', 'soft'], ...shown]]
}

function destinationLines(destinations: readonly DestinationStatus[]): Line[] {
  const styles = { up: 'fine', down: 'watch', halted: 'act', unknown: 'soft' } as const
  const rows = destinations.map((one): Piece[] => [
    [one.destination, 'strong'],
    [one.state, styles[one.state]],
    [counted(one.backlogBatches, 'batch', 'batches'), 'plain'],
    [size(one.backlogBytes), 'plain'],
    [one.delaySeconds === null ? '-' : duration(one.delaySeconds), 'plain'],
    [count(one.eventsPerMinute), 'plain'],
    [count(one.deadLetters), one.deadLetters > 0 ? 'act' : 'plain'],
    [one.state === 'up' ? '' : (one.reason ?? ''), 'soft'],
  ])
  return columns(['destination', 'state', 'waiting', '', 'delay', 'per min', 'dead', ''], rows)
}

function streamLines(picture: StatusPicture): Line[] {
  const paused = pausedIn(picture)
  const styles = {
    failing: 'act',
    behind: 'watch',
    full: 'watch',
    paused: 'soft',
    starting: 'soft',
    fine: 'fine',
  } as const
  const sorted = picture.streams
    .map((status) => ({ status, state: streamState(status, paused), name: `${status.tenant}/${status.stream}` }))
    .toSorted((a, b) => rankOf(a.state) - rankOf(b.state) || a.name.localeCompare(b.name))
  const rows = sorted.map(({ status, state, name }): Piece[] => [
    [name, 'strong'],
    [status.watermarkAgeSeconds === null ? '-' : `${duration(status.watermarkAgeSeconds)} ago`, 'plain'],
    [streamStateWords[state].toLowerCase(), styles[state]],
    [status.lastPass ? `${status.lastPass.purpose}, ${counted(status.lastPass.records, 'record')}` : '-', 'plain'],
    [count(status.eventsPerMinute), 'plain'],
    [noteOf(status), 'soft'],
  ])
  return columns(['stream', 'complete up to', 'state', 'last pass', 'per min', ''], rows)
}

function noteOf({ failures, lastError, pausedBy }: StreamStatus): string {
  if (failures > 0 && lastError !== null) return `${lastError.code}: ${lastError.message}`
  return pausedBy.length > 0 ? `full: ${pausedBy.join(', ')}` : ''
}

const columnMax = 48

function columns(head: readonly string[], rows: readonly (readonly Piece[])[]): Line[] {
  const all: (readonly Piece[])[] = [head.map((title): Piece => [title, 'soft']), ...rows]
  const last = head.length - 1
  const widths = head.map((_, i) =>
    Math.min(
      columnMax,
      all.reduce((most, row) => Math.max(most, row[i]?.[0].length ?? 0), 0),
    ),
  )
  return all.map((row) =>
    row.map(([text, style], i): Piece => [i === last ? text : `${padded(text, widths[i] ?? 0)}  `, style]),
  )
}

function wrapped(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0)
}
