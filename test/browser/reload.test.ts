/**
 * Two operators, each in an own browser, look at what a reload would change: the one who presses gets exactly what was shown, and the other is told that it has changed,
 * in words and without a second reload. Rules: pages.md "Catalog", "Acts of operators".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { picos } from '../../src/core/money.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { openBrowser } from './chromium.ts'
import { signIn } from './sign-in.ts'

setDefaultTimeout(60_000)

type Config = ReturnType<NonNullable<NonNullable<Parameters<typeof startTestGateway>[0]>['readConfig']>>

let file: (inForce: Exclude<Config, { problems: unknown }>) => Config = (inForce) => inForce
let gateway: TestGateway
let browser: Browser
beforeAll(async () => {
  let initial: Exclude<Config, { problems: unknown }> | undefined
  gateway = await startTestGateway({
    readConfig: (inForce) => {
      initial = inForce
      return file(inForce)
    },
    askReload: () => {
      const read = initial === undefined ? undefined : file(initial)
      if (read !== undefined && !('problems' in read)) gateway.reload(read)
    },
  })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})

/** The price of the model's input, in dollars a million, and perhaps the gateway without it. */
const priced =
  (usd: bigint, isGone = false): typeof file =>
  (inForce) => {
    const models = [...inForce.catalog.models].map(
      ([id, model]) => [id, { ...model, rates: { ...model.rates, input: picos(usd * 1_000_000n) } }] as const,
    )
    return { ...inForce, catalog: { ...inForce.catalog, models: new Map(isGone ? [] : models) } }
  }

async function enter(email: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(20_000)
  await signIn(page, gateway, 'console', { email })
  await page.getByRole('link', { name: 'Catalog', exact: true }).click()
  return page
}

const look = (page: Page): Promise<void> => page.getByRole('button', { name: /What would a reload change|Read the file again/ }).click()
const priceInForce = (): bigint | undefined => gateway.world.catalog().models.get('sonnet')?.rates.input

test('what is shown is reloaded, once; who looked at the same is told, and a model that goes is said before', async () => {
  const [ann, bob] = [await enter('ann@example.com'), await enter('bob@example.com')]
  file = priced(6n)
  for (const page of [ann, bob]) {
    await look(page)
    await page.getByText('1 model changed.').waitFor()
    await page.getByRole('button', { name: 'Reload…' }).click()
  }
  expect(priceInForce()).toBe(3_000_000n)
  // By keyboard: the reason has the focus of the dialog, and Enter sends it.
  await ann.getByLabel('Reason (optional)').fill('dearer upstream')
  await ann.keyboard.press('Enter')
  await ann.getByText('Reloaded: ').waitFor()
  await ann.getByRole('cell', { name: '$6.00', exact: true }).first().waitFor()
  expect(priceInForce()).toBe(6_000_000n)
  await bob.getByRole('dialog').getByRole('button', { name: 'Reload', exact: true }).click()
  await bob.getByRole('alert').filter({ hasText: 'There is nothing to reload' }).waitFor()

  file = priced(7n)
  await bob.getByRole('button', { name: 'Close' }).click()
  await look(bob)
  await bob.getByText('$7.00').first().waitFor()
  file = priced(8n)
  await bob.getByRole('button', { name: 'Reload…' }).click()
  await bob.getByRole('dialog').getByRole('button', { name: 'Reload', exact: true }).click()
  await bob.getByRole('alert').filter({ hasText: 'has changed since you looked' }).waitFor()
  expect(priceInForce()).toBe(6_000_000n)
  await bob.getByRole('button', { name: 'Close' }).click()

  file = priced(8n, true)
  await look(bob)
  await bob.getByText('1 model removed.').waitFor()
  await bob.getByRole('button', { name: 'Reload…' }).click()
  await bob.getByRole('dialog').getByText('New requests for sonnet will be refused.').waitFor()
  await bob.getByRole('button', { name: 'Close' }).click()
  expect(priceInForce()).toBe(6_000_000n)

  await ann.getByRole('link', { name: 'Audit', exact: true }).click()
  await ann.getByRole('row').filter({ hasText: 'dearer upstream' }).waitFor()
  expect(await ann.getByRole('row').filter({ hasText: 'reloaded the configuration' }).count()).toBe(1)
})

test('a look that fails while a reload comes into force is followed by another', async () => {
  const page = await enter('cleo@example.com')
  file = priced(9n)
  await look(page)
  await page.getByText('$9.00').first().waitFor()
  await page.getByRole('button', { name: 'Reload…' }).click()
  // The reload is asked for, and its first look meets a process that is away.
  let failed = 0
  await page.route('**/console/api/catalog/reload', (route) => {
    if (route.request().method() !== 'GET' || failed > 0) return route.continue()
    failed++
    return route.fulfill({ status: 503, json: { error: { message: 'away' } } })
  })
  await page.getByRole('dialog').getByRole('button', { name: 'Reload', exact: true }).click()
  await page.getByText('Reloaded: ').waitFor()
  expect([failed, priceInForce()]).toEqual([1, 9_000_000n])
})
