// What runs in the browser: renews the page in place. Without it the page renews itself as a whole.

/**
 * Every 2 s, while somebody looks, the parts that are marked `data-live` are asked for again, and only what differs
 * is changed: focus, scrolling and selection stay. One request at a time, 10 s at most; when none is answered, the
 * page says so, for old figures must not be taken for new ones.
 */
export const script = `
'use strict'
const note = document.getElementById('live')
const address = new URL(location.href)
address.hash = ''
address.searchParams.set('fragment', '1')
let timer
let busy = false

function morph(from, to) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) return from.replaceWith(document.importNode(to, true))
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue
    return
  }
  for (const { name } of [...from.attributes]) if (!to.hasAttribute(name)) from.removeAttribute(name)
  for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value)
  const known = new Map([...from.children].filter((child) => child.id).map((child) => [child.id, child]))
  let at = from.firstChild
  for (const child of [...to.childNodes]) {
    const same = child.id ? known.get(child.id) : at && !at.id ? at : undefined
    if (!same) from.insertBefore(document.importNode(child, true), at)
    else {
      if (same === at) at = at.nextSibling
      else from.insertBefore(same, at)
      morph(same, child)
    }
  }
  while (at) {
    const next = at.nextSibling
    at.remove()
    at = next
  }
}

// What somebody looks at stays where it is, whatever comes in above it; at the top, what is new is seen at once.
function anchor() {
  const inView = (element) => {
    const { top, bottom } = element.getBoundingClientRect()
    return bottom > 0 && top < innerHeight
  }
  const focused = document.activeElement
  const held = focused && focused !== document.body && inView(focused)
    ? focused
    : scrollY > 0 && document.elementFromPoint(innerWidth / 2, 8)?.closest('[id]')
  const before = held ? held.getBoundingClientRect().top : 0
  return () => held && held.isConnected && scrollBy(0, held.getBoundingClientRect().top - before)
}

function show(text) {
  const next = new DOMParser().parseFromString(text, 'text/html')
  const parts = [...next.querySelectorAll('[data-live]')]
  if (parts.length === 0) throw new Error('no page')
  const focused = document.activeElement
  const hold = anchor()
  for (const part of parts) {
    const own = document.getElementById(part.id)
    if (own) morph(own, part)
  }
  document.title = next.title
  if (focused && focused.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true })
  hold()
}

async function renew() {
  if (busy) return
  busy = true
  clearTimeout(timer)
  try {
    const answer = await fetch(address, { cache: 'no-store', signal: AbortSignal.timeout(10000) })
    if (!answer.ok) throw new Error(answer.status === 401 ? 'it wants the token: load this page again' : 'status ' + answer.status)
    show(await answer.text())
    note.className = 'live'
    note.textContent = 'Live'
  } catch (error) {
    if (note.className !== 'stale') {
      note.className = 'stale'
      note.textContent = 'Not live: Tailrace does not answer. What is shown is old.'
    }
  }
  busy = false
  if (!document.hidden) timer = setTimeout(renew, 2000)
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(timer)
  if (!document.hidden) renew()
})
note.textContent = 'Live'
note.className = 'live'
timer = setTimeout(renew, 2000)
`
