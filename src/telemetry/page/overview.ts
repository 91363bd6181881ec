// The top of the page: how it is in one sentence, what a person should know, and the few figures that tell most.

import type { StatusPicture } from '../status-picture.ts'
import { html } from './html.ts'
import type { Content, Html } from './html.ts'
import { bar, sign } from './mark.ts'
import type { Tone } from './mark.ts'
import type { Problem } from './problems.ts'
import { ago, count, counted, duration, size } from './words.ts'

export interface Verdict {
  readonly tone: Tone
  readonly title: string
  readonly words: string
}

export function verdictOf(picture: StatusPicture, problems: readonly Problem[]): Verdict {
  const act = problems.filter(({ urgency }) => urgency === 'act').length
  const watch = problems.length - act
  if (act > 0) {
    const rest = watch === 0 ? 'Everything else goes on.' : `${counted(watch, 'more thing')} to know of.`
    return { tone: 'act', title: `${counted(act, 'thing needs', 'things need')} a person`, words: rest }
  }
  if (watch > 0)
    return {
      tone: 'watch',
      title: `Running, with ${counted(watch, 'thing')} to know of`,
      words: 'It goes on by itself.',
    }
  const [read, all] = [picture.streams.filter(({ completeAt }) => completeAt !== null).length, picture.streams.length]
  if (read === 0) return { tone: 'idle', title: 'Starting', words: 'No stream has been read to its end yet.' }
  const words =
    read < all
      ? `${count(read)} of ${counted(all, 'stream')} up to date, the others are read for the first time.`
      : `${counted(all, 'stream')} up to date, ${counted(picture.destinations.length, 'destination')} without trouble.`
  return { tone: 'fine', title: 'All is well', words }
}

export function verdict(picture: StatusPicture, problems: readonly Problem[]): Html {
  const { tone, title, words } = verdictOf(picture, problems)
  return html`<div class="verdict" role="status">
    <h1>${sign(tone)}${title}</h1>
    <p>${words}</p>
  </div>`
}

const problemsMax = 50

export function problemList(problems: readonly Problem[], now: number): Html | null {
  if (problems.length === 0) return null
  const hidden = problems.length - problemsMax
  return html`<ol class="problems" aria-label="What a person should know">
      ${problems.slice(0, problemsMax).map(
        ({ id, urgency, title, words, remedy, code, at }) =>
          html`<li id="p-${encodeURIComponent(id)}" class="${urgency}">
            <h2>${sign(urgency)}<span class="aside">${urgency === 'act' ? 'To do: ' : 'To know: '}</span>${title}</h2>
            <p class="more">
              ${at === null ? null : ago(at, now)} ${code === null ? null : html`<code>${code}</code>`}
            </p>
            ${words === null ? null : html`<p class="words">${words}</p>`}
            <p class="remedy">${remedy}</p>
          </li>`,
      )}
    </ol>
    ${hidden > 0 ? html`<p>${counted(hidden, 'more of these')} in <a href="api/status">the status as JSON</a>.</p>` : null}`
}

export function figures(picture: StatusPicture): Html {
  const { streams, destinations, redis, redisMemoryShare } = picture
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
  const dead = sum(destinations.map((d) => d.deadLetters))
  const furthest = streams.toSorted((a, b) => (b.watermarkAgeSeconds ?? -1) - (a.watermarkAgeSeconds ?? -1))[0]
  const age = furthest?.watermarkAgeSeconds ?? null
  const redisWord =
    redis === null ? 'unknown' : ({ ready: 'answers', lost: 'is away', full: 'is full' }[redis.state] ?? redis.state)
  const memory =
    redisMemoryShare === null || redisMemoryShare === 0 ? null : `${Math.round(100 * redisMemoryShare)} % of its memory`
  return html`<dl class="figures">
    ${figure('Read', count(sum(streams.map((s) => s.eventsPerMinute))), 'events a minute')}
    ${figure('Confirmed', count(sum(destinations.map((d) => d.eventsPerMinute))), 'events a minute')}
    ${figure('Waiting', size(sum(destinations.map((d) => d.backlogBytes))), counted(sum(destinations.map((d) => d.backlogBatches)), 'batch', 'batches'))}
    ${figure('Dead letters', count(dead), dead > 0 ? 'refused for good' : null)}
    ${figure('Furthest behind', age === null ? '\u2013' : duration(age), furthest && age !== null ? `${furthest.tenant}/${furthest.stream}` : 'nothing read yet')}
    ${figure('Redis', redisWord, memory)}
  </dl>`
}

function figure(name: string, value: string, more: string | null): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd><b>${value}</b>${more === null ? null : html`<span class="more">${more}</span>`}</dd>
  </div>`
}

const instancesMax = 50

/** Requests a second, against the limit that all replicas behind one source address share. */
export function instanceList({ instances }: StatusPicture, now: number): Html | null {
  if (instances.length === 0) return null
  const busiest = instances.toSorted((a, b) => b.requestsPerSecond - a.requestsPerSecond).slice(0, instancesMax)
  return html`<section aria-labelledby="h-service">
    <h2 id="h-service">Requests to the service</h2>
    <ul class="instances">
      ${busiest.map(({ instance, requestsPerSecond, limitPerSecond, failedPerMinute, throttledAt }) => {
        const notes: Content[] = []
        if (failedPerMinute > 0) notes.push(html`<span>${count(failedPerMinute)} failed in the last minute</span>`)
        if (throttledAt !== null) notes.push(html`<span>asked for a pause ${ago(throttledAt, now)}</span>`)
        return html`<li id="i-${encodeURIComponent(instance)}">
          <p>
            <b><bdi>${instance}</bdi></b>
            <span
              >${count(requestsPerSecond)}${limitPerSecond === null ? null : html` of ${count(limitPerSecond)}`} a
              second</span
            >
            ${notes}
          </p>
          ${limitPerSecond === null ? null : bar(requestsPerSecond / limitPerSecond)}
        </li>`
      })}
    </ul>
  </section>`
}

export function failureList({ failures }: StatusPicture, now: number): Html | null {
  if (failures.length === 0) return null
  return html`<section aria-labelledby="h-failures">
    <h2 id="h-failures">Latest failures elsewhere</h2>
    <ol class="failures">
      ${failures.map(
        ({ code, message, at, during }) => html`<li>${ago(at, now)}, ${during}: ${message} <code>${code}</code></li>`,
      )}
    </ol>
  </section>`
}
