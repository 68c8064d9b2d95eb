/** The memory of a simulated world against its books: what each key and account holds, has spent and has left. Rules: money.md "Settle". */

import type { Ledger } from '../../src/ledger/ledger.ts'
import { type Books, must } from './books.ts'
import { WORST_PICOS } from './drawn-requests.ts'

/** `takenBack`: by corrections, of all accounts together. */
export function checkMemory(ledger: Pick<Ledger, 'keyBalanceOf'>, books: Books, takenBack: bigint): void {
  for (const [keyId, key] of books.keys) {
    const keyBalance = ledger.keyBalanceOf(keyId)
    if (keyBalance === undefined) {
      must('a key with holds is in memory', books.heldOf(keyId) === 0n, () => keyId)
      continue
    }
    must(
      'held is what runs',
      keyBalance.heldPicos === books.heldOf(keyId),
      () => `${keyId}: ${keyBalance.heldPicos}, not ${books.heldOf(keyId)}`,
    )
    const heldOfAccount = books.heldOfAccount(key.accountId)
    must(
      'an account’s held is what runs',
      keyBalance.account.heldPicos === heldOfAccount,
      () => `${keyId}: ${keyBalance.account.heldPicos}, not ${heldOfAccount}`,
    )
    if (!books.isCertain(key.accountId)) continue
    const [spent, balance] = [books.spentOf(keyId), books.balanceOf(key.accountId)]
    must('memory spends what was sent', keyBalance.spentPicos === spent, () => `${keyId}: ${keyBalance.spentPicos}, not ${spent}`)
    must(
      'memory keeps the balance',
      keyBalance.account.balancePicos === balance,
      () => `${keyId}: ${keyBalance.account.balancePicos}, not ${balance}`,
    )
    must(
      'memory keeps the limit',
      keyBalance.limitPicos === key.limitPicos,
      () => `${keyId}: ${keyBalance.limitPicos}, not ${key.limitPicos}`,
    )
  }
  for (const [accountId] of books.accounts) {
    if (!books.isCertain(accountId)) continue
    must('no balance ends more than one request below zero', books.balanceOf(accountId) + takenBack > -WORST_PICOS, () => accountId)
  }
}
