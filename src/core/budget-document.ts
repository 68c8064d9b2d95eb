/** A budget's window as documents say it, to customers and operators alike. Rules: money.md "Budgets". */

import { picos, usdFields } from './money.ts'
import type { WindowBalance } from './spending.ts'
import { isoTime } from './utc.ts'

export const budgetDocument = ({ of, per, capPicos, spentPicos, resetsAt }: WindowBalance) => ({
  of,
  per,
  ...usdFields('limit', capPicos),
  ...usdFields('spent', spentPicos),
  ...usdFields('left', picos(capPicos - spentPicos)),
  resets_at: isoTime(resetsAt),
})
