/** Builds operations on accounts from what people enter, for the command line and the pages alike. Rules: operator.md "Credits". */

import { type Picos, picos, ZERO } from '../../core/money.ts'
import type { CreditKind, OperationOf, TopUp } from '../operation.ts'

/** `usd`: the amount as it is typed, which is positive also for a refund. `ref`: '' if there is none. */
export type WantedCredit = Readonly<{ accountId: string; creditId: string; creditKind: CreditKind; usd: Picos; ref: string }>

export const creditOf = ({ usd, ...wanted }: WantedCredit, now: number): OperationOf<'credit'> => ({
  kind: 'credit',
  ...wanted,
  amountPicos: wanted.creditKind === 'refund' ? picos(-usd) : usd,
  now,
})

/** The first credit of a new account or key; null: there is none. */
export const firstTopUp = (creditId: string, balance: Picos, ref: string): TopUp | null =>
  balance === ZERO ? null : { creditId, amountPicos: balance, ref }
