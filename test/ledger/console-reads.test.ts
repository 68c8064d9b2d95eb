/** What operators look up: every account and key once and by the beginning of a name, the audit log by who and what, a day over all. Rules: operator.md "Lists". */

import { expect, test } from 'bun:test'
import { sumPicos, ZERO } from '../../src/core/money.ts'
import { costOf } from '../../src/core/pricing.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { dayAt } from '../../src/core/utc.ts'
import { ConsoleReads } from '../../src/ledger/reading/console-reads.ts'
import { mergeSpend, sumSpend } from '../../src/ledger/reading/spend.ts'
import { ACT, createKey, holdTask, type Machine, NOW, openMachine, operateTask, RATES, settleTask, sha256, usd } from '../support/ledger.ts'

const USED = { ...NO_USAGE, input: 10 }
const COST = costOf(USED, RATES)

function openWithNames(...names: readonly string[]): Machine {
  const machine = openMachine()
  names.forEach((name, index) => {
    machine.ask(operateTask({ kind: 'createAccount', accountId: `acc_${index}`, name, topUp: null, now: NOW + index }))
    const display = `sk-…end${index}`
    machine.ask(operateTask(createKey(`key_${index}`, { accountId: `acc_${index}`, name: `${name}-key`, display })))
  })
  return machine
}

function walk<Row>(page: (after: object) => Readonly<{ rows: readonly Row[]; next: string | null }> | undefined): Row[] {
  const rows: Row[] = []
  for (let after = {}; ; ) {
    const found = page(after)
    if (found === undefined) throw new Error('no such page')
    rows.push(...found.rows)
    if (found.next === null) return rows
    after = { after: found.next }
  }
}
const ids = (rows: readonly Readonly<{ id: string }>[]): string[] => rows.map(({ id }) => id)

test('accounts and keys: each once, newest first, and by the beginning of a name or id in any case', () => {
  const machine = openWithNames('acme', 'Acme Labs', 'beta', 'ACME', 'zeta')
  const reads = new ConsoleReads(machine.db)
  const accounts = (search: string) => ids(walk((after) => reads.accounts({ kind: 'accounts', search, limit: 2, ...after })))
  expect(accounts('')).toEqual(['acc_4', 'acc_3', 'acc_2', 'acc_1', 'acc_0'])
  expect(accounts('acme')).toEqual(['acc_0', 'acc_3', 'acc_1'])
  expect(accounts('ACME L')).toEqual(['acc_1'])
  expect(accounts('acc_')).toEqual(['acc_4', 'acc_3', 'acc_2', 'acc_1', 'acc_0'])
  expect(accounts('acc_2')).toEqual(['acc_2'])
  expect(accounts('%')).toEqual([])
  expect(reads.accounts({ kind: 'accounts', after: 'acc_none', limit: 2 })).toBeUndefined()
  const keys = (search: string) => ids(walk((after) => reads.keys({ kind: 'keys', search, limit: 2, ...after })))
  expect(keys('')).toEqual(['key_4', 'key_3', 'key_2', 'key_1', 'key_0'])
  expect(keys('be')).toEqual(['key_2'])
  for (const search of ['end3', 'sk-…end3', '…end3', 'sk-end3']) expect(keys(search)).toEqual(['key_3'])
  expect(keys('acme')).toEqual(['key_1', 'key_0', 'key_3'])
  expect(reads.keys({ kind: 'keys', after: 'key_none', limit: 2 })).toBeUndefined()
  const [first] = reads.accounts({ kind: 'accounts', search: 'beta', limit: 1 })?.rows ?? []
  expect(first).toMatchObject({ id: 'acc_2', name: 'beta', keyCount: 1, hasMoreKeys: false, isActive: true, balancePicos: ZERO } as object)
  machine.close()
})

test('a key whose secret ends so stands once, above those whose name begins so', () => {
  const machine = openWithNames('prod', 'other')
  machine.ask(operateTask(createKey('key_x', { accountId: 'acc_1', name: 'x', display: 'sk-…prod' })))
  const reads = new ConsoleReads(machine.db)
  expect(ids(reads.keys({ kind: 'keys', search: 'prod', limit: 5 })?.rows ?? [])).toEqual(['key_x', 'key_0'])
  machine.close()
})

test('the audit log by actor and action looks at 10,000 lines a page and goes on behind them', () => {
  const machine = openWithNames('acme')
  machine.db.run(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
    INSERT INTO audit_log (at, actor, action, target, after) SELECT ${NOW} + 10 + i, 'os:other', 'setKeyLimit', 'key_0', '{}' FROM n`)
  const reads = new ConsoleReads(machine.db)
  const first = reads.audit({ kind: 'audit', actor: ACT.actor, limit: 10 })
  expect(first.rows).toEqual([])
  const second = reads.audit({ kind: 'audit', actor: ACT.actor, limit: 10, after: first.next ?? '' })
  expect(second.rows.map(({ action }) => action)).toEqual(['createKey', 'createAccount'])
  expect(second.next).toBeNull()
  expect(walk((after) => reads.audit({ kind: 'audit', action: 'createKey', limit: 1, ...after })).map(({ target }) => target)).toEqual([
    'key_0',
  ])
  expect(walk((after) => reads.audit({ kind: 'audit', action: 'setKeyLimit', limit: 5_000, ...after }))).toHaveLength(12_000)
  machine.close()
})

test('a day over all accounts is the sum of its receipts, and alerts see the same by key', () => {
  const machine = openWithNames('acme', 'beta', 'none')
  for (const [index, accountId] of ['acc_0', 'acc_1'].entries())
    machine.ask(
      operateTask({ kind: 'credit', creditKind: 'top-up', creditId: `c${index}`, accountId, amountPicos: usd('1'), ref: '', now: NOW }),
    )
  machine.ask(operateTask({ kind: 'createAccount', accountId: 'acc_empty', name: '', topUp: null, now: NOW }))
  const settle = (id: string, keyId: string, more: object) => {
    machine.ask(holdTask(id, keyId, usd('0.01')))
    expect(machine.ask(settleTask(id, USED, more))).toBe('settled')
  }
  settle('a', 'key_0', {})
  settle('b', 'key_0', { usageSource: 'estimated', bytesPerToken: 4 })
  settle('c', 'key_1', { outcome: 'fault', costPicos: ZERO, waivedPicos: COST })
  const reads = new ConsoleReads(machine.db)
  const day = dayAt(NOW)
  const total = sumSpend(mergeSpend(reads.usageOfDay({ kind: 'usageOfDay', day })?.rows ?? []))
  expect(total).toMatchObject({ requests: 3, costPicos: sumPicos(COST, COST), waivedPicos: COST, estimatedPicos: COST } as object)
  const facts = walk((after) => reads.alertFacts({ kind: 'alertFacts', day, limit: 2, ...after }))
  expect(facts.map(({ accountId, key }) => [accountId, key?.id, key?.spentOfDayPicos])).toEqual([
    ['acc_0', 'key_0', sumPicos(COST, COST)],
    ['acc_1', 'key_1', ZERO],
    ['acc_2', 'key_2', ZERO],
    ['acc_empty', undefined, undefined],
  ])
  expect(reads.alertFacts({ kind: 'alertFacts', day, limit: 2, after: 'x' })).toBeUndefined()
  expect(reads.usageOfDay({ kind: 'usageOfDay', day, after: 'x' })).toBeUndefined()
  expect(reads.receipt({ kind: 'anyReceipt', requestId: 'a' })?.receipt?.keyId).toBe('key_0')
  expect(reads.receipt({ kind: 'anyReceipt', requestId: 'none' })).toBeUndefined()
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('a rotated key is found by the end of either secret', () => {
  const machine = openWithNames('acme')
  machine.ask(
    operateTask({ kind: 'rotateKey', keyId: 'key_0', secretHash: sha256('n'), display: 'sk-…newX', oldValidUntil: NOW + 5, now: NOW }),
  )
  const reads = new ConsoleReads(machine.db)
  for (const search of ['newX', 'end0']) expect(ids(reads.keys({ kind: 'keys', search, limit: 5 })?.rows ?? [])).toEqual(['key_0'])
  machine.close()
})
