/**
 * `bun test/browser/doc-pictures.ts [NAME…]`: takes the pictures of README and of the pages for operators anew, light and dark, into `.github/pictures`. Their data are the same each time, their
 * days end today. Look at them before they are kept.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { exampleModelOf } from '../../src/docs/guide.ts'
import { historyPathOf } from '../../src/history/threaded-store.ts'
import { sampleGateway } from '../docs/sample-gateway.ts'
import { sampleOfCabinet } from './cabinet-pages.ts'
import { openBrowser } from './chromium.ts'
import { withFonts } from './fonts.ts'
import { sampleBooks } from './sample-books.ts'
import { sampleConsole } from './sample-console.ts'
import { sampleHistory } from './sample-history.ts'
import { enterConsole } from './sign-in.ts'

type Shown = Readonly<{ width?: number; height: number; show: (page: Page) => Promise<void> }>

const DESKTOP = 1280
const PHONE = 375
const FOLDER = join(import.meta.dir, '../../.github/pictures')
const wanted = process.argv.slice(2)

const gateway = await sampleGateway()
const sample = await sampleOfCabinet(gateway, exampleModelOf(gateway.world.catalog())?.id ?? '')
const operators = await sampleConsole()
sampleHistory(historyPathOf(operators.gateway.ledgerPath), await sampleBooks(operators.gateway), Date.now())
const browser = await openBrowser()
const converting = await browser.newPage()

const toCabinet = async (page: Page, path: string): Promise<void> => {
  await sample.open(page)
  await page.goto(`${gateway.people().origins('cabinet').base}/cabinet/a/${path}`)
}
const drawn = (page: Page): Promise<void> => page.locator('tfoot').waitFor()

/** A page of the console on a phone, as soon as it has rows. */
const onPhone = (path: string): Shown => ({
  width: PHONE,
  height: 900,
  show: async (page) => {
    await enterConsole(page, operators.gateway)
    await operators.pay()
    await page.goto(`${new URL(page.url()).origin}/console${path}`)
    await page.locator('.rows').first().waitFor()
    if (path !== '/requests') return
    await page.getByText('sonnet').first().waitFor()
    await page.evaluate("document.querySelector('.rows').scrollIntoView()")
  },
})

/** Each picture: the way to what is seen, and how much of it; those of a phone have fewer bytes, since they are shown smaller. */
const PICTURES: Readonly<Record<string, Shown>> = {
  spend: { height: 1525, show: async (page) => toCabinet(page, 'acc_spend/spend').then(() => drawn(page)) },
  explore: { height: 1200, show: async (page) => toCabinet(page, 'acc_spend/explore?by=model,key').then(() => drawn(page)) },
  now: {
    height: 1330,
    show: async (page) => {
      await enterConsole(page, operators.gateway)
      await page.getByRole('button', { name: '24 hours' }).click()
      await page.getByRole('button', { name: '24 hours', pressed: true }).waitFor()
      await operators.pay()
      await page
        .getByText('4 requests')
        .or(page.getByText(/^\d+ requests$/))
        .first()
        .waitFor()
      await page.waitForTimeout(1_500)
    },
  },
  margin: {
    height: 640,
    show: async (page) => {
      await enterConsole(page, gateway)
      await page.goto(`${new URL(page.url()).origin}/console/margin?by=model`)
      await drawn(page)
    },
  },
  budgets: {
    height: 960,
    show: async (page) => {
      await toCabinet(page, 'acc_north/keys')
      await page.getByRole('button', { name: 'Change laptop' }).click()
      await page
        .getByText(/left until/)
        .first()
        .waitFor()
      await page.getByRole('heading', { name: 'Budgets' }).scrollIntoViewIfNeeded()
    },
  },
  'phone-overview': onPhone(''),
  'phone-explore': {
    width: PHONE,
    height: 900,
    show: (page) => toCabinet(page, 'acc_spend/explore?by=model,key').then(() => drawn(page)),
  },
  requests: onPhone('/requests'),
  catalog: onPhone('/catalog'),
  audit: onPhone('/audit'),
  keys: {
    width: PHONE,
    height: 900,
    show: async (page) => {
      await toCabinet(page, 'acc_north/keys')
      await page.getByText('laptop').first().waitFor()
    },
  },
  tags: { height: 1280, show: async (page) => toCabinet(page, 'acc_spend/spend?by=tag').then(() => drawn(page)) },
}

/** A picture as WebP, in base64: half as large as it is as PNG. The browser is what has an encoder. */
const webpOf = (png: Buffer, quality: number): string => `(async () => {
  const bitmap = await createImageBitmap(await (await fetch('data:image/png;base64,${png.toString('base64')}')).blob())
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
  canvas.getContext('2d', { alpha: false }).drawImage(bitmap, 0, 0)
  return new Uint8Array(await (await canvas.convertToBlob({ type: 'image/webp', quality: ${quality} })).arrayBuffer()).toBase64()
})()`

async function take(name: string, colorScheme: 'light' | 'dark'): Promise<void> {
  const picture = PICTURES[name]
  if (picture === undefined) throw new Error(`there is no picture ${name}: ${Object.keys(PICTURES).join(', ')}`)
  const context = await browser.newContext({
    colorScheme,
    viewport: { width: picture.width ?? DESKTOP, height: picture.height },
    timezoneId: 'UTC',
    locale: 'en-GB',
  })
  await withFonts(context)
  const page = await context.newPage()
  await picture.show(page)
  await page.waitForTimeout(400)
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide' })
  writeFileSync(
    join(FOLDER, `${name}-${colorScheme}.webp`),
    Buffer.from(await converting.evaluate<string>(webpOf(png, picture.width === PHONE ? 0.4 : 0.9)), 'base64'),
  )
  await context.close()
}

for (const name of wanted.length === 0 ? Object.keys(PICTURES) : wanted)
  for (const scheme of ['light', 'dark'] as const) await take(name, scheme)
await browser.close()
await gateway.stop()
await operators.stop()
