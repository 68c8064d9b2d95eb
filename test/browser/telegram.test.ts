/**
 * A chat is linked and removed in a real browser: a member gets a code, sends it to the bot, sees the chat and removes it; an operator sees it at its person and removes it. What
 * Telegram calls its user stays text, and axe-core finds nothing serious in either theme on a phone and a desktop. Rules: pages.md "Telegram".
 */

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import type { Listener } from '../../src/people/origins.ts'
import { BotWorld, NORTH } from '../web/bot/bot-world.ts'
import { LOOKS, type Look, lookAt } from './axe.ts'
import { openBrowser } from './chromium.ts'
import { signIn } from './sign-in.ts'

setDefaultTimeout(60_000)

const ANN = 7_001

let world: BotWorld
let browser: Browser
const complaints: string[] = []
beforeAll(async () => {
  world = await BotWorld.start()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await world.end()
})
afterEach(() => expect(complaints.splice(0)).toEqual([]))

async function visit(listener: Listener, email: string, path: string, { colorScheme, width }: Partial<Look> = {}): Promise<Page> {
  const look = { ...(colorScheme && { colorScheme }), ...(width && { viewport: { width, height: 900 } }) }
  const page = await (await browser.newContext(look)).newPage()
  page.setDefaultTimeout(10_000)
  page.on('pageerror', ({ message }) => complaints.push(message))
  await signIn(page, world.gateway, listener, { email, accountId: NORTH })
  await page.getByRole('navigation').first().waitFor()
  await page.goto(`${world.gateway.people().origins(listener).base}${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return page
}
const members = (look?: Look) => visit('cabinet', 'ann@example.com', `/cabinet/a/${NORTH}/members`, look)

test('a member links a chat by a code, sees it, and removes it', async () => {
  const page = await members()
  await page.getByText('No chat is linked.').waitFor()
  await page.getByRole('button', { name: 'Link a chat' }).click()
  const line = (await page.getByRole('group', { name: 'message to the bot' }).textContent()) ?? ''
  expect(line).toMatch(/^\/start [0-9A-Z]{10}$/)
  expect((await world.telegram.ask(ANN, line)).text).toContain('linked to the account')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: '@user7001 you' }).waitFor()
  await page.getByRole('button', { name: 'Change @user7001' }).click()
  await page.getByRole('button', { name: 'Remove this chat' }).click()
  await page.getByRole('button', { name: 'Remove it now' }).click()
  await page.getByText('No chat is linked.').waitFor()
  expect((await world.telegram.ask(ANN, '/balance')).text).toContain('not linked')
})

test('an operator sees a chat at its person, whatever its name is, and removes it', async () => {
  const code = await world.code('ann@example.com')
  const from = { id: ANN, is_bot: false, first_name: '<img src=x onerror=alert(1)>' }
  world.telegram.write(ANN, `/start ${code}`, { from })
  const page = await visit('console', 'op@example.com', '/console/people')
  await page.reload()
  const cell = page.getByRole('cell', { name: '<img src=x onerror=alert(1)>' })
  for (let tried = 0; (await cell.count()) === 0 && tried < 50; tried++) {
    await page.reload()
    await page.getByRole('region', { name: 'People' }).waitFor()
  }
  await page.getByRole('button', { name: 'Actions for ann@example.com' }).click()
  await page.getByRole('button', { name: 'Remove the chat <img src=x onerror=alert(1)>… ann@example.com' }).click()
  await page.getByLabel('Reason').fill('lost phone')
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('The chat of ann@example.com is removed').waitFor()
  expect((await world.telegram.ask(ANN, '/balance')).text).toContain('not linked')
})

for (const look of LOOKS)
  test(`nothing is in the way at ${look.width} px, ${look.colorScheme}`, async () => {
    await world.link(ANN, 'ann@example.com')
    const page = await members(look)
    await page.getByRole('region', { name: 'Chats' }).waitFor()
    expect(await lookAt(page, 'members with a chat')).toBeGreaterThan(10)
    await page.getByRole('button', { name: 'Link a chat' }).click()
    await page.getByRole('group', { name: 'message to the bot' }).waitFor()
    await lookAt(page, 'a code')
    if (process.env['TELEGRAM_PICTURE']) await page.screenshot({ path: `${process.env['TELEGRAM_PICTURE']}-${look.width}.png` })
  })
