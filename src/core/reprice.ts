/** What past receipts would have cost under another catalogue: their own tokens at its prices. Rules: money.md "What if". */

import { type Picos, picos, ZERO } from './money.ts'
import { isWaived, type Outcome } from './outcome.ts'
import { costOf, levelOf, type Prices, ratesAt } from './pricing.ts'
import type { Usage } from './usage.ts'

/** `promptTokens` decides the price level. One of the two amounts is 0. */
export type PastReceipt = Readonly<{ outcome: Outcome; usage: Usage; promptTokens: number; costPicos: Picos; waivedPicos: Picos }>

/** `nowPicos`: the sum that the receipts state. `thenPicos`: their price under the other catalogue. */
type Compared = Readonly<{ receipts: number; nowPicos: Picos; thenPicos: Picos }>

/** Sums over receipts, each of which counts in one of the three. `missing`: receipts for models that the other catalogue does not have; `nowPicos` is what they were charged. */
export type Repriced = Readonly<{ charged: Compared; waived: Compared; missing: Readonly<{ receipts: number; nowPicos: Picos }> }>

/** The receipts of an account for a model. */
export type RepricedRow = Repriced & Readonly<{ accountId: string; accountName: string; modelId: string }>

const NONE: Compared = { receipts: 0, nowPicos: ZERO, thenPicos: ZERO }
export const NOTHING_REPRICED: Repriced = { charged: NONE, waived: NONE, missing: { receipts: 0, nowPicos: ZERO } }

/** `prices`: the prices of the receipt's model in the other catalogue; undefined: that has no such model. */
export function repriced({ outcome, usage, promptTokens, costPicos, waivedPicos }: PastReceipt, prices: Prices | undefined): Repriced {
  if (prices === undefined) return { ...NOTHING_REPRICED, missing: { receipts: 1, nowPicos: costPicos } }
  const thenPicos = costOf(usage, ratesAt(prices, levelOf(prices, promptTokens)))
  // A receipt whose amounts are both 0 counts as waived where its outcome is one that is waived.
  return waivedPicos > ZERO || (costPicos === ZERO && isWaived(outcome))
    ? { ...NOTHING_REPRICED, waived: { receipts: 1, nowPicos: waivedPicos, thenPicos } }
    : { ...NOTHING_REPRICED, charged: { receipts: 1, nowPicos: costPicos, thenPicos } }
}

export const addRepriced = (a: Repriced, b: Repriced): Repriced => ({
  charged: addCompared(a.charged, b.charged),
  waived: addCompared(a.waived, b.waived),
  missing: {
    receipts: a.missing.receipts + b.missing.receipts,
    nowPicos: picos(a.missing.nowPicos + b.missing.nowPicos),
  },
})

const addCompared = (a: Compared, b: Compared): Compared => ({
  receipts: a.receipts + b.receipts,
  nowPicos: picos(a.nowPicos + b.nowPicos),
  thenPicos: picos(a.thenPicos + b.thenPicos),
})

/** The difference in what is charged; above 0, the other catalogue charges more. */
export const differenceOf = ({ charged }: Repriced): Picos => picos(charged.thenPicos - charged.nowPicos)

type OfModel = Repriced & Readonly<{ modelId: string }>
type OfAccount = Repriced & Readonly<{ accountId: string; accountName: string }>

/** Adds up rows as they are read: the memory grows with the number of models and accounts, never with that of receipts. */
export class RepricedSums {
  readonly #models = new Map<string, OfModel>()
  readonly #accounts = new Map<string, OfAccount>()
  #total: Repriced = NOTHING_REPRICED

  add(rows: readonly RepricedRow[]): void {
    for (const row of rows) {
      const { modelId, accountId, accountName } = row
      this.#models.set(modelId, { modelId, ...addRepriced(this.#models.get(modelId) ?? NOTHING_REPRICED, row) })
      this.#accounts.set(accountId, { accountId, accountName, ...addRepriced(this.#accounts.get(accountId) ?? NOTHING_REPRICED, row) })
      this.#total = addRepriced(this.#total, row)
    }
  }

  get total(): Repriced {
    return this.#total
  }

  /** The sums of each model, ordered by its id. */
  models(): readonly OfModel[] {
    return [...this.#models.values()].sort((a, b) => (a.modelId < b.modelId ? -1 : 1))
  }

  /** The sums of each account, the largest difference in either direction first. */
  accounts(): readonly OfAccount[] {
    const sizeOf = (sums: Repriced): bigint => (differenceOf(sums) < 0n ? -differenceOf(sums) : differenceOf(sums))
    return [...this.#accounts.values()].sort((a, b) => {
      const [left, right] = [sizeOf(a), sizeOf(b)]
      if (left !== right) return left > right ? -1 : 1
      return a.accountId < b.accountId ? -1 : 1
    })
  }
}
