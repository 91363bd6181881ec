// The part of the page that shows destinations.

import type { DestinationStatus } from '../status-picture.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import { bar, mark } from './mark.ts'
import type { Tone } from './mark.ts'
import { isRemoved } from './problems.ts'
import { ago, count, counted, duration, size } from './words.ts'

const destinationsMax = 100

export function destinationTable(destinations: readonly DestinationStatus[], now: number): Html {
  if (destinations.length === 0) return html`<p class="none">There is no destination.</p>`
  const ranks = ['halted', 'down', 'unknown', 'up']
  const sorted = destinations.toSorted(
    (a, b) => ranks.indexOf(a.state) - ranks.indexOf(b.state) || a.destination.localeCompare(b.destination),
  )
  const hidden = sorted.length - destinationsMax
  return html`<table class="destinations">
      <thead>
        <tr>
          <th scope="col">Destination</th>
          <th scope="col">State</th>
          <th scope="col">Waiting</th>
          <th scope="col" class="n">Delay</th>
          <th scope="col" class="n">Events a minute</th>
          <th scope="col" class="n">Dead letters</th>
        </tr>
      </thead>
      <tbody>
        ${sorted.slice(0, destinationsMax).map((one) => rowsOf(one, now))}
      </tbody>
    </table>
    ${hidden > 0 ? html`<p>${counted(hidden, 'more destination')} in <a href="api/status">the status as JSON</a>.</p>` : null}`
}

function rowsOf(status: DestinationStatus, now: number): Html {
  const { destination, sink, format, delaySeconds, eventsPerMinute, deadLetters } = status
  const id = `d-${encodeURIComponent(destination)}`
  const kind = isRemoved(status) ? 'no longer configured' : `${format} over ${sink}`
  return html`<tr id="${id}">
      <th scope="row"><bdi>${destination}</bdi><span class="more"> ${kind}</span></th>
      <td class="state">${stateMark(status)}</td>
      <td data-label="Waiting">${waiting(status)}</td>
      <td class="n" data-label="Delay">
        ${delaySeconds === null ? html`<span class="none">–</span>` : duration(delaySeconds)}
      </td>
      <td class="n" data-label="Events a minute">${count(eventsPerMinute)}</td>
      <td class="n" data-label="Dead letters">${deadLetters > 0 ? html`<b>${count(deadLetters)}</b>` : 0}</td>
    </tr>
    ${noteRow(status, now, id)}`
}

function stateMark(status: DestinationStatus): Html {
  const words: Readonly<Record<DestinationStatus['state'], readonly [Tone, string]>> = {
    up: ['fine', 'Takes events'],
    down: ['watch', 'Down'],
    halted: ['act', 'Stopped'],
    unknown: ['idle', isRemoved(status) ? 'Removed' : 'Nothing sent yet'],
  }
  return mark(...words[status.state])
}

function waiting({ backlogBatches, backlogBytes, backlogBoundBytes }: DestinationStatus): Html {
  if (backlogBatches === 0) return html`<span class="none">nothing</span>`
  const bound = backlogBoundBytes === null || backlogBoundBytes === 0 ? null : backlogBoundBytes
  return html`${size(backlogBytes)}${bound === null ? null : html` <span class="more">of ${size(bound)}</span>${bar(backlogBytes / bound)}`}`
}

function noteRow(status: DestinationStatus, now: number, id: string): Html | null {
  const { confirmed, state, reason, lastError } = status
  const notes: Html[] = []
  if (!confirmed) notes.push(html`It confirms nothing: events count as delivered once they are sent.`)
  if (lastError !== null)
    notes.push(
      html`${state === 'up' ? 'Last error, over by now' : 'Last error'}, ${ago(lastError.at, now)}: ${lastError.message}
        <code>${lastError.code}</code>`,
    )
  else if (state !== 'up' && reason !== null) notes.push(html`${reason}`)
  if (notes.length === 0) return null
  return html`<tr id="${id}-note" class="note">
    <td colspan="6">${notes.map((note) => html`<p>${note}</p>`)}</td>
  </tr>`
}
