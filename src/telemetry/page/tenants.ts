// The part of the page that shows tenants and their streams: filtered, the worst first, a bounded number at once.

import type { StatusPicture, StreamStatus } from '../status-picture.ts'
import { html } from './html.ts'
import type { Content, Html } from './html.ts'
import { mark } from './mark.ts'
import { addressOf } from './query.ts'
import type { PageQuery } from './query.ts'
import { pausedIn, rankOf, streamState, streamStates, streamStateWords } from './stream-state.ts'
import type { StreamState } from './stream-state.ts'
import { ago, count, counted, duration, named } from './words.ts'

const tenantsPerPage = 50

interface Row {
  readonly status: StreamStatus
  readonly state: StreamState
}

/** The filter is no part of what is renewed: somebody may be typing in it. */
export function tenantFilter({ text, state }: PageQuery): Html {
  return html`<form class="filter" role="search" action="./" method="get">
    <label for="q">Tenant</label>
    <input id="q" name="q" type="search" value="${text}" maxlength="100" autocomplete="off" spellcheck="false" />
    ${state === null ? null : html`<input type="hidden" name="state" value="${state}" />`}
    <button>Filter</button>
  </form>`
}

export function tenantTable(picture: StatusPicture, query: PageQuery, now: number): Html {
  const { streams } = picture
  const paused = pausedIn(picture)
  const matching = streams
    .filter(({ tenant }) => tenant.toLowerCase().includes(query.text))
    .map((status): Row => ({ status, state: streamState(status, paused) }))
  const wanted = matching.filter(({ state }) => query.state === null || state === query.state)
  const tenants = [...Map.groupBy(wanted, ({ status }) => status.tenant)]
    .map(([name, rows]) => ({ name, rows, rank: Math.min(...rows.map(({ state }) => rankOf(state))) }))
    .toSorted((a, b) => a.rank - b.rank || a.name.localeCompare(b.name))
  const pages = Math.max(1, Math.ceil(tenants.length / tenantsPerPage))
  const page = Math.min(query.page, pages)
  const first = (page - 1) * tenantsPerPage
  const shown = tenants.slice(first, first + tenantsPerPage)
  return html`${stateLinks(matching, query)}
  ${
    shown.length === 0
      ? html`<p class="none">${emptyWords(streams, query)}</p>`
      : html`<table class="streams">
          <caption>
            ${first + 1}–${first + shown.length} of ${counted(tenants.length, 'tenant')}, the worst first
          </caption>
          <thead>
            <tr>
              <th scope="col">Tenant</th>
              <th scope="col">Stream</th>
              <th scope="col">State</th>
              <th scope="col" class="n">Complete up to</th>
              <th scope="col">Last pass</th>
              <th scope="col" class="n">Events a minute</th>
            </tr>
          </thead>
          ${shown.map(({ name, rows }) => tenantRows(name, rows, now))}
        </table>`
  }
  ${pages > 1 ? pageLinks({ ...query, page }, pages) : null}`
}

function emptyWords(streams: readonly StreamStatus[], { text, state }: PageQuery): string {
  if (streams.length === 0) return 'No stream has been read yet.'
  const called = text === '' ? '' : ` called \u201c${text}\u201d`
  return state === null ? `There is no tenant${called}.` : `No tenant${called} has a stream in this state.`
}

function stateLinks(rows: readonly Row[], query: PageQuery): Html {
  const counts = Map.groupBy(rows, ({ state }) => state)
  const link = (state: StreamState | null, label: Content, total: number): Html => {
    const current = state === query.state ? html` aria-current="true"` : null
    const address = addressOf({ ...query, state, page: 1 })
    return html`<li>
      <a id="s-${state ?? 'all'}" href="${address}" ${current}>${label} <b>${count(total)}</b></a>
    </li>`
  }
  return html`<ul class="states" aria-label="Streams by state">
    ${link(null, 'All', rows.length)}
    ${streamStates.map((state) => {
      const total = counts.get(state)?.length ?? 0
      return link(state, total > 0 ? streamMark(state) : streamStateWords[state], total)
    })}
  </ul>`
}

function tenantRows(name: string, rows: readonly Row[], now: number): Html {
  const id = encodeURIComponent(name)
  const notes = rows.map(({ status }) => noteRow(status, now, id))
  const height = rows.length + notes.filter((note) => note !== null).length
  return html`<tbody id="t-${id}">
    ${rows.map(
      ({ status, state }, i) =>
        html`<tr id="t-${id}-${status.stream}">
            ${i === 0 ? html`<th scope="rowgroup" rowspan="${height}"><bdi>${name}</bdi></th>` : null}
            <td class="stream">${status.stream}</td>
            <td class="state">${streamMark(state)}</td>
            <td class="n" data-label="Complete up to">${completeUpTo(status)}</td>
            <td data-label="Last pass">${lastPass(status, now)}</td>
            <td class="n" data-label="Events a minute">${count(status.eventsPerMinute)}</td>
          </tr>
          ${notes[i] ?? null}`,
    )}
  </tbody>`
}

function streamMark(state: StreamState): Html {
  const tones = {
    failing: 'act',
    behind: 'watch',
    full: 'watch',
    paused: 'idle',
    starting: 'idle',
    fine: 'fine',
  } as const
  return mark(tones[state], streamStateWords[state])
}

function completeUpTo({ completeAt, watermarkAgeSeconds }: StreamStatus): Html {
  if (completeAt === null || watermarkAgeSeconds === null) return html`<span class="none">not yet</span>`
  return html`<time datetime="${completeAt}" title="${completeAt}">${duration(watermarkAgeSeconds)} ago</time>`
}

function lastPass({ lastPass: pass }: StreamStatus, now: number): Content {
  if (pass === null) return html`<span class="none">none yet</span>`
  return html`${ago(pass.at, now)}<span class="more"> ${pass.purpose}, ${counted(pass.records, 'record')}</span>`
}

/** What does not fit into figures: why it fails, what it waits for, what could not be read. */
function noteRow(status: StreamStatus, now: number, id: string): Html | null {
  const { failures, lastError, pausedBy, gaps, lastGap } = status
  const notes: Html[] = []
  if (failures > 0 && lastError !== null)
    notes.push(
      html`${counted(failures, 'failure')} in a row, ${ago(lastError.at, now)}: ${lastError.message}
        <code>${lastError.code}</code>`,
    )
  if (pausedBy.length > 0) notes.push(html`Full: ${named(pausedBy)}.`)
  if (gaps > 0) notes.push(html`${counted(gaps, 'gap')}${lastGap === null ? null : `, the last: ${lastGap.reason}`}.`)
  if (notes.length === 0) return null
  return html`<tr id="t-${id}-${status.stream}-note" class="note">
    <td colspan="5">${notes.map((note) => html`<p>${note}</p>`)}</td>
  </tr>`
}

function pageLinks(query: PageQuery, pages: number): Html {
  const link = (page: number, id: string, label: string): Html =>
    page < 1 || page > pages
      ? html`<li><span class="none">${label}</span></li>`
      : html`<li><a id="page-${id}" href="${addressOf({ ...query, page })}">${label}</a></li>`
  return html`<nav class="pages" aria-label="Pages of tenants">
    <ul>
      ${link(query.page - 1, 'before', '\u2190 Before')}
      <li>Page ${query.page} of ${pages}</li>
      ${link(query.page + 1, 'next', 'Next \u2192')}
    </ul>
  </nav>`
}
