/** The result of an operator's write, before its group is committed. Rules: ledger.md "Twice is once". */

import type { Picos } from '../../core/money.ts'
import type { KeysOf } from '../ledger.ts'
import type { Earlier, Repeated } from '../operation.ts'

/**
 * `isNew`: the operation had not been done before. `earlier`: what was done before in its place. `redeemedPicos`: the amount of a code. `repeats`: what was done before under
 * the same Idempotency-Key. `changed`: the keys that may now do more or less than before. `inForcePicos`: the budget that holds after one was set; null: none.
 */
export type UncommittedResult =
  | Readonly<{
      result: 'done'
      isNew: boolean
      earlier?: Earlier
      redeemedPicos?: Picos
      inForcePicos?: Picos | null
      repeats?: Repeated
      changed: readonly KeysOf[]
    }>
  | Readonly<{ result: 'refused'; problem: string; what?: 'token' | 'Idempotency-Key' }>

export const UNCHANGED = { result: 'done', isNew: false, changed: [] } as const
export const done = (...changed: readonly KeysOf[]): UncommittedResult => ({ result: 'done', isNew: true, changed })
export const refused = (problem: string): Extract<UncommittedResult, { result: 'refused' }> => ({ result: 'refused', problem })
