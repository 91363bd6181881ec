import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TailraceError } from '../../src/errors.ts'
import { fewTenants, manyTenants, openScene, reportNight, reportWell } from './scene.ts'

const executablePath = '/usr/bin/chromium'
const hostile = '</style><script>document.title="owned"</script><img src=x onerror=alert(1)>"\'\u202egnp.\u001b[2J'
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

test('what is wrong is at the top, in words, with what to do', async () => {
  await using scene = await openScene()
  reportWell(scene.report, fewTenants)
  const well = await (await fetch(scene.http.url)).text()
  expect(well).toContain('<title>All is well')
  reportNight(scene.report, fewTenants)
  const night = await (await fetch(scene.http.url)).text()
  expect(night).toContain('<title>(5) 5 things need a person')
  const order = ['splunk has stopped; 230 MB wait', 'Correct it or set tls.ca', 'id="h-destinations"', 'id="h-tenants"']
  expect(order.map((words) => night.indexOf(words)).toSorted((a, b) => a - b)).toEqual(
    order.map((words) => night.indexOf(words)),
  )
  for (const words of ['acme/attacks, acme/incidents and acme/vulnerabilities', 'initech/attacks is behind', '1 gap'])
    expect(night).toContain(words)
})

test('what a person has paused is neither behind nor failing, and not forgotten', async () => {
  await using scene = await openScene()
  const { report } = scene
  reportWell(report, fewTenants)
  const error = new TailraceError('service_refused', 'refused')
  report.turnFailed({ tenant: 'acme', stream: 'attacks', error, failures: 9, retryMs: 1 })
  report.watermarkMoved({ tenant: 'globex', stream: 'attacks', completeAt: 0, clockSkewMs: 0 })
  report.pauseChanged({ name: 'tenant:acme', pause: { since: Date.now() - 60_000, reason: 'until <Monday>' } })
  report.pauseChanged({ name: 'stream:globex/attacks', pause: { since: Date.now(), reason: '' } })
  const text = await (await fetch(scene.http.url)).text()
  expect(text).toContain('<title>Running, with 2 things to know of')
  expect(text).toContain('The tenant acme is paused by a person')
  expect(text).toContain('until &#60;Monday&#62;')
  const held = await (await fetch(`${scene.http.url}/?state=paused`)).text()
  expect(held).toContain('id="t-acme-vulnerabilities"')
  expect(held).not.toContain('id="t-globex-incidents"')
})

test('a thousand tenants: filtered and a page at a time, small and quick', async () => {
  await using scene = await openScene()
  reportWell(scene.report, manyTenants)
  reportNight(scene.report, manyTenants)
  const ask = async (search: string) => (await fetch(`${scene.http.url}/${search}`)).text()
  const tenantsIn = (text: string) => [...text.matchAll(/<tbody id="t-([^"]+)"/g)].map(([, name]) => name)
  const first = await ask('')
  const times: number[] = []
  for (let i = 0; i < 5; i++) {
    const startedAt = performance.now()
    expect(tenantsIn(await ask('?fragment=1'))).toHaveLength(50)
    times.push(performance.now() - startedAt)
  }
  // About 15 ms here: far from what would hold the daemon up.
  expect(Math.min(...times)).toBeLessThan(500)
  expect(Buffer.byteLength(first)).toBeLessThan(200_000)
  expect(first).toContain('of 1\u202f000 tenants')
  expect(tenantsIn(first).slice(0, 4)).toEqual(['tenant-0000', 'tenant-0001', 'tenant-0002', 'tenant-0003'])
  expect(tenantsIn(await ask('?page=20')).at(-1)).toBe('tenant-0999')
  expect(tenantsIn(await ask('?page=9999')).at(-1)).toBe('tenant-0999')
  expect(tenantsIn(await ask('?q=T-074'))).toEqual(Array.from({ length: 10 }, (_, i) => `tenant-074${i}`))
  expect(tenantsIn(await ask('?state=failing'))).toEqual(['tenant-0000', 'tenant-0001'])
  expect(tenantsIn(await ask('?state=full&q=0003'))).toEqual(['tenant-0003'])
  expect(await ask('?q=nobody')).toContain('There is no tenant called')
  for (const odd of ['?page=-1', '?page=x&state=constructor', '?q=a&q=b', `?q=${'x'.repeat(5_000)}`])
    expect(await ask(odd)).toContain('id="h-tenants"')
})

test('names, errors and filters cannot become a part of the page', async () => {
  await using scene = await openScene()
  const { report } = scene
  reportWell(report, [hostile])
  const error = new TailraceError('service_refused', hostile)
  report.turnFailed({ tenant: hostile, stream: 'attacks', error, failures: 9, retryMs: 1 })
  report.gapDeclared({ tenant: hostile, stream: 'attacks', from: 0, to: 1, reason: hostile })
  report.destinationConfigured({ destination: hostile, sink: hostile, format: hostile, confirms: '', confirmed: false })
  report.destinationChanged({ destination: hostile, state: 'halted', reason: hostile })
  report.backlogFull({ tenant: hostile, stream: 'attacks', destination: hostile, full: true })
  report.configRefused({ error })
  report.configApplied({ tenants: 1, destinations: 1, broken: 0, restart: [hostile] })
  report.failed({ error, during: hostile })
  report.redisChanged({ state: 'lost', reason: hostile })
  report.instanceConfigured({ instance: hostile, requestsPerSecond: 1 })
  const pages = await Promise.all(
    ['', '?fragment=1', `?q=${encodeURIComponent(hostile.slice(0, 90))}`].map(async (search) =>
      (await fetch(`${scene.http.url}/${search}`)).text(),
    ),
  )
  for (const page of pages) {
    for (const part of ['<script>', '<img', '\u202e', '\u001b']) expect(page).not.toContain(part)
    expect(page.match(/<\/style>/g)?.length ?? 0).toBeLessThanOrEqual(1)
  }
})

describe.skipIf(!existsSync(executablePath))('in a browser', { timeout: 60_000 }, () => {
  let chrome: Browser
  beforeAll(async () => {
    const quiet = ['background-networking', 'component-update', 'sync'].map((what) => `--disable-${what}`)
    const args = ['--no-sandbox', '--headless', '--disable-gpu', ...quiet, '--no-first-run']
    chrome = await chromium.launch({ executablePath, args })
  })
  afterAll(async () => chrome?.close())

  interface Tab extends AsyncDisposable {
    readonly page: Page
    /** What the browser found wrong, violations of the content security policy among it. */
    readonly complaints: string[]
  }
  const open = async (url: string, options: BrowserContextOptions = {}): Promise<Tab> => {
    const context = await chrome.newContext({ viewport: { width: 1_200, height: 900 }, ...options })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
    page.on('pageerror', (error) => void complaints.push(error.message))
    await page.goto(url)
    return { page, complaints, [Symbol.asyncDispose]: async () => context.close() }
  }

  test('can be read by everybody: both themes, at any width', async () => {
    await using well = await openScene()
    reportWell(well.report, fewTenants)
    await using night = await openScene()
    reportWell(night.report, [...fewTenants, ...manyTenants.slice(0, 10)])
    reportNight(night.report, fewTenants)
    await using empty = await openScene()
    const shots = process.env['TAILRACE_SCREENSHOTS']
    if (shots !== undefined) await mkdir(shots, { recursive: true })
    const widths = { well: [320], night: [1_200, 390], empty: [1_200] }
    for (const [name, scene] of Object.entries({ well, night, empty })) {
      await using tab = await open(scene.http.url, { bypassCSP: true })
      const { page } = tab
      await page.addScriptTag({ content: axe })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        for (const width of widths[name as keyof typeof widths]) {
          await page.setViewportSize({ width, height: 800 })
          const where = `${name} ${colorScheme} ${width}`
          if (shots !== undefined)
            await page.screenshot({ path: join(shots, `${name}-${colorScheme}-${width}.png`), fullPage: true })
          const found = (await page.evaluate(
            'axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => [v.id, v.nodes[0].html, v.nodes[0].failureSummary]))',
          )) as unknown[]
          expect([where, ...found]).toEqual([where])
          // Nothing sticks out: no scrolling sideways.
          expect([where, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([where, width])
        }
      }
    }
  })

  test('is renewed in place: focus, scrolling and what was typed stay', async () => {
    await using scene = await openScene()
    reportWell(scene.report, [...fewTenants, ...manyTenants])
    await using tab = await open(scene.http.url)
    const { page, complaints } = tab
    await page.evaluate('window.sameWindow = true')
    await page.fill('#q', 'half a na')
    const place = async () => Number(await page.evaluate('document.getElementById("q").getBoundingClientRect().top'))
    const before = await place()
    await page.evaluate('window.acme = document.getElementById("t-acme")')
    reportNight(scene.report, fewTenants)
    await page.getByText('5 things need a person').waitFor()
    expect(await page.title()).toContain('(5)')
    expect(await page.locator('#live').innerText()).toBe('Live')
    expect(await page.inputValue('#q')).toBe('half a na')
    expect(await page.evaluate('document.activeElement.id')).toBe('q')
    expect(await page.evaluate('document.getElementById("t-acme") === acme && acme.isConnected')).toBe(true)
    // Much has come in above it, and it is where it was.
    expect(Math.abs((await place()) - before)).toBeLessThan(5)
    await page.press('#q', 'Control+a')
    await page.fill('#q', 'umbrella')
    expect(await page.evaluate('window.sameWindow')).toBe(true)
    await page.press('#q', 'Enter')
    await page.waitForURL(/q=umbrella/)
    expect(await page.locator('.streams tbody').count()).toBe(1)
    expect(complaints).toEqual([])
  })

  test('says when it is no longer live', async () => {
    const scene = await openScene()
    reportWell(scene.report, fewTenants)
    await using tab = await open(scene.http.url)
    await tab.page.getByText('Live', { exact: true }).waitFor()
    await scene[Symbol.asyncDispose]()
    await tab.page.getByText('Not live').waitFor()
    expect(await tab.page.getByText('All is well').count()).toBe(1)
  })

  test('asks for nothing while nobody looks', async () => {
    await using scene = await openScene()
    reportWell(scene.report, fewTenants)
    await using tab = await open('about:blank')
    const { page } = tab
    let asked = 0
    page.on('request', (request) => void (request.url().includes('fragment') && asked++))
    await page.addInitScript(
      'Object.defineProperty(document, "hidden", { configurable: true, get: () => window.isHidden === true })',
    )
    await page.goto(scene.http.url)
    await expect.poll(() => asked, { timeout: 10_000 }).toBeGreaterThan(0)
    await page.evaluate('window.isHidden = true; document.dispatchEvent(new Event("visibilitychange"))')
    const before = asked
    await page.waitForTimeout(2_500)
    expect(asked - before).toBeLessThanOrEqual(1)
    await page.evaluate('window.isHidden = false; document.dispatchEvent(new Event("visibilitychange"))')
    await expect.poll(() => asked, { timeout: 10_000 }).toBeGreaterThan(before)
  })

  test('works without JavaScript: figures, filter, pages', async () => {
    await using scene = await openScene()
    reportWell(scene.report, manyTenants)
    await using tab = await open(scene.http.url, { javaScriptEnabled: false })
    const { page } = tab
    expect(await page.locator('h1').innerText()).toBe('All is well')
    expect(await page.locator('meta[http-equiv=refresh]').count()).toBe(1)
    await page.fill('#q', 'tenant-07')
    await page.click('.filter button')
    await page.click('#page-next')
    expect(page.url()).toContain('q=tenant-07&page=2')
    expect(await page.locator('.streams caption').innerText()).toContain('51\u2013100 of 100 tenants')
    await page.click('#s-failing')
    expect(await page.locator('#tenants p.none').innerText()).toContain('No tenant called')
  })

  test('hostile names run nothing, and the token is asked for', async () => {
    await using scene = await openScene({ token: 'a-token-for-a-browser' })
    reportWell(scene.report, [hostile])
    const httpCredentials = { username: 'anybody', password: 'a-token-for-a-browser' }
    await using tab = await open(scene.http.url, { httpCredentials })
    await tab.page.getByText('Live', { exact: true }).waitFor()
    reportWell(scene.report, [`${hostile}2`])
    await expect.poll(async () => tab.page.locator('.streams tbody').count(), { timeout: 10_000 }).toBe(2)
    expect(await tab.page.title()).toContain('All is well')
    expect(tab.complaints).toEqual([])
    await using stranger = await open('about:blank')
    await expect(stranger.page.goto(scene.http.url)).rejects.toThrow('ERR_INVALID_AUTH_CREDENTIALS')
  })
})
