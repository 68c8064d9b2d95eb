/** Operations on prepaid codes: making and disabling a batch, redeeming a code. Rules: pages.md "Codes"; ledger.md "Twice is once". */

import { CODES_MAX } from '../../core/limits.ts'
import { BALANCE_PICOS_MAX, type Picos, toExactUsdText, ZERO } from '../../core/money.ts'
import { problemOfName } from '../../core/names.ts'
import type { OperationOf, TopUp } from '../operation.ts'
import { done, refused, UNCHANGED, type UncommittedResult } from './operation-result.ts'
import type { Writing } from './writing.ts'

/** How the reference of a code's credit begins; the batch's id and the code's place in the batch follow. */
export const CODE_REF = 'code:'

/** The same words for every code that cannot be redeemed. */
export const CODE_NOT_VALID = 'the code is not valid'
export const CODE_USED = 'the code was used'

export function createCodes(
  writing: Writing,
  { kind, batchId, name, amountPicos, expiresAt, codes }: OperationOf<'createCodes'>,
): UncommittedResult {
  const { statements, now } = writing
  const existing = statements.codeBatch.get({ batchId })
  if (existing !== undefined) {
    const isSame = existing.name === name && existing.amountPicos === amountPicos && existing.expiresAt === expiresAt
    return isSame ? UNCHANGED : refused(`the id ${batchId} is taken`)
  }
  if (name !== '' && statements.codeBatchByName.get({ name }) !== undefined) return refused(`a batch of codes named "${name}" exists`)
  const problem = (name === '' ? undefined : problemOfName(name)) ?? problemOf(codes.length, amountPicos)
  if (problem !== undefined) return refused(problem)
  statements.insertCodeBatch.run({ id: batchId, name, amount: amountPicos, expiresAt, now })
  const batch = statements.codeBatch.get({ batchId })?.number
  for (const [index, { codeHash, display }] of codes.entries()) {
    const hash = Buffer.from(codeHash)
    if (statements.codeByHash.get({ hash }) !== undefined) return refused('a code is taken')
    statements.insertCode.run({ hash, batch, place: index + 1, display })
  }
  writing.audit(kind, batchId, {}, { name, count: codes.length, usd: toExactUsdText(amountPicos), expiresAt })
  return done()
}

export function disableCodes(writing: Writing, { kind, batchId }: OperationOf<'disableCodes'>): UncommittedResult {
  const { statements, now } = writing
  const batch = statements.codeBatch.get({ batchId })
  if (batch === undefined) return refused(`there is no batch of codes ${batchId}`)
  if (batch.disabledAt !== null) return UNCHANGED
  statements.disableCodeBatch.run({ batchId, now })
  writing.audit(kind, batchId, { isDisabled: false }, { isDisabled: true })
  return done()
}

/**
 * `book` tops up the account. A code that never existed, an expired code and a disabled code are refused in the same words; only the holder of a valid
 * code learns that another account redeemed it first.
 */
export function redeemCode(
  { statements, now }: Writing,
  { codeHash, accountId, creditId }: OperationOf<'redeemCode'>,
  book: (topUp: TopUp) => UncommittedResult,
): UncommittedResult {
  const hash = Buffer.from(codeHash)
  const code = statements.codeByHash.get({ hash })
  const account = statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  if (code === undefined) return refused(CODE_NOT_VALID)
  const { amountPicos } = code
  if (code.creditId !== null) {
    if (code.accountNumber !== account.number) return refused(CODE_USED)
    const isSame = code.creditId === creditId
    return { ...UNCHANGED, redeemedPicos: amountPicos, ...(isSame ? {} : { earlier: { creditId: code.creditId, accountId } }) }
  }
  if (code.disabledAt !== null || (code.expiresAt !== null && code.expiresAt <= now)) return refused(CODE_NOT_VALID)
  const booked = book({ creditId, amountPicos, ref: `${CODE_REF}${code.batchId}-${code.place}` })
  if (booked.result === 'refused') return booked
  if (!booked.isNew) return refused(`the credit id ${creditId} is taken`)
  statements.redeemCode.run({ hash, account: account.number, creditId, now })
  return { ...booked, redeemedPicos: amountPicos }
}

function problemOf(count: number, amount: Picos): string | undefined {
  if (count < 1 || count > CODES_MAX) return `a batch has 1 to ${CODES_MAX} codes`
  return amount <= ZERO || amount > BALANCE_PICOS_MAX
    ? `a code is worth more than 0 and at most ${toExactUsdText(BALANCE_PICOS_MAX)} USD`
    : undefined
}
