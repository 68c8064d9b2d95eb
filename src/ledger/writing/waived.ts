/** A debit of a boot that was fenced: whoever took over may have given to others what it held. Rules: nodes.md "Fencing". */

import { picos, toExactUsdText, ZERO } from '../../core/money.ts'
import type { Debit, LedgerFault } from '../task.ts'
import type { Engine } from './engine.ts'

/** As it stays until the transaction ends. */
export const isWaived = (engine: Pick<Engine, 'isFenced'>, { boot }: Pick<Debit, 'boot'>): boolean =>
  boot !== undefined && engine.isFenced?.(boot) === true

/** Its client has what it was told, and pays nothing. */
export const waivedOf = (debit: Debit): Debit => ({
  ...debit,
  outcome: 'recovered',
  costPicos: ZERO,
  waivedPicos: picos(debit.costPicos + debit.waivedPicos),
})

/** Where whoever took over has waived the request already, nothing is to be said. */
export const faultOfWaived = ({ requestId, costPicos }: Debit, isNew: boolean): LedgerFault | undefined =>
  isNew
    ? { kind: 'node', problem: `${requestId} was settled after its node had been fenced: ${toExactUsdText(costPicos)} USD are waived` }
    : undefined
