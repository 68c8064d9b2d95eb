/** In one group, what comes behind a settle or a checkpoint finds it done. Rules: ledger.md "Group commit", "Failing writes". */

import { expect, test } from 'bun:test'
import { NO_USAGE } from '../../src/core/usage.ts'
import type { Task } from '../../src/ledger/task.ts'
import { createKey, holdTask, NOW, openMachine, operateTask, settlement, usd } from '../support/ledger.ts'

const IDS = ['settled', 'voided', 'settled_later']

function openWithCheckpoints() {
  const machine = openMachine()
  const progress = { usage: NO_USAGE, usageSource: 'none' } as const
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  for (const requestId of IDS) {
    machine.ask(holdTask(requestId, 'key_a', usd('0.01')))
    machine.ask({ kind: 'checkpoint', requestId, progress, now: NOW })
  }
  const idsIn = (table: string): unknown[] => machine.db.query(`SELECT request_id FROM ${table} ORDER BY request_id`).values().flat()
  return { machine, idsIn }
}
const drops = IDS.map((requestId): Task => ({ kind: 'dropCheckpoint', requestId }))

test('who takes a checkpoint away behind the settle of its request, in the same group, is told of the receipt', () => {
  const { machine, idsIn } = openWithCheckpoints()
  const settle = (requestId: string): Task[] => {
    const debit = machine.wallets.settle(settlement(requestId, { input: 1 }))
    return debit === undefined ? [] : [{ kind: 'settle', debit }]
  }
  const applied = machine.ledger.apply([...settle('settled'), ...drops, ...settle('settled_later')])
  expect(applied).toMatchObject({ kind: 'applied', answers: ['settled', 'settled', 'absent', 'absent', 'settled'] })
  expect([idsIn('receipts'), idsIn('marks')]).toEqual([['settled', 'settled_later'], []])
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('a checkpoint that is taken away in the group in which it comes is not left', () => {
  const { machine, idsIn } = openWithCheckpoints()
  const checkpoints = machine.wallets.checkpoints().map((checkpoint): Task => ({ kind: 'checkpoint', checkpoint, now: NOW }))
  const applied = machine.ledger.apply([...checkpoints, ...drops])
  expect(applied).toMatchObject({ answers: ['checkpointed', 'checkpointed', 'checkpointed', 'absent', 'absent', 'absent'] })
  expect(idsIn('marks')).toEqual([])
  machine.close()
})
