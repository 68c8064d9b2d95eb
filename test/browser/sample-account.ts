/** A gateway with an account as it looks after some weeks – credits of every kind, members, alerts, a webhook with a real receiver – and browsers that are signed in there. */

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { picos } from '../../src/core/money.ts'
import type { CreditKind } from '../../src/ledger/operation.ts'
import { newCodes } from '../../src/ledger/operations/new-codes.ts'
import type { Role } from '../../src/people/memberships.ts'
import { type Receiver, startReceiver } from '../alerts/receiver.ts'
import { SECRETS, startFakeStripe } from '../support/fake-stripe.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { usd } from '../support/ledger.ts'

export const ACCOUNT = 'acc_north'

export type SampleAccount = Readonly<{
  gateway: TestGateway
  /** Of the cabinet: a host name. */
  origin: string
  receiver: Receiver
  /** Of 12.50 USD each, as they were given out. */
  codes: readonly string[]
  /** `reason`: of an operator, who tells the customer. */
  credit(kind: CreditKind, amountUsd: string, ref: string, reason?: string): Promise<void>
  /** Somebody with a browser of their own, signed in by a one-time link, on that page of the account. */
  visit(browser: Browser, slug: string, options?: Visit): Promise<Page>
  stop(): Promise<void>
}>

type Visit = BrowserContextOptions & Readonly<{ email?: string; role?: Role; complaints?: string[] }>

export async function sampleAccount(): Promise<SampleAccount> {
  const stripe = startFakeStripe()
  const receiver = startReceiver({ certificate: null })
  const payments = { text: undefined, stripe: { ...SECRETS, minPicos: usd('5'), maxPicos: usd('500') } }
  const gateway = await startTestGateway({ allowPrivate: true, payments, stripeAddress: stripe.address })
  const origin = `http://localhost:${new URL(gateway.url).port}`
  await gateway.operate({ kind: 'createAccount', accountId: ACCOUNT, name: 'Northwind', topUp: null, now: Date.now() })
  const { shown: codes, codes: made } = newCodes(40)
  await gateway.operate({
    kind: 'createCodes',
    batchId: 'batch_spring',
    name: 'spring',
    amountPicos: usd('12.5'),
    expiresAt: null,
    codes: made,
    now: Date.now(),
  })
  let credits = 0
  const credit: SampleAccount['credit'] = (creditKind, amountUsd, ref, reason = '') => {
    const amountPicos = amountUsd.startsWith('-') ? picos(-usd(amountUsd.slice(1))) : usd(amountUsd)
    const credited = {
      kind: 'credit',
      creditKind,
      accountId: ACCOUNT,
      creditId: `crd_${++credits}`,
      amountPicos,
      ref,
      now: Date.now(),
    } as const
    return gateway.operate(credited, { actor: 'person:op@example.com', address: '', reason })
  }
  await credit('top-up', '100', 'invoice 2026-118')
  await credit('refund', '-20', 'credit note 2026-031', 'the outage of Monday')
  await credit('correction', '0.5', '<img src=x onerror=alert(1)>')
  return {
    gateway,
    origin,
    receiver,
    codes,
    credit,
    async visit(browser, slug, { email = 'ann@example.com', role = 'owner', complaints = [], ...options } = {}) {
      const people = gateway.people()
      const person = await people.known(email)
      await people.memberships.join(person.id, { accountId: ACCOUNT, role })
      const page = await (await browser.newContext(options)).newPage()
      page.setDefaultTimeout(10_000)
      page.on('console', (message) => {
        if (message.type() !== 'log' && !/status of [45]\d\d/.test(message.text())) complaints.push(message.text())
      })
      page.on('pageerror', ({ message }) => complaints.push(message))
      await page.goto(await people.signInLink('cabinet', person))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Keys' }).waitFor()
      await page.goto(`${origin}/cabinet/a/${ACCOUNT}/${slug}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      return page
    },
    async stop() {
      await gateway.stop()
      await receiver.stop()
      stripe.stop()
    },
  }
}
