/**
 * Protects nodes.md "After a failover": an operator's act that is in the rows is found there, whatever it did, and one that is not is not taken for another of the same
 * moment. Otherwise a connection that was lost would be told as a failover, and a failover would lose money in silence.
 */

import { afterEach, expect } from 'bun:test'
import type { Operation } from '../../../src/ledger/operation.ts'
import { isActThere } from '../../../src/ledger/postgres/lost-rows.ts'
import { atEnd, endAll, openNode } from '../../support/failover.ts'
import { sha256, usd } from '../../support/ledger.ts'
import { postgresTest } from '../../support/postgres.ts'
import { connectPostgres, createPostgresLedger } from '../../support/postgres-connection.ts'

afterEach(endAll)

const NOW = 1_800_000_000_000
const ACT = { actor: 'os:ada', address: '', reason: 'r' }
const topUp = (creditId: string, amount = '5') => ({ creditId, amountPicos: usd(amount), ref: '' })
const key = { plan: 'default', display: 'sk-…1', limitPicos: null, expiresAt: null, topUp: null }

/** One of each kind, all of one moment, in an order in which each can be done. */
const OPERATIONS = (
  [
    { kind: 'createAccount', accountId: 'acc_1', name: 'Ada', topUp: topUp('credit_1') },
    { kind: 'credit', creditKind: 'top-up', accountId: 'acc_1', ...topUp('credit_2') },
    { kind: 'createKey', keyId: 'key_1', secretHash: sha256('1'), name: 'k', accountId: 'acc_1', ownAccountId: 'acc_x', ...key },
    { kind: 'renameAccount', accountId: 'acc_1', name: 'Eve' },
    { kind: 'renameKey', keyId: 'key_1', name: 'l' },
    { kind: 'setKeyLimit', keyId: 'key_1', limitPicos: usd('1') },
    { kind: 'setKeyExpiry', keyId: 'key_1', expiresAt: NOW + 1_000_000 },
    { kind: 'rotateKey', keyId: 'key_1', secretHash: sha256('2'), display: 'sk-…2', oldValidUntil: NOW },
    {
      kind: 'createCodes',
      batchId: 'batch_1',
      name: 'b',
      amountPicos: usd('2'),
      expiresAt: null,
      codes: ['a', 'b'].map((code) => ({ codeHash: sha256(code), display: code })),
    },
    { kind: 'redeemCode', codeHash: sha256('a'), accountId: 'acc_1', creditId: 'credit_3' },
    { kind: 'disableCodes', batchId: 'batch_1' },
    { kind: 'setKeyActive', keyId: 'key_1', isActive: false },
    { kind: 'setAccountActive', accountId: 'acc_1', isActive: false },
    { kind: 'setUpstreamOut', upstream: 'main', isOut: true },
    { kind: 'setAccess', email: 'a@b.example', accountId: null, access: 'operator' },
    { kind: 'setAccess', email: 'c@b.example', accountId: 'acc_1', access: 'reader' },
    { kind: 'giveLink', email: 'a@b.example', link: 'sign-in', listener: 'console' },
    { kind: 'setChat', email: 'a@b.example', accountId: 'acc_1', chat: '7', state: 'linked' },
  ] as const
).map((operation): Operation => ({ ...operation, now: NOW }) as Operation)

/** The same of the same moment, of what is not there. */
const twinOf = (operation: Operation): Operation =>
  Object.fromEntries(
    Object.entries(operation).map(([name, value]) => [
      name,
      ['accountId', 'keyId', 'batchId', 'creditId', 'upstream', 'email'].includes(name) && value !== null ? `${value}_2` : value,
    ]),
  ) as Operation

postgresTest('each act is found by what it changed, and another of the same moment, actor and reason is not', async () => {
  const url = await createPostgresLedger()
  const { ledger } = await openNode(url, 'a')
  for (const operation of OPERATIONS)
    expect([operation.kind, await ledger.operate(operation, ACT)]).toMatchObject([operation.kind, { result: 'done' }])
  const db = connectPostgres(url)
  atEnd(() => db.close())
  const there = (operation: Operation): readonly [string, boolean] => [
    operation.kind,
    isActThere(db, { kind: 'operate', operation, act: ACT }),
  ]
  expect(OPERATIONS.map(there)).toEqual(OPERATIONS.map(({ kind }) => [kind, true]))
  expect(OPERATIONS.map(twinOf).map(there)).toEqual(OPERATIONS.map(({ kind }) => [kind, false]))
})
