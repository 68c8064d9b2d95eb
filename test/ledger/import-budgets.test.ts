/** Protects operator.md "Import" and money.md "Budgets": budgets by window come with their keys, hold from the first request, and are set once. */

import { expect, test } from 'bun:test'
import { HOUR_MS, hourAt, windowAt } from '../../src/core/windows.ts'
import { importedAccount, importedKey, importKeys } from '../support/imports.ts'
import { ACT, holdTask, NOW, openMachine, operateTask, settleTask, usd } from '../support/ledger.ts'
import { isOnPostgres } from '../support/store-choice.ts'

const DAYS = importedKey('sk-of-the-key-by-day', 'exact', { keyId: 'key_day', budget: { per: 'day', capPicos: usd('0.000001') } })
const OTHER = importedKey('sk-of-the-other-key', 'exact', { keyId: 'key_other' })
const ALICE = importedAccount('user:alice', [DAYS, OTHER], { budget: { per: 'month', capPicos: usd('2') } })
const endsAt = (per: 'day' | 'month'): number => windowAt(per, hourAt(NOW)).end * HOUR_MS

test('a budget that came refuses what is above it, and is that of the account or of the key alone', () => {
  const machine = openMachine()
  try {
    // There the ledger reads windows by the server's clock, which knows nothing of the test's.
    if (isOnPostgres()) machine.db.run(`CREATE OR REPLACE FUNCTION clock_ms() RETURNS BIGINT LANGUAGE sql AS 'SELECT ${NOW}::BIGINT'`)
    expect(machine.ask(operateTask(importKeys([ALICE], { now: NOW })))).toEqual({ result: 'done' })
    expect(machine.ask(holdTask('req_1', 'key_day', usd('0.1')))).toBe('held')
    machine.ask(settleTask('req_1', { input: 1_000 }))
    expect(machine.ask(holdTask('req_2', 'key_day', usd('0.1')))).toMatchObject({ per: 'day', resetsAt: endsAt('day') })
    expect(machine.ask(holdTask('req_3', 'key_other', usd('0.1')))).toBe('held')
    machine.ask(settleTask('req_3', { input: 1_000_000 }))
    expect(machine.ask(holdTask('req_4', 'key_other', usd('0.1')))).toMatchObject({ per: 'month', resetsAt: endsAt('month') })
    expect(machine.differences()).toEqual([])
  } finally {
    machine.close()
  }
})

test('a second import sets no budget again: what an operator changed since stays, and a later key alone brings its own', () => {
  const machine = openMachine()
  const rows = () => machine.db.query('SELECT per, set_by, cap_picos, key_number > 0 FROM budgets ORDER BY key_number, per').values()
  const linesOf = () => machine.db.query("SELECT target FROM audit_log WHERE action = 'setBudget' ORDER BY id").values().flat()
  try {
    machine.ask(operateTask(importKeys([ALICE], { now: NOW })))
    expect(linesOf()).toEqual(['acc_user:alice', 'key_day'])
    const change = {
      kind: 'setBudget',
      accountId: 'acc_user:alice',
      keyId: null,
      per: 'month',
      capPicos: usd('7'),
      setBy: 'operator',
    } as const
    machine.ask(operateTask({ ...change, now: NOW }))
    const before = rows()
    expect(before).toHaveLength(2)
    expect(machine.ask(operateTask(importKeys([ALICE], { now: NOW }), ACT))).toEqual({ result: 'done' })
    expect(rows()).toEqual(before)
    const later = importedKey('sk-of-a-later-key', 'exact', { keyId: 'key_later', budget: { per: 'hour', capPicos: usd('1') } })
    expect(machine.ask(operateTask(importKeys([{ ...ALICE, keys: [...ALICE.keys, later] }], { now: NOW })))).toEqual({ result: 'done' })
    expect(linesOf()).toEqual(['acc_user:alice', 'key_day', 'acc_user:alice', 'key_later'])
    expect(rows()).toHaveLength(3)
    expect(rows()).toEqual(expect.arrayContaining([...before]))
  } finally {
    machine.close()
  }
})
