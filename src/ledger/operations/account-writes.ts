/** Writes of accounts as people mean them, for the command line and the pages alike. Rules: operator.md "Credits". */

import { type Picos, picos, ZERO } from '../../core/money.ts'
import type { CreditKind, OperationOf, TopUp } from '../operation.ts'

/** `usd`: as it is typed: what a refund takes is more than 0. `ref`: '' for none. */
export type WantedCredit = Readonly<{ accountId: string; creditId: string; creditKind: CreditKind; usd: Picos; ref: string }>

export const creditOf = ({ usd, ...wanted }: WantedCredit, now: number): OperationOf<'credit'> => ({
  kind: 'credit',
  ...wanted,
  amountPicos: wanted.creditKind === 'refund' ? picos(-usd) : usd,
  now,
})

/** The first credit of a new account or key; null: none. */
export const firstTopUp = (creditId: string, balance: Picos, ref: string): TopUp | null =>
  balance === ZERO ? null : { creditId, amountPicos: balance, ref }
