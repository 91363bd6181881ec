import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { expect, test } from 'vitest'
import { wellKnownCredentials } from '../../src/simulator/directory.ts'
import { stillWorld } from '../../src/simulator/life.ts'
import { operations } from '../../src/simulator/operations/all.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'

const browser = '/usr/bin/chromium'
const world = { ...stillWorld, history: { attacks: 3, spanSeconds: 60 } }

interface Description {
  readonly openapi: string
  readonly paths: Record<string, Record<string, { security?: unknown; responses: object; requestBody?: object }>>
  readonly components: { readonly securitySchemes: object }
}

test('every operation is described, with its answers, and nothing else', async () => {
  await using simulator = await startSimulator({ world, headerPrefix: 'X-Other' })
  const description = (await (await fetch(`${simulator.url}/openapi.json`)).json()) as Description
  expect(description.openapi).toMatch(/^3\./)
  const paths = operations.map((operation) => operation.path.replace(':partnerid', '{partnerid}'))
  expect(Object.keys(description.paths).toSorted()).toEqual(paths.toSorted())
  for (const path of Object.values(description.paths)) {
    expect(Object.keys(path)).toEqual(['post'])
    expect(Object.keys(path['post']?.responses ?? {})).toEqual(expect.arrayContaining(['200', '400', '403', '429']))
    expect(path['post']?.requestBody).toBeDefined()
  }
  expect(description.components.securitySchemes).toMatchObject({
    uuid: { in: 'header', name: 'X-Other-UUID' },
    secret: { in: 'header', name: 'X-Other-Secret' },
  })
})

test.skipIf(!existsSync(browser))('"Try it out" works in a browser', { timeout: 60_000 }, async () => {
  await using simulator = await startSimulator({ world })
  const quiet = ['background-networking', 'component-update', 'sync'].map((what) => `--disable-${what}`)
  const args = ['--no-sandbox', '--headless', '--disable-gpu', ...quiet, '--no-first-run']
  await using chrome = await chromium.launch({ executablePath: browser, args })
  const page = await chrome.newPage({ viewport: { width: 1200, height: 1600 } })
  const complaints: string[] = []
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
  await page.goto(`${simulator.url}/docs/`)

  await page.click('button.authorize')
  const fields = page.locator('.modal-ux input[type=text]')
  await fields.nth(0).fill(wellKnownCredentials.uuid)
  await page.locator('.modal-ux button.authorize').nth(0).click()
  await page.locator('.modal-ux input[type=text]').fill(wellKnownCredentials.secret)
  await page.locator('.modal-ux button.authorize').click()
  await page.click('.modal-ux .btn-done')

  await page.click('#operations-queries-listAttacks .opblock-summary-control')
  await page.click('#operations-queries-listAttacks button.execute')
  const answer = page.locator('#operations-queries-listAttacks .live-responses-table')
  await answer.waitFor()
  expect(await answer.locator('tbody td.response-col_status').innerText()).toContain('200')
  expect(await answer.innerText()).toContain('attacks_eu_4711')
  expect(complaints).toEqual([])
  const shot = process.env['TAILRACE_SCREENSHOT']
  if (shot !== undefined) await page.screenshot({ path: shot, fullPage: true })
})
