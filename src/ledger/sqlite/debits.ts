/**
 * Debits of a group in a file: each receipt is one insert; account, key and day are each updated once, with the sums. Rules: ledger.md "Group commit"; a debit's cost is a
 * row of bench/ledger.bench.ts.
 */

import { promptOf } from '../../core/usage.ts'
import { ChainHeads } from '../chain/chain-heads.ts'
import type { Idempotency } from '../ledger.ts'
import type { Numbers } from '../sql/numbers.ts'
import type { Statements } from '../sql/statements.ts'
import type { Calls, Debit, InFlightCheckpoint } from '../task.ts'
import type { Debits, Priced } from '../writing/debits.ts'
import { GroupSums } from '../writing/group-sums.ts'
import { callCost } from '../writing/receipt-cost.ts'
import { attemptRow, checkpointRow, countersOf, receiptRow } from '../writing/row-values.ts'
import { BesideSums } from './beside-sums.ts'
import type { DebitStatements } from './debit-statements.ts'

export class SqliteDebits implements Debits {
  readonly #statements: DebitStatements
  readonly #numbers: Numbers
  readonly #boot: number
  readonly #heads: ChainHeads
  /** The sums of the receipts that were written since the last `flush`. */
  readonly #sums = new GroupSums()
  readonly #besides: BesideSums

  constructor(own: DebitStatements, statements: Statements, numbers: Numbers, boot: Readonly<{ number: number; id: string }>) {
    this.#statements = own
    this.#numbers = numbers
    this.#boot = boot.number
    this.#heads = new ChainHeads(statements, boot.id)
    this.#besides = new BesideSums(own)
  }

  insert(debits: readonly Priced[]): readonly boolean[] {
    return debits.map((priced) => this.#insert(priced))
  }

  #insert(priced: Priced): boolean {
    const { debit, price, day } = priced
    const numbers = { price, boot: this.#boot, upstream: this.#numbers.upstreamOf(debit.upstream) }
    const { link, values } = receiptRow(priced, numbers, this.#heads)
    const { changes } = this.#statements.insertReceipt.run(values)
    if (debit.hasCheckpoint) this.#statements.deleteCheckpoint.run(debit.requestId)
    if (changes === 0) return false
    this.#heads.append(debit.accountNumber, link)
    if (debit.otherAttempts !== undefined) this.insertAttempts({ ...debit, attempts: debit.otherAttempts })
    if (debit.idempotency !== undefined) this.#putIdempotency(debit, debit.idempotency)
    this.#sums.add(debit, price, day)
    this.#besides.add(priced, numbers.upstream)
    return true
  }

  putCheckpoint(checkpoint: InFlightCheckpoint, now: number): void {
    const { requestId, accountNumber, keyNumber, price, otherAttempts } = checkpoint
    if (otherAttempts !== undefined) this.insertAttempts({ requestId, accountNumber, keyNumber, price, attempts: otherAttempts })
    const { boot = this.#boot, upstream } = checkpoint
    const upstreamCost = checkpoint.upstreamCost === undefined ? null : this.#numbers.priceAt(checkpoint.upstreamCost)
    const numbers = { price: this.#numbers.priceAt(price), boot, upstream: this.#numbers.upstreamOf(upstream), upstreamCost }
    this.#statements.putCheckpoint.run(...checkpointRow(checkpoint, numbers, now))
  }

  insertAttempts(calls: Calls): void {
    const held = this.#numbers.versionAt(calls.price)
    for (const attempt of calls.attempts) {
      const version = this.#numbers.versionFor(held, promptOf(attempt.usage))
      const numbers = { price: this.#numbers.priceOf(version), boot: this.#boot, upstream: this.#numbers.upstreamOf(attempt.upstream) }
      const cost = callCost(attempt.upstreamCost, attempt.usage, this.#numbers)
      const { changes } = this.#statements.insertAttempt.run(...attemptRow(calls, attempt, numbers, version.rates, cost))
      if (changes > 0 && cost !== undefined) this.#besides.addCall(calls.accountNumber, attempt, numbers.upstream, cost)
    }
  }

  #putIdempotency({ keyNumber, requestId, now }: Debit, { headerHash, bodyHash, expiresAt }: Idempotency): void {
    this.#statements.putIdempotency.run(keyNumber, headerHash, bodyHash, requestId, expiresAt, now)
  }

  flush(): void {
    const { debitAccount, debitKey, addUsage, addKeyHour, addAccountHour } = this.#statements
    const { accounts, keys, days, hours } = this.#sums
    for (const [account, cost] of accounts) {
      const { count, blob } = this.#heads.endOf(account)
      debitAccount.run(account, cost, count, blob)
    }
    for (const [key, { cost, at }] of keys) debitKey.run(key, cost, at)
    for (const { key, day, price, requests, cost, waived, estimated, ...usage } of days) {
      addUsage.run(key, day, price, requests, ...countersOf(usage), cost, waived, estimated)
    }
    for (const { key, hour, cost } of hours) {
      addKeyHour.run(key, hour, cost)
      addAccountHour.run(key, hour, cost)
    }
    this.#sums.clear()
    this.#besides.flush()
  }

  forget(): void {
    this.#sums.clear()
    this.#besides.forget()
    this.#heads.forget()
  }

  reread(): void {
    this.#heads.forget()
    this.#besides.reread()
  }

  committed(): void {
    this.#heads.makeRoom()
    this.#besides.committed()
  }
}
