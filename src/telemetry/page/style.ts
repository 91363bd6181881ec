// How the page looks: quiet, so that what is wrong stands out. Light and dark as the reader's system is.

export const style = `
:root {
  color-scheme: light dark;
  --paper: #f7f8f8; --sheet: #ffffff; --ink: #1b2228; --soft: #56616a; --line: #dfe3e6; --link: #0a5f79;
  --act: #a8221a; --act-sheet: #fdf1f0; --watch: #7c5200; --watch-sheet: #fdf6e7; --fine: #17693a; --idle: #56616a; --room: #e3e7ea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #11161a; --sheet: #181e24; --ink: #e3e8ec; --soft: #9ba7b0; --line: #2b343c; --link: #7cc4dc;
    --act: #ff9287; --act-sheet: #2b1a1a; --watch: #eebb62; --watch-sheet: #272115; --fine: #71c994; --idle: #9ba7b0; --room: #2b343c;
  }
}
* { box-sizing: border-box; }
html { overflow-anchor: none; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 0 1.5rem 4rem; max-width: 74rem; background: var(--paper); color: var(--ink);
  font: 0.9375rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
a { color: var(--link); text-underline-offset: 0.15em; }
a:focus-visible, input:focus-visible, button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
p, ol, ul, dl, dd, h1, h2 { margin: 0; padding: 0; }
ol, ul { list-style: none; }
code { font: 0.8125rem/1.4 ui-monospace, "SF Mono", Menlo, Consolas, monospace; color: var(--soft); }
section { margin-top: 3rem; }
section > h2 { font-size: 1.0625rem; font-weight: 600; margin-bottom: 0.75rem; }
.more, .none { color: var(--soft); font-weight: 400; }
.more { font-size: 0.8125rem; }
.aside { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

header { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; align-items: baseline; padding: 1.25rem 0; color: var(--soft); font-size: 0.8125rem; }
.brand { font-weight: 700; font-size: 0.9375rem; letter-spacing: 0.01em; color: var(--ink); }
#about { margin-left: auto; }
#about > time { color: var(--ink); margin-right: 0.75rem; }
#live.live::before { content: ""; display: inline-block; width: 0.5rem; height: 0.5rem; margin-right: 0.4rem; border-radius: 50%; background: var(--fine); }
#live.stale { flex-basis: 100%; order: 9; padding: 0.75rem 1rem; border-radius: 6px; background: var(--act-sheet); color: var(--act); font-weight: 600; font-size: 0.9375rem; }

.sign { flex: none; fill: currentColor; }
.sign.act, .mark.act { color: var(--act); } .sign.watch, .mark.watch { color: var(--watch); }
.sign.fine { color: var(--fine); } .sign.idle, .mark.idle { color: var(--idle); }
.mark { white-space: nowrap; }
.mark.act { font-weight: 600; } .mark.watch { font-weight: 600; }
.mark .sign { width: 0.625rem; height: 0.625rem; margin-right: 0.5rem; }
.ring { fill: none; stroke: currentColor; stroke-width: 2; }

.verdict { padding: 1.75rem 0 2rem; }
.verdict h1 { display: flex; gap: 0.875rem; align-items: center; font-size: clamp(1.5rem, 4.5vw, 2.125rem); line-height: 1.2; font-weight: 650; letter-spacing: -0.015em; }
.verdict .sign { width: 1.25rem; height: 1.25rem; }
.verdict p { margin-top: 0.375rem; padding-left: 2.125rem; color: var(--soft); font-size: 1.0625rem; }

.problems { margin-bottom: 2.5rem; }
.problems li { display: grid; grid-template-columns: 1fr auto; gap: 0 1.5rem; align-items: baseline; padding: 0.75rem 1.125rem; border-left: 4px solid var(--act); background: var(--act-sheet); margin-top: 2px; }
.problems li.watch { border-color: var(--watch); background: var(--sheet); }
.problems li.act + li.watch { margin-top: 1rem; }
.problems li:first-child { border-top-right-radius: 6px; } .problems li:last-child { border-bottom-right-radius: 6px; }
.problems h2 { display: flex; gap: 0.625rem; align-items: baseline; font-size: 1.0625rem; line-height: 1.35; font-weight: 600; }
.problems h2 .sign { width: 0.75rem; height: 0.75rem; }
.problems .words, .problems .remedy { grid-column: 1 / -1; padding-left: 1.375rem; max-width: 62rem; }
.problems .words { color: var(--soft); }
.problems .watch h2 { font-size: 1rem; }

.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 1px; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; background: var(--line); }
.figures > div { padding: 0.875rem 1rem; background: var(--sheet); }
.figures dt { color: var(--soft); font-size: 0.8125rem; }
.figures b { display: block; font-size: 1.375rem; line-height: 1.3; font-weight: 600; letter-spacing: -0.01em; }
.figures .more { display: block; }

table { width: 100%; border-collapse: collapse; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; border-spacing: 0; }
table { border-collapse: separate; overflow: hidden; }
caption { caption-side: top; text-align: left; padding-bottom: 0.5rem; color: var(--soft); font-size: 0.8125rem; }
th, td { padding: 0.5rem 0.875rem; text-align: left; vertical-align: baseline; }
thead th { color: var(--soft); font-size: 0.8125rem; font-weight: 500; border-bottom: 1px solid var(--line); white-space: nowrap; }
th[scope="row"], th[scope="rowgroup"] { font-weight: 600; }
th .more { display: block; }
.n { text-align: right; white-space: nowrap; }
.streams tbody + tbody > tr:first-child > *, .destinations tbody > tr:not(:first-child):not(.note) > * { border-top: 1px solid var(--line); }
.streams td { padding-top: 0.3125rem; padding-bottom: 0.3125rem; }
.streams tbody > tr:first-child > td, .streams th[scope="rowgroup"] { padding-top: 0.5rem; }
.streams tbody > tr:last-child > td { padding-bottom: 0.5rem; }
.streams th[scope="rowgroup"] { width: 22%; vertical-align: top; }
.note td { padding-top: 0; color: var(--soft); font-size: 0.875rem; }
.streams .note td { padding-top: 0; }
.bar { display: block; width: 100%; max-width: 12rem; height: 4px; margin-top: 0.375rem; border-radius: 2px; overflow: hidden; fill: var(--fine); }
.bar.watch { fill: var(--watch); } .bar.act { fill: var(--act); } .bar .room { fill: var(--room); }

.instances { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 0.75rem 2rem; }
.instances p { display: flex; flex-wrap: wrap; gap: 0 0.75rem; justify-content: space-between; }
.instances p > span { color: var(--soft); }
.instances .bar { max-width: none; }
.failures li { padding: 0.25rem 0; color: var(--soft); font-size: 0.875rem; }

.filter { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; }
.filter label { color: var(--soft); }
.filter input, .filter button { font: inherit; color: inherit; padding: 0.375rem 0.75rem; border: 1px solid var(--soft); border-radius: 6px; background: var(--sheet); min-height: 2.25rem; }
.filter input { width: 16rem; max-width: 100%; }
.filter button { cursor: pointer; font-weight: 500; }
.states, .pages ul { display: flex; flex-wrap: wrap; gap: 0.375rem 0.5rem; margin: 0.875rem 0; }
.states a { display: inline-flex; gap: 0.5rem; align-items: center; padding: 0.25rem 0.75rem; border: 1px solid var(--line); border-radius: 99rem; color: var(--ink); text-decoration: none; background: var(--sheet); }
.states a:hover { border-color: var(--soft); }
.states a[aria-current] { border-color: var(--ink); box-shadow: inset 0 0 0 1px var(--ink); }
.states b { font-weight: 600; color: var(--soft); }
.pages ul { justify-content: center; gap: 1.5rem; margin-top: 1.25rem; }
footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 0.8125rem; }
footer a { margin-right: 1.25rem; }

@media (max-width: 44rem) {
  body { padding: 0 1rem 3rem; }
  #about { margin-left: 0; flex-basis: 100%; }
  .verdict { padding: 0.75rem 0 1.5rem; }
  .figures { grid-template-columns: 1fr 1fr; }
  .problems li { grid-template-columns: 1fr; padding: 0.75rem 0.875rem; }
  .problems .more { order: 9; padding-left: 1.375rem; }
  table, tbody, tr, th, td, caption { display: block; width: auto; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table { border: 0; background: none; overflow: visible; }
  .streams tbody, .destinations tbody > tr:not(.note) { margin-top: 0.75rem; padding: 0.75rem 0.875rem; border: 1px solid var(--line); border-radius: 8px; background: var(--sheet); }
  .destinations tbody > tr:has(+ .note) { border-bottom: 0; border-bottom-left-radius: 0; border-bottom-right-radius: 0; padding-bottom: 0.25rem; }
  .destinations .note { padding: 0 0.875rem 0.75rem; border: 1px solid var(--line); border-top: 0; border-radius: 0 0 8px 8px; background: var(--sheet); }
  .streams th[scope="rowgroup"], .streams tbody > tr > *, .destinations tr > * { width: auto; padding: 0 !important; border: 0 !important; }
  .streams tbody > tr { display: grid; grid-template-columns: 1fr auto; padding: 0.5rem 0; }
  .streams tbody > tr + tr:not(.note) { border-top: 1px solid var(--line); }
  .streams tbody > tr.note { padding-top: 0; }
  .streams th[scope="rowgroup"], .streams .note td { grid-column: 1 / -1; }
  .streams th[scope="rowgroup"] { font-size: 1.0625rem; margin-bottom: 0.25rem; }
  .stream { font-weight: 500; }
  .n { text-align: left; }
  td[data-label] { display: flex; gap: 0 0.4rem; align-items: baseline; grid-column: 1 / -1; flex-wrap: wrap; text-align: right; }
  td[data-label]::before { content: attr(data-label); color: var(--soft); margin-right: auto; }
  td[data-label] .bar { max-width: none; margin: 0.25rem 0 0.375rem; }
  .destinations .state { margin: 0.25rem 0; }
  .filter label { flex-basis: 100%; }
  .filter input { flex: 1; min-width: 0; }
  .states a { min-height: 2.25rem; }
}
@media (prefers-reduced-motion: no-preference) { .bar rect { transition: width 0.3s; } }
@media (forced-colors: active) { .sign, .bar { forced-color-adjust: none; } }
`
