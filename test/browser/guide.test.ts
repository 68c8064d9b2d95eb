/**
 * The guide, the API reference and the pages for operators in a real browser: axe-core finds nothing serious in either theme, nothing breaks the policy, no page is
 * wider than the screen (360 px and up), print is dark on white, the menu and the skip link work by keyboard. The browser comes out of an npm package;
 * without it the test fails.
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { operatePagesOf } from '../../src/docs/operate.ts'
import { PICTURES, pictureAddress } from '../../src/docs/pictures.ts'
import { guidePaths, sampleGateway } from '../docs/sample-gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { LOOKS, type Look, lookAt } from './axe.ts'
import { openBrowser } from './chromium.ts'

/** What a picture was loaded from, its own size, and whether it is as wide as the text around it. */
const seenOf = (name: string): string => `(async () => {
  const img = [...document.querySelectorAll('article img[src*="/${name}-"]')].find((one) => one.checkVisibility())
  img.scrollIntoView()
  await img.decode()
  const widths = [img, img.closest('p')].map((one) => one.getBoundingClientRect().width)
  return [img.currentSrc, img.naturalWidth, img.naturalHeight, Math.abs(widths[0] - widths[1]) < 1]
})()`

const picturesOn = (path: string) => {
  const page = operatePagesOf('').find((one) => one.path === path)
  return PICTURES.filter(({ name }) => page?.markdown.includes(pictureAddress(name, 'light')))
}

const START_TIMEOUT_MS = 180_000
const TEST_TIMEOUT_MS = 180_000

let gateway: TestGateway
let browser: Browser
beforeAll(async () => {
  gateway = await sampleGateway()
  browser = await openBrowser()
}, START_TIMEOUT_MS)
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})

/** Visits every page, the missing one too; gives what the browser complained about. */
async function visit({ colorScheme, width }: Look, look: (page: Page, path: string) => Promise<void>): Promise<readonly string[]> {
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } })
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() !== 'log' && !message.text().includes('404')) complaints.push(message.text())
  })
  page.on('pageerror', ({ message }) => complaints.push(message))
  page.on('request', (request) => {
    if (![gateway.url, gateway.operatorUrl].some((url) => request.url().startsWith(`${url}/`))) complaints.push(request.url())
  })
  const operate = operatePagesOf(gateway.url).map(({ path }) => path)
  for (const path of [...guidePaths(gateway.world), '/docs/api', '/docs/nothing', ...operate]) {
    await page.goto(`${operate.includes(path) ? gateway.operatorUrl : gateway.url}${path}`)
    // What is folded is read, too.
    await page.evaluate(`document.querySelectorAll('main details').forEach((one) => { one.open = true })`)
    await look(page, path)
  }
  await page.close()
  return complaints
}

for (const look of LOOKS)
  test(
    `axe-core finds nothing serious, no page is wider than the screen, and each has the colours of its theme: ${look.colorScheme}, ${look.width} px`,
    async () => {
      let rules = 0
      const complaints = await visit(look, async (page, path) => {
        rules += await lookAt(page, path)
        const seen = await page.evaluate(`({
        paper: getComputedStyle(document.body).backgroundColor,
        current: [...document.querySelectorAll('nav [aria-current]')].filter((link) => link.checkVisibility()).map((link) => link.getAttribute('href')),
      })`)
        const isPhone = look.width < 500
        expect(seen, path).toEqual({
          paper: look.colorScheme === 'dark' ? 'rgb(18, 21, 20)' : 'rgb(255, 255, 255)',
          current: isPhone || path === '/docs/nothing' ? [] : [path],
        })
      })
      expect(complaints).toEqual([])
      expect(rules).toBeGreaterThan(100)
    },
    TEST_TIMEOUT_MS,
  )

for (const colorScheme of ['light', 'dark'] as const)
  test(
    `the pages for operators show their pictures as wide as the text, those of a phone narrower, in the theme of the reader, and a click shows one in its own size: ${colorScheme}`,
    async () => {
      for (const width of [320, 1280]) {
        const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } })
        const loaded = new Set<string>()
        page.on('request', (request) => /-(light|dark)\.webp$/.test(request.url()) && loaded.add(request.url().split('-').at(-1) ?? ''))
        for (const path of ['/docs/operate/people', '/docs/operate/money']) {
          await page.goto(`${gateway.operatorUrl}${path}`)
          for (const { name, width: own, height } of picturesOn(path))
            expect(await page.evaluate(seenOf(name))).toEqual([
              `${gateway.operatorUrl}/docs/pictures/${name}-${colorScheme}.webp`,
              own,
              height,
              own > 1000,
            ])
          expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
        }
        await page.locator('a.picture:visible').first().click()
        await page.waitForURL(/\/docs\/pictures\/[a-z]+-[a-z]+\.webp$/)
        expect(new URL(page.url()).pathname).toEndWith(`-${colorScheme}.webp`)
        expect([...loaded]).toEqual([`${colorScheme}.webp`])
        await page.close()
      }
    },
    TEST_TIMEOUT_MS,
  )

test(
  'printed, it is black on white in either theme, without menus',
  async () => {
    const page = await browser.newPage({ colorScheme: 'dark', viewport: { width: 800, height: 800 } })
    await page.emulateMedia({ media: 'print' })
    await page.goto(`${gateway.url}/docs/errors`)
    const parts = ['body', 'h2', 'td', 'pre', 'td code']
    const looks = await page.evaluate(`${JSON.stringify(parts)}.map((name) => {
      const { color, backgroundColor } = getComputedStyle(document.querySelector(name))
      return [color, backgroundColor === 'rgba(0, 0, 0, 0)' ? 'rgb(255, 255, 255)' : backgroundColor]
    })`)
    expect(looks).toEqual(parts.map(() => ['rgb(0, 0, 0)', 'rgb(255, 255, 255)']))
    expect(await page.evaluate(`getComputedStyle(document.querySelector('th')).backgroundColor`)).toBe('rgb(255, 255, 255)')
    expect(await page.locator('nav:visible').count()).toBe(0)
    await page.close()
  },
  TEST_TIMEOUT_MS,
)

test(
  'by keyboard: the first Tab shows the skip link, which leads to the text; the menu of a phone opens and leads on',
  async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 } })
    await page.goto(`${gateway.url}/docs`)
    await page.keyboard.press('Tab')
    const skip = page.locator(':focus')
    expect(await skip.textContent()).toBe('Skip to content')
    expect((await skip.boundingBox())?.y).toBeGreaterThanOrEqual(0)
    await page.keyboard.press('Enter')
    expect(await page.evaluate(`document.activeElement.id`)).toBe('content')
    await page.locator('.menu summary').focus()
    await page.keyboard.press('Enter')
    await page.locator('.menu a', { hasText: 'Billing' }).click()
    expect(new URL(page.url()).pathname).toBe('/docs/billing')
    expect(await page.locator('h1').textContent()).toBe('Billing')
    await page.close()
  },
  TEST_TIMEOUT_MS,
)
