/** Books with something in them, for tests of the console's pages and for pictures: accounts, keys, credits, people, codes, acts. */

import type { Operation } from '../../src/ledger/operation.ts'
import { creditOf, firstTopUp } from '../../src/ledger/operations/account-writes.ts'
import { newKey } from '../../src/ledger/operations/key-writes.ts'
import { newCodes } from '../../src/ledger/operations/new-codes.ts'
import { newId } from '../../src/ledger/operations/new-id.ts'
import type { TestGateway } from '../support/gateway.ts'
import { usd } from '../support/ledger.ts'

const NAMES = ['Northwind Traders', 'Contoso', 'Fabrikam Research', 'Adventure Works Cycles of the Upper Rhine and Lower Main', 'Litware']

/** The ids of the accounts, the first with all that there can be. */
export async function sampleBooks(gateway: TestGateway): Promise<readonly string[]> {
  const { ledger } = gateway.world
  const act = { actor: 'person:ann@example.com', address: '192.0.2.17', reason: '' }
  const write = async (operation: Operation, reason = ''): Promise<void> => {
    const done = await ledger.operate(operation, { ...act, reason })
    if (done.result !== 'done') throw new Error(JSON.stringify(done))
  }
  const now = Date.now()
  const ids: string[] = []
  for (const name of NAMES) {
    const accountId = newId('acc', now)
    ids.push(accountId)
    await write({ kind: 'createAccount', accountId, name, topUp: firstTopUp(newId('crd', now), usd('250'), `INV-2026-${ids.length}`), now })
    for (const key of ['production', 'ci']) {
      const wanted = { keyId: newId('key', now), name: `${name.split(' ')[0]} ${key}`, accountId, plan: 'default' }
      await write(newKey({ ...wanted, limitPicos: key === 'ci' ? usd('20') : null, expiresInDays: 60, topUp: null }, now).operation)
    }
  }
  const [first = ''] = ids
  const credit = (creditKind: 'refund' | 'correction', amount: string, reason: string) =>
    write(creditOf({ accountId: first, creditId: newId('crd', now), creditKind, usd: usd(amount), ref: '' }, now), reason)
  await credit('refund', '40', 'Paid back on request, ticket 4711')
  await credit('correction', '1.5', 'Compensation for the outage of 12 November')
  await write({ kind: 'setAccountActive', accountId: ids[4] ?? '', isActive: false, now }, 'Unpaid since September')
  const codes = newCodes(20).codes
  await write({
    kind: 'createCodes',
    batchId: newId('batch', now),
    name: 'Winter fair',
    amountPicos: usd('25'),
    expiresAt: now + 8e9,
    codes,
    now,
  })
  const { links, memberships } = gateway.people()
  for (const [email, role] of [
    ['ann@example.com', 'owner'],
    ['bob@example.com', 'reader'],
  ] as const) {
    await links.accept(await links.invite(email, { accountId: first, role }, 'os:root'), {
      signedInAs: undefined,
      name: email.split('@')[0] ?? '',
      password: 'x',
    })
  }
  await links.invite('carol@example.com', { accountId: first, role: 'reader' }, 'person:ann@example.com')
  if ((await memberships.byEmail('ann@example.com')) === undefined) throw new Error('nobody came')
  return ids
}
