/** In a file, the sums of a group's receipts that only some of them count in: by tag, and by what their calls cost us. Rules: ledger.md "Roll-ups"; money.md "What a call costs us". */

import { NO_USAGE, type Usage } from '../../core/usage.ts'
import { dayAt } from '../../core/utc.ts'
import type { Attempt } from '../ledger.ts'
import type { Priced } from '../writing/debits.ts'
import type { CallCost } from '../writing/receipt-cost.ts'
import { countersOf } from '../writing/row-values.ts'
import type { DebitStatements } from './debit-statements.ts'
import { RolledTags } from './rolled-tags.ts'

type Margin = {
  readonly ids: readonly [day: number, account: number, cost: number, upstream: number]
  requests: number
  calls: number
  cost: bigint
  waived: bigint
  upstreamCost: bigint
  callsCost: bigint
  cacheLost: bigint
}

type Tagged = {
  readonly ids: readonly [key: number, day: number, price: number, tag: string]
  requests: number
  readonly usage: { -readonly [Counter in keyof Usage]: number }
  cost: bigint
  waived: bigint
  estimated: bigint
}

type Own = Pick<DebitStatements, 'addMargin' | 'addTagUsage' | 'tagsOfDay'>

export class BesideSums {
  readonly #statements: Own
  readonly #rolledTags: RolledTags
  readonly #margins = new Map<string, Margin>()
  readonly #tags = new Map<string, Tagged>()

  constructor(statements: Own) {
    this.#statements = statements
    this.#rolledTags = new RolledTags(statements)
  }

  /** `upstream`: the number of the one that answered. */
  add({ debit, price, day, cost: own }: Priced, upstream: number | null): void {
    if (own.upstreamCostNumber !== null && upstream !== null) {
      const margin = this.#marginOf([day, debit.accountNumber, own.upstreamCostNumber, upstream])
      margin.requests++
      margin.cost += debit.costPicos
      margin.waived += debit.waivedPicos
      margin.upstreamCost += own.upstreamCostPicos ?? 0n
      margin.cacheLost += own.cacheLostPicos ?? 0n
    }
    if (debit.tag === undefined) return
    const tagged = this.#taggedOf(debit.keyNumber, day, price, debit.tag)
    tagged.requests++
    for (const counter of COUNTERS) tagged.usage[counter] += debit.usage[counter]
    tagged.cost += debit.costPicos
    tagged.waived += debit.waivedPicos
    if (debit.usageSource === 'estimated') tagged.estimated += debit.costPicos
  }

  /** A call that no receipt covers counts on the day on which it began. */
  addCall(account: number, { startedAt }: Attempt, upstream: number | null, cost: CallCost): void {
    if (upstream === null) return
    const margin = this.#marginOf([dayAt(startedAt), account, cost.number, upstream])
    margin.calls++
    margin.callsCost += cost.picos
  }

  flush(): void {
    const { addMargin, addTagUsage } = this.#statements
    for (const { ids, requests, calls, cost, waived, upstreamCost, callsCost, cacheLost } of this.#margins.values())
      addMargin.run(...ids, requests, calls, cost, waived, upstreamCost, callsCost, cacheLost)
    for (const { ids, requests, usage, cost, waived, estimated } of this.#tags.values())
      addTagUsage.run(...ids, requests, ...countersOf(usage), cost, waived, estimated)
    this.#clear()
  }

  /** To be called after a rollback, when no row of the sums was written. */
  forget(): void {
    this.#clear()
    this.#rolledTags.forget()
  }

  /** To be called when others may have written roll-ups and no sum waits. */
  reread(): void {
    this.#rolledTags.forget()
  }

  /** To be called after a commit, between transactions. */
  committed(): void {
    this.#rolledTags.makeRoom()
  }

  #clear(): void {
    if (this.#margins.size > 0) this.#margins.clear()
    if (this.#tags.size > 0) this.#tags.clear()
  }

  #marginOf(ids: Margin['ids']): Margin {
    const name = ids.join(' ')
    const known = this.#margins.get(name)
    if (known !== undefined) return known
    const margin = { ids, requests: 0, calls: 0, cost: 0n, waived: 0n, upstreamCost: 0n, callsCost: 0n, cacheLost: 0n }
    this.#margins.set(name, margin)
    return margin
  }

  #taggedOf(key: number, day: number, price: number, tag: string): Tagged {
    const rolled = this.#rolledTags.rolledOf(key, day, tag)
    const name = `${key} ${day} ${price} ${rolled}`
    const known = this.#tags.get(name)
    if (known !== undefined) return known
    const tagged: Tagged = { ids: [key, day, price, rolled], requests: 0, usage: { ...NO_USAGE }, cost: 0n, waived: 0n, estimated: 0n }
    this.#tags.set(name, tagged)
    return tagged
  }
}

const COUNTERS = Object.keys(NO_USAGE) as readonly (keyof Usage)[]
