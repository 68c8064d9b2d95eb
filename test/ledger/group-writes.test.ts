/** In one group, what comes behind a settle or a mark finds it done. Rules: ledger.md "Group commit", "Failing writes". */

import { expect, test } from 'bun:test'
import { NO_USAGE } from '../../src/core/usage.ts'
import type { Task } from '../../src/ledger/task.ts'
import { createKey, holdTask, NOW, openMachine, operateTask, settlement, usd } from '../support/ledger.ts'

const IDS = ['settled', 'voided', 'settled_later']

function openWithMarks() {
  const machine = openMachine()
  const progress = { usage: NO_USAGE, usageSource: 'none' } as const
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  for (const requestId of IDS) {
    machine.ask(holdTask(requestId, 'key_a', usd('0.01')))
    machine.ask({ kind: 'mark', requestId, progress, now: NOW })
  }
  const idsIn = (table: string): unknown[] => machine.db.query(`SELECT request_id FROM ${table} ORDER BY request_id`).values().flat()
  return { machine, idsIn }
}
const unmarks = IDS.map((requestId): Task => ({ kind: 'unmark', requestId }))

test('who takes a mark away behind the settle of its request, in the same group, is told of the receipt', () => {
  const { machine, idsIn } = openWithMarks()
  const settle = (requestId: string): Task[] => {
    const debit = machine.wallets.settle(settlement(requestId, { input: 1 }))
    return debit === undefined ? [] : [{ kind: 'settle', debit }]
  }
  const applied = machine.ledger.apply([...settle('settled'), ...unmarks, ...settle('settled_later')])
  expect(applied).toMatchObject({ kind: 'applied', answers: ['settled', 'settled', 'absent', 'absent', 'settled'] })
  expect([idsIn('receipts'), idsIn('marks')]).toEqual([['settled', 'settled_later'], []])
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('a mark that is taken away in the group in which it comes is not left', () => {
  const { machine, idsIn } = openWithMarks()
  const marks = machine.wallets.marks().map((mark): Task => ({ kind: 'mark', mark, now: NOW }))
  const applied = machine.ledger.apply([...marks, ...unmarks])
  expect(applied).toMatchObject({ answers: ['marked', 'marked', 'marked', 'absent', 'absent', 'absent'] })
  expect(idsIn('marks')).toEqual([])
  machine.close()
})
