// The page for people: what is wrong first, then destinations, then tenants. One address, no state.

import { destinationTable } from './page/destinations.ts'
import { html, trusted } from './page/html.ts'
import type { Html } from './page/html.ts'
import { failureList, figures, instanceList, problemList, verdict, verdictOf } from './page/overview.ts'
import { problemsOf } from './page/problems.ts'
import type { Problem } from './page/problems.ts'
import type { PageQuery } from './page/query.ts'
import { script } from './page/script.ts'
import { style } from './page/style.ts'
import { tenantFilter, tenantTable } from './page/tenants.ts'
import { ago, clock } from './page/words.ts'
import type { StatusPicture } from './status-picture.ts'

export interface PageRequest {
  readonly picture: StatusPicture
  readonly query: PageQuery
  /** Of the content security policy: style and script are in the page. */
  readonly nonce: string
}

/** The whole page. */
export function statusPage(request: PageRequest): string {
  const { query, nonce } = request
  const parts = partsOf(request)
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${parts.title}</title>
        <link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}" />
        <noscript><meta http-equiv="refresh" content="15" /></noscript>
        <style nonce="${nonce}">
          ${trusted(style)}
        </style>
      </head>
      <body>
        <header>
          <p class="brand">Tailrace</p>
          <p id="live" class="still">As of the time beside; renewed every 15 s</p>
          ${parts.header}
        </header>
        <main>
          ${parts.top}
          <section aria-labelledby="h-tenants">
            <h2 id="h-tenants">Tenants</h2>
            ${tenantFilter(query)} ${parts.tenants}
          </section>
          ${parts.bottom}
        </main>
        <footer>
          <p>
            <a href="api/status">Status as JSON</a> <a href="metrics">Metrics</a> <a href="readyz">Ready</a>
            <a href="healthz">Alive</a>
          </p>
        </footer>
        <script nonce="${nonce}">
          ${trusted(script)}
        </script>
      </body>
    </html> `.html
}

/** Only what is renewed. */
export function statusFragment(request: PageRequest): string {
  const { title, header, top, tenants, bottom } = partsOf(request)
  return html`<!doctype html><title>${title}</title>${header}${top}${tenants}${bottom}`.html
}

interface Parts {
  readonly title: string
  readonly header: Html
  readonly top: Html
  readonly tenants: Html
  readonly bottom: Html
}

function partsOf({ picture, query }: Omit<PageRequest, 'nonce'>): Parts {
  const now = Date.parse(picture.at)
  const problems = problemsOf(picture, now)
  return {
    title: titleOf(picture, problems),
    header: html`<p id="about" data-live>
      ${clock(now)} <span>version ${picture.version}, started ${ago(picture.startedAt, now)}</span>
    </p>`,
    top: html`<div id="top" data-live>
      ${verdict(picture, problems)} ${problemList(problems, now)} ${figures(picture)}
      <section aria-labelledby="h-destinations">
        <h2 id="h-destinations">Destinations</h2>
        ${destinationTable(picture.destinations, now)}
      </section>
      ${instanceList(picture, now)}
    </div>`,
    tenants: html`<div id="tenants" data-live>${tenantTable(picture, query, now)}</div>`,
    bottom: html`<div id="bottom" data-live>${failureList(picture, now)}</div>`,
  }
}

/** For a tab among many: how many things need a person. */
function titleOf(picture: StatusPicture, problems: readonly Problem[]): string {
  const { tone, title } = verdictOf(picture, problems)
  const act = problems.filter(({ urgency }) => urgency === 'act').length
  return tone === 'act' ? `(${act}) ${title} \u00b7 Tailrace` : `${title} \u00b7 Tailrace`
}

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0b6b88"/><path d="M2.5 6.5q2.75-3 5.5 0t5.500 0M2.500 10.500q2.750-3 5.500 0t5.500 0" fill="none" stroke="#fff" stroke-width="1.600"/></svg>'
