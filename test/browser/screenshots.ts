/** `bun test/browser/screenshots.ts [FOLDER]`: every page of the guide and of the console as a phone and a desktop show it, light and dark, for people to look at. */

import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guidePaths, sampleGateway } from '../docs/sample-gateway.ts'
import { openBrowser } from './chromium.ts'
import { sampleConsole } from './sample-console.ts'

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'tollgate-pages-'))
mkdirSync(folder, { recursive: true })
const gateway = await sampleGateway()
const sample = await sampleConsole()
const browser = await openBrowser()
for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [390, 1280]) {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } })
    for (const path of [...guidePaths(gateway.world), '/docs/nothing-here']) {
      await page.goto(`${gateway.url}${path}`)
      const name = path.slice('/docs/'.length) || 'quick-start'
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true })
    }
    await page.goto(sample.link())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    for (let second = 0; second < 5; second++) {
      await sample.pay()
      await Bun.sleep(900)
    }
    for (const way of ['Now', 'Upstreams', 'Catalog']) {
      await page.getByRole('link', { name: way, exact: true }).click()
      await page.locator('.rows').first().waitFor()
      await page.screenshot({ path: join(folder, `console-${way.toLowerCase()}-${width}-${colorScheme}.png`), fullPage: true })
    }
    await page.close()
  }
}
await browser.close()
await gateway.stop()
await sample.stop()
console.log(folder)
