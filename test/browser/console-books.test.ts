/**
 * The books on the console in a real browser: an account is found, topped up and seen with its new balance, a double click is one act, codes are shown once, a secret
 * too, and the audit log names the person; what people typed stays text; axe-core finds nothing serious in either theme, and no page is wider than the screen.
 * Rules: pages.md "Acts of operators", "Codes"; operator.md "Credits", "Audit".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { dayAt, dayText } from '../../src/core/utc.ts'
import { apiClient } from '../support/api-client.ts'
import { until } from '../support/until.ts'
import { LOOKS, lookAt } from './axe.ts'
import { openBrowser } from './chromium.ts'
import { sampleBooks } from './sample-books.ts'
import { type SampleConsole, sampleConsole } from './sample-console.ts'
import { enterConsole } from './sign-in.ts'

setDefaultTimeout(60_000)

const EVIL = '<img src=x onerror=alert(1)>'

let sample: SampleConsole
let browser: Browser
let accounts: readonly string[]
beforeAll(async () => {
  sample = await sampleConsole()
  accounts = await sampleBooks(sample.gateway)
  await apiClient(sample.gateway, { name: 'shop', accountIds: accounts.slice(0, 2) })
  await sample.pay()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  expect(sample.gateway.verify()).toEqual([])
  await sample.stop()
})

/** A page with an operator in it; what it complains about must be nothing. */
async function enter() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => message.type() !== 'log' && !/status of 4\d\d/.test(message.text()) && complaints.push(message.text()))
  page.on('pageerror', ({ message }) => complaints.push(message))
  page.on('dialog', (dialog) => {
    complaints.push('a script ran')
    dialog.dismiss().catch(() => undefined)
  })
  await enterConsole(page, sample.gateway)
  const go = (path: string) => page.goto(`${new URL(page.url()).origin}/console${path}`)
  return {
    page,
    go,
    close: async () => {
      expect(complaints).toEqual([])
      await context.close()
    },
  }
}

const dialog = (page: Page) => page.getByRole('dialog')

/** What is shown once is still there. */
async function keepsOverEscape(page: Page): Promise<void> {
  for (const _ of [1, 2, 3]) await page.keyboard.press('Escape')
  expect(await page.locator('dialog[open]').count()).toBe(1)
}

test('an account is found while one types and topped up once, however often one clicks; the audit log names the person', async () => {
  const { page, go, close } = await enter()
  await go('/accounts')
  await page.getByLabel('Find an account').fill('north')
  await page.getByText('Contoso').waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /Northwind/ }).click()
  await page.getByRole('heading', { name: 'Northwind Traders' }).waitFor()
  await page.getByRole('button', { name: 'Top up…' }).click()
  await page.getByLabel('Amount, USD').fill('12.5')
  await dialog(page).getByText('$224.00').waitFor()
  await page.getByLabel(/Reference/).fill('wire 77')
  await page.getByLabel(/Reason/).fill(EVIL)
  await dialog(page).getByRole('button', { name: 'Top up $12.50' }).dblclick()
  await page.getByText('The balance is $224.00 now').waitFor()
  await dialog(page).waitFor({ state: 'detached' })
  await page.locator('.figures').getByText('$224.00').first().waitFor()
  await page.getByRole('region', { name: 'Credits', exact: true }).getByText(EVIL).first().waitFor()
  expect(await page.getByText('wire 77').count()).toBe(1)
  await page.getByRole('link', { name: 'Audit log' }).click()
  const line = page.getByRole('row').filter({ hasText: 'wire 77' })
  await line.waitFor()
  for (const text of ['credited $12.50 to Northwind Traders', '$211.50 → $224.00', 'operator@example.com', EVIL])
    expect(await line.textContent()).toContain(text)
  await close()
})

test('a budget of an account is set by keyboard, and what it has left is on the account’s page', async () => {
  const { page, go, close } = await enter()
  await go(`/accounts/${accounts[1]}`)
  const budgets = page.getByRole('region', { name: 'Budgets', exact: true })
  await budgets.getByText('No budget of an hour, day, week or month is set.').waitFor()
  await budgets.getByRole('button', { name: 'Budgets…' }).click()
  await dialog(page).getByLabel('Window, by UTC').selectOption('month')
  await dialog(page).getByLabel('Budget, USD').fill('x')
  await page.keyboard.press('Enter')
  await dialog(page).getByText('An amount in USD').waitFor()
  await dialog(page).getByLabel('Budget, USD').fill('40000')
  await page.keyboard.press('Enter')
  await dialog(page).waitFor({ state: 'detached' })
  await budgets.getByText(/a month left until .* spent \(of the account, set by the operator\)/).waitFor()
  await close()
})

test('where all keys are disabled the page says how many, and not that there are none', async () => {
  const { page, go, close } = await enter()
  await go('/keys')
  await page.getByLabel('Find a key').fill('Litware')
  await page.getByText('2 disabled keys not shown').waitFor()
  expect(await page.getByText('No key begins or ends so').count()).toBe(0)
  await page.getByRole('button', { name: 'Show them' }).click()
  await page
    .getByRole('row', { name: /Litware ci/ })
    .getByRole('link', { name: 'Litware', exact: true })
    .click()
  await page.getByText('2 disabled keys not shown').waitFor()
  expect(await page.getByText('No key spends from this account yet').count()).toBe(0)
  await close()
})

test('keys and accounts are ordered by a click, which the address says; disabled keys are counted and shown on demand; acts on a key are a menu, by keyboard', async () => {
  const { page, go, close } = await enter()
  await go('/keys')
  await page.getByText(/\d+ disabled keys not shown/).waitFor()
  expect(await page.getByRole('row', { name: /Litware/ }).count()).toBe(0)
  await page.getByRole('button', { name: 'Show them' }).click()
  await page.getByRole('row', { name: /Litware ci/ }).waitFor()
  await page.getByRole('columnheader', { name: 'Key' }).getByRole('button').focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/order=name/)
  await page.getByRole('columnheader', { name: 'Key', exact: true }).and(page.locator('[aria-sort=ascending]')).waitFor()
  const names = async () => (await page.locator('.rows tbody .name').allTextContents()).map((name) => name.toLowerCase())
  await until(async () => (await names()).at(-1) === 'northwind production')
  expect((await names()).slice(1)).toEqual((await names()).slice(1).toSorted())
  await page.reload()
  await page.getByRole('row', { name: /Litware ci/ }).waitFor()
  const menu = page.getByRole('button', { name: 'Actions for Contoso ci' })
  await menu.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Extend… Contoso ci' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Extend… Contoso ci' }).waitFor({ state: 'hidden' })
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await dialog(page).getByText('Contoso ci').first().waitFor()
  await go('/accounts')
  await page.getByRole('columnheader', { name: 'Balance' }).getByRole('button').click()
  await page.waitForURL(/order=-balance/)
  const balances = () =>
    page.locator('.rows tbody td:nth-child(2) data').evaluateAll((all) => all.map((one) => Number(one.getAttribute('value'))))
  await until(async () => {
    const found = await balances()
    return found.length > 4 && found.every((balance, index) => index === 0 || balance <= (found[index - 1] ?? 0))
  })
  await close()
})

test('an operator finds an account, a key by the end of its secret, a person and a request by keyboard; lists show names', async () => {
  const { page, go, close } = await enter()
  await sample.pay()
  await go('/people')
  await page.getByRole('link', { name: 'Northwind Traders' }).first().waitFor()
  const found = async (text: string, option: RegExp, path: RegExp) => {
    await page.locator('h1').click()
    await page.keyboard.press('/')
    await page.keyboard.type(text)
    await page.locator('[role=option]', { hasText: option }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(path)
  }
  await found('fabri', /account Fabrikam Research/, /accounts\/acc_/)
  const last4 = (await page.locator('.rows code').first().textContent())?.slice(-4) ?? ''
  await found(last4, new RegExp(`key .*${last4}`), /requests\?key_id=key_/)
  await found('bob@', /person bob@example.com/, /people\?find=bob/)
  await go('/requests')
  await page.getByRole('button', { name: 'Dearest first' }).click()
  await page.getByText(/In this order are all \d+ requests/).waitFor()
  await page.locator('tbody button.as-link').first().click()
  await page.getByText('Provider calls').waitFor()
  const requestId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  await found(requestId, new RegExp(requestId), new RegExp(requestId))
  await close()
})

test('a refund asks for its reason, shows what will be, and is refused above the balance with the field', async () => {
  const { page, go, close } = await enter()
  await go(`/accounts/${accounts[1]}`)
  await page.getByRole('button', { name: 'Refund…' }).click()
  const amount = page.getByLabel('Amount that was paid back, USD')
  await amount.fill('251')
  await dialog(page).getByText('below zero').waitFor()
  await page.getByLabel('Reason').fill('too much')
  await page.keyboard.press('Enter')
  await page.getByText(/a refund cannot take more/).waitFor()
  expect(await amount.getAttribute('aria-invalid')).toBe('true')
  await amount.fill('50')
  await page.keyboard.press('Enter')
  await page.getByText('The balance is $200.00 now').waitFor()
  await close()
})

test('an account, a key and a batch of codes are made; names stay text, secrets and codes are shown once', async () => {
  const { page, go, close } = await enter()
  await go('/accounts')
  await page.getByRole('button', { name: 'New account…' }).click()
  await page.getByLabel('Name').fill(EVIL)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: EVIL }).waitFor()
  await page.getByRole('button', { name: 'New key…' }).click()
  await page.getByLabel('Name').fill(`key ${EVIL}`)
  await page.keyboard.press('Enter')
  const secret = (await page.locator('.copy-block code').textContent()) ?? ''
  expect(secret).toStartWith('sk-')
  await keepsOverEscape(page)
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('region', { name: 'Keys' }).getByText(`key ${EVIL}`).first().waitFor()
  expect(await page.content()).not.toContain(secret)
  await go('/keys')
  await page.getByLabel('Find a key').fill(secret.slice(-4))
  await page
    .getByRole('row')
    .filter({ hasText: `key ${EVIL}` })
    .waitFor()
  await go('/codes')
  await page.getByRole('button', { name: 'Make codes…' }).click()
  await page.getByLabel('How many').fill('3')
  await page.getByLabel('Each is worth, USD').fill('25')
  await dialog(page).getByText('$75.00 in all').waitFor()
  await dialog(page).getByRole('button', { name: 'Make the codes' }).dblclick()
  const codes = ((await page.locator('.code-list code').textContent()) ?? '').split('\n')
  expect(codes).toHaveLength(3)
  await keepsOverEscape(page)
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save as CSV' }).click()
  const csv = await Bun.file(await (await saving).path()).text()
  expect(csv).toBe(`code,amount_usd,batch\r\n${codes.map((code) => `${code},25,${/batch_\w+/.exec(csv)?.[0]}\r\n`).join('')}`)
  await page.getByRole('button', { name: 'I have them' }).click()
  await page.getByText('0 of 3').waitFor()
  expect(await page.getByText('0 of 3').count()).toBe(1)
  expect(await page.content()).not.toContain(codes[0] ?? '-')
  await go('/people')
  await page.getByRole('button', { name: 'Invite…' }).click()
  await page.getByLabel('E-mail').fill('new@north.example')
  await dialog(page).getByLabel('To', { exact: true }).selectOption('operator')
  await dialog(page).getByRole('button', { name: 'Invite', exact: true }).click()
  expect(await page.locator('.copy-block code').textContent()).toContain('/console/')
  await keepsOverEscape(page)
  await page.getByRole('button', { name: 'Done' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  await close()
})

test('a list is narrowed by what its form was sent with; the address says it, and the way back shows list and form as they were', async () => {
  const { page, go, close } = await enter()
  await go('/requests')
  await page.locator('.rows tbody tr').first().waitFor()
  const rows = await page.locator('.rows tbody tr').count()
  const tag = page.getByLabel('Tag')
  await tag.fill(' team:nowhere ')
  await page.getByLabel('Show', { exact: true }).selectOption('waived')
  await page.getByLabel('From').fill('2026-01-01')
  expect(new URL(page.url()).search).toBe('')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('was found').waitFor()
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ tag: 'team:nowhere', only: 'waived', from: '2026-01-01' })
  expect(await tag.inputValue()).toBe('team:nowhere')
  await page.goBack()
  await page
    .locator('.rows tbody tr')
    .nth(rows - 1)
    .waitFor()
  expect(await tag.inputValue()).toBe('')
  await close()
})

test('a token for some accounts, and an invitation to one, take them from a list by their names; while none is chosen, nothing is made', async () => {
  const { page, go, close } = await enter()
  try {
    const choose = async (field: string, text: string, option: string): Promise<void> => {
      await dialog(page).getByRole('combobox', { name: field, exact: true }).click()
      await page.keyboard.type(text)
      await page.getByRole('option', { name: new RegExp(`^${option} acc_`) }).click()
    }
    await go('/tokens')
    await page.getByRole('button', { name: 'Make a token…' }).click()
    await page.getByLabel('Name').fill('reports')
    await dialog(page).getByLabel('Accounts', { exact: true }).selectOption('some')
    await dialog(page).getByRole('combobox', { name: 'Only these accounts' }).click()
    await page.keyboard.type('Northwind')
    await dialog(page).getByRole('button', { name: 'Make the token' }).click()
    expect(await dialog(page).locator('input:invalid').count(), 'what is typed and not chosen is no account').toBe(1)
    await choose('Only these accounts', 'North', 'Northwind Traders')
    await choose('Only these accounts', 'Conto', 'Contoso')
    expect(await dialog(page).locator('input:invalid').count()).toBe(0)
    await dialog(page).getByRole('button', { name: 'Make the token' }).click()
    await page.locator('.copy-block code').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    const row = page.locator('tbody tr', { hasText: 'reports' })
    await row.waitFor()
    expect(await row.getByRole('link').allTextContents()).toEqual(['Northwind Traders', 'Contoso'])
    await row.getByRole('button', { name: 'Actions for reports' }).click()
    await page.getByRole('button', { name: 'Revoke…' }).click()
    await dialog(page).getByRole('button', { name: 'Revoke it' }).click()
    await row.getByText('revoked').waitFor()
    await go('/people')
    await page.getByRole('button', { name: 'Invite…' }).click()
    await page.getByLabel('E-mail').fill('one@north.example')
    for (const [text, option] of [
      ['Conto', 'Contoso'],
      ['North', 'Northwind Traders'],
    ] as const)
      await choose('Account', text, option)
    await dialog(page).getByRole('button', { name: 'Invite', exact: true }).click()
    await page.locator('.copy-block code').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await page.locator('tbody tr', { hasText: 'one@north.example' }).getByRole('link').allTextContents()).toEqual([
      'Northwind Traders',
    ])
  } finally {
    await close()
  }
})

test('the audit log is narrowed to an account and a person by their names, chosen by keyboard, one of each; what is no name can be typed', async () => {
  const { page, go, close } = await enter()
  try {
    await go('/audit')
    await page.locator('.rows tbody tr').first().waitFor()
    const choose = async (field: string, text: string, option: string): Promise<void> => {
      await page.getByRole('combobox', { name: field }).focus()
      await page.keyboard.type(text)
      await page.getByRole('option', { name: new RegExp(`^${option}( acc_| as it is typed|$)`) }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: `${field}: ${option}: take away` }).waitFor()
    }
    await choose('Account, key or other', 'North', 'Northwind Traders')
    await choose('Account, key or other', 'Conto', 'Contoso')
    await choose('By', 'operator@', 'operator@example.com')
    expect(await page.getByRole('button', { name: /: take away$/ }).count()).toBe(2)
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.waitForURL(/target=/)
    const asked = () => Object.fromEntries(new URL(page.url()).searchParams)
    expect(asked()).toEqual({ target: accounts[1] ?? '', actor: 'person:operator@example.com' })
    await page.reload()
    await page.getByRole('button', { name: 'By: operator@example.com: take away' }).click()
    await page.getByRole('button', { name: 'Account, key or other: Contoso: take away' }).waitFor()
    await choose('By', 'os:nobody', 'os:nobody')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByText('Nothing found').waitFor()
    expect(asked()).toEqual({ target: accounts[1] ?? '', actor: 'os:nobody' })
  } finally {
    await close()
  }
})

test('accounts, keys and outcomes are chosen from lists by keyboard, several at once; their names stand in the form, their ids in the address', async () => {
  const { page, go, close } = await enter()
  try {
    await go('/requests')
    await page.locator('.rows tbody tr').first().waitFor()
    const rows = await page.locator('.rows tbody tr').count()
    const accountField = page.getByRole('combobox', { name: 'Account', exact: true })
    await accountField.focus()
    for (const name of ['North', 'Conto']) {
      await page.keyboard.type(name)
      await page.getByRole('option', { name }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: new RegExp(`^Account: ${name}.*: take away$`) }).waitFor()
      await lookAt(page, `${name} is chosen`)
      await page.keyboard.press('Escape')
    }
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('combobox', { name: 'Outcome' }).click()
    await page.getByRole('option', { name: 'complete' }).click()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Outcome: client left: take away' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Enter')
    await page.waitForURL(/outcome=/)
    const asked = new URL(page.url()).searchParams
    expect([asked.get('account_id'), asked.get('outcome')]).toEqual([`${accounts[0]},${accounts[1]}`, 'complete,leaver'])
    await page.getByText('was found').waitFor()
    await page.reload()
    for (const name of ['Northwind Traders', 'Contoso']) await page.getByRole('button', { name: `Account: ${name}: take away` }).click()
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.waitForURL(({ searchParams }) => !searchParams.has('account_id'))
    await page
      .locator('.rows tbody tr')
      .nth(rows - 1)
      .waitFor()
  } finally {
    await close()
  }
})

test('the margin begins by day: its form says so, and each row names its day', async () => {
  const { page, go, close } = await enter()
  const days = [dayText(dayAt(Date.now() - 60_000)), dayText(dayAt(Date.now()))]
  await go('/margin')
  await page.locator('.rows tbody tr').first().waitFor()
  expect(await page.getByLabel('By', { exact: true }).inputValue()).toBe('day')
  expect(days).toContain((await page.locator('.rows tbody tr').first().locator('th, td').first().textContent()) ?? '')
  // Its days are UTC, and which they are is seen; a choice of another zone would change no row.
  const [from, to] = [await page.getByLabel('From (UTC)').inputValue(), await page.getByLabel('To (included)').inputValue()]
  expect(days).toContain(to)
  expect(Date.parse(to) - Date.parse(from)).toBe(29 * 86_400_000)
  await page.getByRole('region', { name: `Margin by day, ${from} to ${to}` }).waitFor()
  expect(await page.getByText('Times and days are in').count()).toBe(0)
  await close()
})

/** Of each card of a phone: the share of its width that its longest texts have, how far each value stands below its name, and the names without a value. */
const CARDS = `[...document.querySelectorAll('.as-cards tbody tr')].map((card) => {
  const lines = [...card.querySelectorAll('.card-line')].filter((cell) => cell.getClientRects().length > 0)
  return {
    share: Math.min(...lines.map((cell) => cell.clientWidth / card.clientWidth)),
    below: Math.max(0, ...lines.map((cell) => cell.firstElementChild.getBoundingClientRect().top - cell.getBoundingClientRect().top)),
    empty: lines.filter((cell) => cell.textContent === '').map((cell) => cell.dataset.name),
    broken: [...card.querySelectorAll('[data-name=By] .named > span')].filter((who) => who.clientHeight > 30).map((who) => who.textContent),
  }
})`

test('on a phone long texts of a card have its whole width beside their names, and what has no value has no name', async () => {
  const { page, go, close } = await enter()
  await page.setViewportSize({ width: 320, height: 800 })
  for (const path of ['/audit', '/catalog']) {
    await go(path)
    await page.locator('.as-cards td.card-line').first().waitFor()
    const cards = await page.evaluate<{ share: number; below: number; empty: string[]; broken: string[] }[]>(CARDS)
    expect(cards.length).toBeGreaterThan(2)
    for (const { share, below, empty, broken } of cards) {
      expect([path, empty, broken]).toEqual([path, [], []])
      expect(share).toBeGreaterThan(0.8)
      expect(below).toBeLessThan(6)
    }
  }
  await close()
})

const PAGES = (): readonly string[] => [
  '/accounts',
  `/accounts/${accounts[0]}`,
  '/keys',
  '/people',
  '/codes',
  '/explore',
  '/margin',
  '/tokens',
  '/requests',
  '/requests?only=waived',
  '/audit',
]

test('nothing serious for axe-core in either theme, and nothing wider than the screen of a phone or a desktop', async () => {
  const { page, go, close } = await enter()
  const { reports } = sample.gateway.world
  const found = await reports.ask('test', { kind: 'allReceipts', limit: 1 })
  const requestId = typeof found === 'object' ? found.rows[0]?.requestId : ''
  for (const path of [...PAGES(), `/requests/${requestId}`]) {
    await go(path)
    await page.locator('.rows, .empty').first().waitFor()
    for (const { colorScheme, width } of LOOKS) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      await lookAt(page, `${path}, ${colorScheme}, ${width} px`)
    }
  }
  await close()
})
