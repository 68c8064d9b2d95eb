/** What memory makes of the answers to settles. Rules: ledger.md "Failing writes", "Spill", "Settles on Postgres". */

import { expect, test } from 'bun:test'
import { picos, ZERO } from '../../src/core/money.ts'
import { RequestEnds } from '../../src/ledger/admission/request-ends.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import type { Writer } from '../../src/ledger/admission/writer.ts'
import type { Debit, Task } from '../../src/ledger/task.ts'
import { holdRequest, settlement } from '../support/ledger.ts'

/** A balance of 100, of which `req_1` has cost 30 that are sent. */
function makeEnds(isShared: boolean) {
  const wallets = new Wallets()
  const names = { keyId: 'key_1', keyNumber: 1, accountId: 'acc_1', accountNumber: 1 }
  const keyBalance = { limitPicos: null, spentPicos: ZERO, balancePicos: picos(100n), lastSyncedAt: 0, toppedUpAt: null }
  wallets.keys.load({ ...names, ...keyBalance, isActive: true, isAccountActive: true, plan: 'default', expiresAt: null })
  wallets.hold(holdRequest('req_1', 'key_1', picos(50n)), 0)
  const debit: Debit | undefined = wallets.settle(settlement('req_1', {}, { costPicos: picos(30n) }))
  if (debit === undefined) throw new Error('not held')
  const asked: Task[] = []
  const writer = { ask: (task: Task) => Promise.resolve(void asked.push(task)) } as unknown as Writer
  const reads: (readonly string[])[] = []
  const onFault = ({ bug }: { bug: unknown }): never => {
    throw bug
  }
  const ends = new RequestEnds({ wallets, writer, isShared, resync: (keyIds) => reads.push(keyIds), onFault })
  const balance = (): bigint | undefined => wallets.keys.keyBalanceOf('key_1')?.account.balancePicos
  return { ends, wallets, debit, asked, reads, balance }
}

test('alone, what was not written and never sent before is put back at once', () => {
  const { ends, wallets, debit, asked, balance } = makeEnds(false)
  ends.learnSettle(debit, 'unavailable', 'certain')
  expect([balance(), wallets.isSettling('req_1'), ends.isAnyUnknown]).toEqual([100n, false, false])
  ends.resolveAllIndeterminate()
  expect(asked).toEqual([])
})

for (const [where, isShared, failure] of [
  ['of a shared ledger', true, 'certain'],
  ['of one that a thread died with', false, 'indeterminate'],
] as const)
  test(`a settle ${where} that was not answered stays spent until it is asked whether it is there`, () => {
    for (const [answer, left, reread] of [
      ['absent', 100n, ''],
      ['settled', 70n, 'key_1'],
    ] as const) {
      const { ends, wallets, debit, asked, reads, balance } = makeEnds(isShared)
      ends.learnSettle(debit, 'unavailable', failure)
      expect([balance(), wallets.isSettling('req_1'), ends.isAnyUnknown]).toEqual([70n, true, true])
      ends.resolveAllIndeterminate()
      expect(asked).toEqual([{ kind: 'dropCheckpoint', requestId: 'req_1' }])
      ends.learnDropped('req_1', 'unavailable')
      expect([balance(), ends.isAnyUnknown]).toEqual([70n, true])
      ends.learnDropped('req_1', answer)
      expect([balance(), wallets.isSettling('req_1'), ends.isAnyUnknown, reads.join()]).toEqual([left, false, false, reread])
    }
  })

test('a settle that the spill kept is spent meanwhile; replayed it may have come to other figures, so that its wallet is read again', () => {
  const { ends, wallets, debit, reads, balance } = makeEnds(false)
  ends.learnSettle(debit, 'spilled', 'certain')
  expect([balance(), wallets.isSettling('req_1'), reads]).toEqual([70n, true, []])
  ends.learnReplayed(['req_1', 'req_of_another_run'])
  expect([balance(), wallets.isSettling('req_1'), reads]).toEqual([70n, false, [['key_1']]])
})
