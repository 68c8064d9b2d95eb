/**
 * Debits of a group on Postgres: all of them, with their sums, are one statement; the group's checkpoints are one statement, and so are its attempts. The ends of this lane's
 * chains are kept in memory, because no other node extends them. Rules: ledger.md "Settles on Postgres".
 */

import { promptOf } from '../../core/usage.ts'
import { ChainHeads } from '../chain/chain-heads.ts'
import { RECEIPT_WIDTH, SETTLE } from '../columns/receipt.ts'
import type { NodeIdentity } from '../nodes.ts'
import type { Connection, Value } from '../sql/connection.ts'
import type { Numbers } from '../sql/numbers.ts'
import type { Statements } from '../sql/statements.ts'
import type { Calls, InFlightCheckpoint } from '../task.ts'
import type { Debits, Priced } from '../writing/debits.ts'
import { GroupSums } from '../writing/group-sums.ts'
import { callCost } from '../writing/receipt-cost.ts'
import { attemptRow, checkpointRow, countersOf, receiptRow } from '../writing/row-values.ts'
import { columnTexts, INSERT_ATTEMPTS, PUT_CHECKPOINTS } from './settle-call.ts'

/** Thrown when a group that was to be one statement needs more than one. Nothing was written, and the group is begun again as a transaction. */
export class NeedsTransaction extends Error {}

export class PostgresDebits implements Debits {
  readonly #node: NodeIdentity
  readonly #statements: Statements
  readonly #numbers: Numbers
  readonly #heads: ChainHeads
  readonly #isAlone: () => boolean
  readonly #settle
  readonly #putCheckpoints
  readonly #insertAttempts
  #checkpoints: (readonly Value[])[] = []
  #attempts: (readonly Value[])[] = []

  /** `isAlone`: whether the present statement runs without a transaction around it. */
  constructor(db: Connection, statements: Statements, numbers: Numbers, node: NodeIdentity, isAlone: () => boolean) {
    this.#node = node
    this.#statements = statements
    this.#numbers = numbers
    this.#heads = new ChainHeads(statements, node.bootId)
    this.#isAlone = isAlone
    this.#settle = db.query<{ known: readonly string[] | null }, Value[]>(SETTLE)
    this.#putCheckpoints = db.query<undefined, Value[]>(PUT_CHECKPOINTS)
    this.#insertAttempts = db.query<undefined, Value[]>(INSERT_ATTEMPTS)
  }

  insert(debits: readonly Priced[]): readonly boolean[] {
    const first = new Map<string, Priced>()
    for (const priced of debits) if (!first.has(priced.debit.requestId)) first.set(priced.debit.requestId, priced)
    const known = new Set(this.#write([...first.values()]))
    if (known.size > 0) {
      this.#heads.forget()
      for (const { debit } of debits) {
        if (debit.hasCheckpoint && known.has(debit.requestId)) this.#statements.deleteCheckpoint.run(debit.requestId)
      }
      this.#write([...first.values()].filter(({ debit }) => !known.has(debit.requestId)))
    }
    return debits.map((priced) => first.get(priced.debit.requestId) === priced && !known.has(priced.debit.requestId))
  }

  /** Writes all debits, or none of them if some have a receipt already; returns the request ids of these. */
  #write(debits: readonly Priced[]): readonly string[] {
    if (debits.length === 0) return []
    this.#writeWaiting()
    this.#heads.learn(debits.map(({ debit }) => debit))
    const sums = new GroupSums()
    const from = new Map<number, number>()
    const rows = debits.map((priced) => {
      const { debit, price, day } = priced
      const { accountNumber } = debit
      if (!from.has(accountNumber)) from.set(accountNumber, this.#heads.endOf(accountNumber).count)
      const numbers = { price, boot: this.#node.boot, upstream: this.#numbers.upstreamOf(debit.upstream) }
      const { link, values } = receiptRow(priced, numbers, this.#heads)
      this.#heads.append(accountNumber, link)
      sums.add(debit, price, day)
      return values
    })
    const { lane, boot, epoch } = this.#node
    const { known } = this.#settle.get(
      lane,
      boot,
      epoch,
      ...columnTexts(rows, RECEIPT_WIDTH),
      ...columnTexts(
        debits.flatMap(({ debit }) => (debit.hasCheckpoint ? [[debit.requestId]] : [])),
        1,
      ),
      ...columnTexts(claimsOf(debits), 6),
      ...columnTexts(
        [...sums.accounts].map(([account, cost]) => this.#accountRow(account, cost, from.get(account) ?? 0)),
        5,
      ),
      ...columnTexts(
        [...sums.keys].map(([key, { cost, at }]) => [key, cost, at]),
        3,
      ),
      ...columnTexts(daysOf(sums), 13),
    ) ?? { known: null }
    if (known !== null) {
      if (this.#isAlone()) throw new NeedsTransaction()
      return known
    }
    for (const { debit } of debits) {
      if (debit.otherAttempts !== undefined) this.insertAttempts({ ...debit, attempts: debit.otherAttempts })
    }
    return []
  }

  #accountRow(account: number, cost: bigint, from: number): readonly Value[] {
    const { count, blob } = this.#heads.endOf(account)
    return [account, cost, from, count, blob]
  }

  putCheckpoint(checkpoint: InFlightCheckpoint, now: number): void {
    const { requestId, accountNumber, keyNumber, price, otherAttempts } = checkpoint
    if (otherAttempts !== undefined) this.insertAttempts({ requestId, accountNumber, keyNumber, price, attempts: otherAttempts })
    const upstreamCost = checkpoint.upstreamCost === undefined ? null : this.#numbers.priceAt(checkpoint.upstreamCost)
    const upstream = this.#numbers.upstreamOf(checkpoint.upstream)
    const numbers = { price: this.#numbers.priceAt(price), boot: this.#node.boot, upstream, upstreamCost }
    this.#checkpoints.push(checkpointRow(checkpoint, numbers, now))
  }

  insertAttempts(calls: Calls): void {
    const held = this.#numbers.versionAt(calls.price)
    for (const attempt of calls.attempts) {
      const version = this.#numbers.versionFor(held, promptOf(attempt.usage))
      const numbers = { price: this.#numbers.priceOf(version), boot: this.#node.boot, upstream: this.#numbers.upstreamOf(attempt.upstream) }
      const cost = callCost(attempt.upstreamCost, attempt.usage, this.#numbers)
      this.#attempts.push(attemptRow(calls, attempt, numbers, version.rates, cost))
    }
  }

  flush(): void {
    this.#writeWaiting()
  }

  /** Writes waiting checkpoints and attempts. If a group has two checkpoints of a request, only the later one is written, because it says more. */
  #writeWaiting(): void {
    if (this.#checkpoints.length > 0) {
      const checkpoints = [...new Map(this.#checkpoints.map((row) => [row[0], row])).values()]
      this.#putCheckpoints.run(...columnTexts(checkpoints, checkpoints[0]?.length ?? 0))
      this.#checkpoints = []
    }
    if (this.#attempts.length > 0) {
      this.#insertAttempts.run(...columnTexts(this.#attempts, this.#attempts[0]?.length ?? 0), this.#node.lane)
      this.#attempts = []
    }
  }

  forget(): void {
    this.#checkpoints = []
    this.#attempts = []
    this.#heads.forget()
  }

  reread(): void {
    this.#heads.forget()
  }

  committed(): void {
    this.#heads.makeRoom()
  }
}

const claimsOf = (debits: readonly Priced[]): readonly (readonly Value[])[] =>
  debits.flatMap(({ debit: { idempotency, keyNumber, requestId, now } }) =>
    idempotency === undefined ? [] : [[keyNumber, idempotency.headerHash, idempotency.bodyHash, requestId, idempotency.expiresAt, now]],
  )

const daysOf = ({ days }: GroupSums): readonly (readonly Value[])[] =>
  days.map(({ key, day, price, requests, cost, waived, estimated, ...usage }) => [
    ...[key, day, price, requests],
    ...countersOf(usage),
    ...[cost, waived, estimated],
  ])
