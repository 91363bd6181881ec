// The page for people. Plain until there is more to show.

export function statusPage(version: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tailrace</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 40rem; padding: 0 1rem }</style>
<h1>Tailrace ${escaped(version)}</h1>
<ul>
  <li><a href="/api/status">Status</a> of streams and destinations, as JSON</li>
  <li><a href="/metrics">Metrics</a> for Prometheus</li>
  <li><a href="/healthz">Alive</a>, <a href="/readyz">ready</a></li>
</ul>
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
