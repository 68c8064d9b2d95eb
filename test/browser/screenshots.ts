/** `bun test/browser/screenshots.ts [FOLDER]`: every page of the guide, the cabinet and the console as a phone and a desktop show it, light and dark, for people to look at. */

import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContextOptions } from 'playwright-core'
import { exampleModelOf } from '../../src/docs/guide.ts'
import { operatePagesOf } from '../../src/docs/operate.ts'
import { historyPathOf } from '../../src/history/threaded-store.ts'
import { guidePaths, sampleGateway } from '../docs/sample-gateway.ts'
import { CABINET_PAGES, sampleOfCabinet } from './cabinet-pages.ts'
import { openBrowser } from './chromium.ts'
import { sampleBooks } from './sample-books.ts'
import { sampleConsole } from './sample-console.ts'
import { sampleHistory } from './sample-history.ts'
import { enterConsole } from './sign-in.ts'

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'tollgate-pages-'))
mkdirSync(folder, { recursive: true })
const gateway = await sampleGateway()
const sample = await sampleOfCabinet(gateway, exampleModelOf(gateway.world.catalog())?.id ?? '')
const operators = await sampleConsole()
const accounts = await sampleBooks(operators.gateway)
const [account] = accounts
sampleHistory(historyPathOf(operators.gateway.ledgerPath), accounts, Date.now())
const browser = await openBrowser()
/** Where the links of the cabinet lead. */
const { base } = gateway.people().origins('cabinet')

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [360, 1280]) {
    const look: BrowserContextOptions = { colorScheme, viewport: { width, height: 900 } }
    const file = (name: string): string => join(folder, `${name}-${width}-${colorScheme}.png`)
    const page = await browser.newPage(look)
    for (const path of [...guidePaths(gateway.world), '/docs/nothing-here']) {
      await page.goto(`${gateway.url}${path}`)
      await page.screenshot({ path: file(path.slice('/docs/'.length) || 'quick-start'), fullPage: true })
    }
    for (const { path } of operatePagesOf(gateway.url)) {
      await page.goto(`${gateway.operatorUrl}${path}`)
      await page.screenshot({ path: file(path.slice('/docs/'.length).replace('/', '-')), fullPage: true })
    }
    await enterConsole(page, operators.gateway)
    for (let second = 0; second < 5; second++) {
      await operators.pay()
      await Bun.sleep(900)
    }
    for (const way of [
      'Overview',
      'Explore',
      'Margin',
      'Accounts',
      'Keys',
      'Requests',
      'Codes',
      'People',
      'Upstreams',
      'Catalog',
      'Audit',
    ]) {
      await page.getByRole('link', { name: way, exact: true }).click()
      await page.locator('.rows').first().waitFor()
      await page.screenshot({ path: file(`console-${way.toLowerCase()}`), fullPage: true })
    }
    await page.goto(`${new URL(page.url()).origin}/console/accounts/${account}`)
    await page.locator('.rows').first().waitFor()
    await page.screenshot({ path: file('console-account'), fullPage: true })
    await page.close()
    for (const isSignedIn of [false, true]) {
      const own = await (await browser.newContext(look)).newPage()
      if (isSignedIn) await sample.open(own)
      for (const { name, path, show } of CABINET_PAGES.filter((one) => one.isSignedIn === isSignedIn)) {
        await own.goto(`${base}${path}`)
        await own.getByRole('heading').first().waitFor()
        await show?.(own, sample)
        const isDialog = (await own.getByRole('dialog').count()) > 0
        await own.screenshot({ path: file(`cabinet-${name}`), fullPage: !isDialog })
      }
      await own.context().close()
    }
  }
}
await browser.close()
await gateway.stop()
await operators.stop()
console.log(folder)
