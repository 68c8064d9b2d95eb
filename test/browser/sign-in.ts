/** Signs a person in on a page, by a link of the store: an operator of the console, or an owner of the account in its cabinet. */

import type { Page } from 'playwright-core'
import type { TestGateway } from '../support/gateway.ts'

type Who = Readonly<{ email?: string; accountId?: string }>

export async function signIn(
  page: Page,
  gateway: Pick<TestGateway, 'people'>,
  listener: 'console' | 'cabinet',
  { email = 'ann@example.com', accountId = 'acc_north' }: Who = {},
): Promise<void> {
  const people = gateway.people()
  const person = await people.known(email)
  if (listener === 'console') await people.memberships.makeOperator(person.id)
  else await people.memberships.join(person.id, { accountId, role: 'owner' })
  await page.goto(await people.signInLink(listener, person))
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** An operator is signed in, and the overview shows this moment. */
export async function enterConsole(page: Page, gateway: Pick<TestGateway, 'people'>): Promise<void> {
  await signIn(page, gateway, 'console', { email: 'operator@example.com' })
  await page.getByText('Live', { exact: true }).waitFor()
}
