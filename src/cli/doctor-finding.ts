/** A finding of `tollgate doctor`: what was checked, its status, a sentence. */

import type { ReportProblem } from '../ledger/reading/account-lists.ts'

/** `warning`: the thing works, but should be looked at. Only `problem` makes the exit code 1. */
export type Finding = Readonly<{ check: string; status: 'ok' | 'warning' | 'problem'; detail: string }>

/** A ledger that the next start would make or migrate is no problem. */
export const unopenedFinding = ({ problem, message }: ReportProblem): Finding => ({
  check: 'ledger',
  status: problem === 'missing' || problem === 'unmigrated' ? 'warning' : 'problem',
  detail: message,
})

/** `place`: where the ledger is; `differences`: how many rows `verify` found to differ. */
export const ledgerFinding = (place: string, differences: number): Finding =>
  differences === 0
    ? { check: 'ledger', status: 'ok', detail: `${place} is readable and in order` }
    : { check: 'ledger', status: 'problem', detail: `${differences} rows differ from what they should be: see \`tollgate verify\`` }
