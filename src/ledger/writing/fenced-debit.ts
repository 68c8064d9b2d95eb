/** A debit of a boot that was fenced is waived: the node that took over may have given to others what it held. Rules: nodes.md "Fencing". */

import { picos, toExactUsdText, ZERO } from '../../core/money.ts'
import type { Debit } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { Engine } from './engine.ts'

/** The answer stays the same until the transaction ends. */
export const isOfFencedBoot = (engine: Pick<Engine, 'isFenced'>, { boot }: Pick<Debit, 'boot'>): boolean =>
  boot !== undefined && engine.isFenced?.(boot) === true

/** The debit of a request whose node was fenced: its client keeps the answer, and the whole price is waived. */
export const fencedDebit = (debit: Debit): Debit => ({
  ...debit,
  outcome: 'recovered',
  costPicos: ZERO,
  waivedPicos: picos(debit.costPicos + debit.waivedPicos),
})

/** Undefined where the node that took over has waived the request already. */
export const faultOfFenced = ({ requestId, costPicos }: Debit, isNew: boolean): LedgerFault | undefined =>
  isNew
    ? { kind: 'node', problem: `${requestId} was settled after its node had been fenced: ${toExactUsdText(costPicos)} USD are waived` }
    : undefined
