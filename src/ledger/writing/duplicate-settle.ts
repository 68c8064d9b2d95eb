/**
 * Handles a settle for a request that already has a receipt. With the same figures nothing is to be done. With other figures the receipt stays as it is, and
 * the operator is told. If another process wrote the receipt, the difference is booked as a correction, so that the account pays what its client was told. If
 * this process wrote it, nothing is booked, because a request is charged once. Rules: ledger.md "Twice is once".
 */

import { type Picos, picos, toExactUsdText, ZERO } from '../../core/money.ts'
import type { Usage } from '../../core/usage.ts'
import { PROGRAM } from '../operation.ts'
import { appendCredit } from '../operations/credits.ts'
import type { Statements } from '../sql/statements.ts'
import type { Debit } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { Debits } from './debits.ts'
import type { Engine } from './engine.ts'

/** `fault` is present when the figures differ; the operator is told of it. */
export type DuplicateSettle = Readonly<{ answer: 'already' | 'corrected'; fault?: LedgerFault }>

/** To be called inside a transaction. Writes all rows that wait in `debits`. */
export function settleDuplicate({ statements, boot }: Pick<Engine, 'statements' | 'boot'>, debits: Debits, debit: Debit): DuplicateSettle {
  debits.flush()
  const duplicate = compare(statements, boot, debit)
  debits.reread()
  return duplicate
}

function compare(statements: Statements, boot: number, debit: Debit): DuplicateSettle {
  const { requestId, accountNumber, costPicos, now } = debit
  const receipt = statements.receiptFigures.get({ requestId })
  if (receipt === undefined || isSame(receipt, debit)) return { answer: 'already' }
  const paid = receipt.accountNumber === accountNumber ? receipt.costPicos : ZERO
  const id = `correction_${requestId}`
  const amount = picos(paid - costPicos)
  const problem = `a receipt of ${requestId} was there with other figures: ${usd(paid)} USD where ${usd(costPicos)} USD was settled`
  const needsNoCorrection = amount === ZERO || receipt.bootNumber === boot || statements.creditById.get({ id }) !== undefined
  if (needsNoCorrection) return { answer: 'already', fault: { problem } }
  const act = { ...PROGRAM, reason: problem }
  const { actor, reason } = act
  appendCredit(statements, { id, account: accountNumber, kind: 'correction', amount, ref: '', actor, reason, now })
  const accountId = statements.accountByNumber.get({ account: accountNumber })?.id ?? ''
  const before = JSON.stringify({ costUsd: usd(paid) })
  const after = JSON.stringify({ creditId: id, kind: 'correction', usd: usd(amount), ref: '', costUsd: usd(costPicos) })
  statements.insertAudit.run({ now, ...act, action: 'credit', target: accountId, before, after })
  return { answer: 'corrected', fault: { problem: `${problem}; the difference is booked as ${id}` } }
}

type Figures = Readonly<{ accountNumber: number; keyNumber: number; costPicos: Picos; waivedPicos: Picos }> & Readonly<{ usage: Usage }>

const COUNTERS: readonly (keyof Usage)[] = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h', 'serverToolUses']

const isSame = (a: Figures, b: Figures): boolean =>
  a.accountNumber === b.accountNumber &&
  a.keyNumber === b.keyNumber &&
  a.costPicos === b.costPicos &&
  a.waivedPicos === b.waivedPicos &&
  COUNTERS.every((counter) => a.usage[counter] === b.usage[counter])

const usd = toExactUsdText
