/**
 * What a slow line shows first: the frame of cabinet and console is painted when only the document has come, in either theme, and the document is small. It counts bytes, not
 * time: on a line of 50 kB/s with 400 ms these bytes are there within a second. Rules: pages.md "Assets".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { openBrowser } from './chromium.ts'

setDefaultTimeout(60_000)

/** Two ways there and back of 400 ms leave 10 kB of a second at 50 kB/s; the document is far below. */
const BYTES_MAX = 2_000

let gateway: TestGateway
let browser: Browser
beforeAll(async () => {
  gateway = await startTestGateway()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})

const PAINTED = `new Promise((resolve) => new PerformanceObserver((list) => {
  if (list.getEntries().some(({ name }) => name === 'first-contentful-paint')) resolve(true)
}).observe({ type: 'paint', buffered: true }))`

for (const root of ['/cabinet', '/console'] as const)
  for (const colorScheme of ['light', 'dark'] as const)
    test(`${root}, ${colorScheme}: the frame is painted while no script and no style has come`, async () => {
      const address = `${root === '/cabinet' ? gateway.url : gateway.operatorUrl}${root}`
      const page = await browser.newPage({ colorScheme })
      const asked: string[] = []
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      const held = Promise.withResolvers<void>()
      await page.route('**/assets/*', async (route) => {
        asked.push(route.request().url())
        await held.promise
        await route.continue().catch(() => undefined)
      })
      try {
        await page.goto(address, { waitUntil: 'commit' })
        expect(await page.evaluate(PAINTED)).toBe(true)
        expect(await page.locator('.first .brand').isVisible()).toBe(true)
        expect(asked.some((name) => name.endsWith('.css')) && asked.some((name) => name.endsWith('.js'))).toBe(true)
        const [ground, ink] = await page.evaluate<[string, string]>(
          `[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.querySelector('.first .brand')).color]`,
        )
        expect([ground, ink]).toEqual(
          colorScheme === 'dark' ? ['rgb(18, 21, 20)', 'rgb(230, 235, 232)'] : ['rgba(0, 0, 0, 0)', 'rgb(0, 0, 0)'],
        )
        const compressed = await fetch(address, { headers: { 'accept-encoding': 'gzip' }, decompress: false })
        expect((await compressed.arrayBuffer()).byteLength).toBeLessThan(BYTES_MAX)
        held.resolve()
        await page.locator('h1, h2, input').first().waitFor()
        expect(await page.locator('.first').count()).toBe(0)
        expect(complaints.filter((text) => /policy/i.test(text))).toEqual([])
      } finally {
        held.resolve()
        await page.close()
      }
    })
