/** An operator's operations on accounts: making, crediting, renaming, switching on and off. Rules: ledger.md "Twice is once"; operator.md "Keys and accounts", "Credits". */

import { BALANCE_PICOS_MAX, type Picos, picos, toExactUsdText, ZERO } from '../../core/money.ts'
import { problemOfName } from '../../core/names.ts'
import type { CreditKind, Earlier, MaybePaidOut, OperationOf, TopUp } from '../operation.ts'
import { CODE_REF } from './code-operations.ts'
import { appendCredit } from './credits.ts'
import { done, refused, UNCHANGED, type UncommittedResult } from './operation-result.ts'
import type { Writing } from './writing.ts'

export function createAccount(
  writing: Writing,
  { accountId, name, topUp }: Omit<OperationOf<'createAccount'>, 'kind' | 'now'>,
): UncommittedResult {
  const existing = writing.statements.account.get({ accountId })
  if (existing !== undefined) return existing.name === name ? UNCHANGED : refused(`the account id ${accountId} is taken`)
  const earlier = topUp === null ? undefined : earlierAccount(writing, name, topUp)
  if (earlier !== undefined) return { ...UNCHANGED, earlier }
  if (name !== '' && writing.statements.accountByName.get({ name }) !== undefined) return refused(`an account named "${name}" exists`)
  writing.statements.insertAccount.run({ id: accountId, name, now: writing.now })
  writing.audit('createAccount', accountId, {}, { name })
  if (topUp === null) return done()
  const credited = creditAccount(writing, accountId, 'top-up', topUp)
  return credited.result === 'refused' || credited.isNew ? credited : refused(`the credit id ${topUp.creditId} is taken`)
}

/** The account of this name that already has this top-up under the same reference, because the command was given twice. */
function earlierAccount(writing: Writing, name: string, { amountPicos, ref }: TopUp): Earlier | undefined {
  const credit = ref === '' ? undefined : writing.statements.creditByRef.get({ ref })
  if (credit === undefined || credit.kind !== 'top-up' || credit.amountPicos !== amountPicos) return undefined
  const account = writing.statements.accountByNumber.get({ account: credit.accountNumber })
  return account?.name === name ? { creditId: credit.id, accountId: account.id } : undefined
}

export function creditAccount(writing: Writing, accountId: string, creditKind: CreditKind, credit: MaybePaidOut): UncommittedResult {
  // Otherwise a top-up with a code's reference would keep that code from being redeemed.
  if (credit.ref.startsWith(CODE_REF)) return refused(`a reference that begins with ${CODE_REF} is that of a code`)
  return book(writing, accountId, creditKind, credit)
}

/** Books a credit. No key counts as changed, because key records have no balance. */
export function book(
  writing: Writing,
  accountId: string,
  creditKind: CreditKind,
  { creditId, amountPicos: amount, ref, isPaidOut = false }: MaybePaidOut,
): UncommittedResult {
  const account = writing.statements.account.get({ accountId })
  const existing = writing.statements.creditById.get({ id: creditId })
  const isSame = (credit: NonNullable<typeof existing>): boolean =>
    credit.accountNumber === account?.number && credit.kind === creditKind && credit.amountPicos === amount && credit.ref === ref
  if (existing !== undefined) return isSame(existing) ? UNCHANGED : refused(`the credit id ${creditId} is taken`)
  if (account === undefined) return refused(`there is no account ${accountId}`)
  const problem = problemOfCredit(creditKind, amount, ref)
  if (problem !== undefined) return refused(problem)
  const earlier = ref === '' ? undefined : writing.statements.creditByRef.get({ ref })
  if (earlier !== undefined) {
    if (isSame(earlier)) return { ...UNCHANGED, earlier: { creditId: earlier.id, accountId } }
    // A token may be bound to accounts, and then learns nothing of a credit of another one.
    const isHidden = writing.act.by !== undefined && earlier.accountNumber !== account.number
    const what = isHidden ? 'before' : `by ${earlier.kind} ${earlier.id} of ${toExactUsdText(earlier.amountPicos)} USD`
    return refused(`the reference "${ref}" was used ${what}`)
  }
  if (creditKind === 'refund' && !isPaidOut && account.balancePicos + amount < ZERO) {
    return refused(`the balance is ${toExactUsdText(account.balancePicos)} USD, and a refund cannot take more; a correction can`)
  }
  const credited = account.creditedPicos + amount
  if (credited > BALANCE_PICOS_MAX || credited < -BALANCE_PICOS_MAX) {
    return refused(`an account's credits may come to ${toExactUsdText(BALANCE_PICOS_MAX)} USD at most`)
  }
  const { number, balancePicos } = account
  const { actor, reason } = writing.act
  appendCredit(writing.statements, { id: creditId, account: number, kind: creditKind, amount, ref, actor, reason, now: writing.now })
  const after = { creditId, kind: creditKind, usd: toExactUsdText(amount), ref }
  const balanceAfter = toExactUsdText(picos(balancePicos + amount))
  writing.audit('credit', accountId, { balanceUsd: toExactUsdText(balancePicos) }, { ...after, balanceUsd: balanceAfter })
  return done()
}

export function setAccountActive(writing: Writing, { kind, accountId, isActive }: OperationOf<'setAccountActive'>): UncommittedResult {
  const account = writing.statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  if (writing.statements.setAccountActive.run({ accountId, isActive: isActive ? 1 : 0 }).changes === 0) return UNCHANGED
  writing.audit(kind, accountId, { isActive: account.isActive }, { isActive })
  return done({ accountId })
}

export function setAccountTags(writing: Writing, { kind, accountId, tagsUserIds }: OperationOf<'setAccountTags'>): UncommittedResult {
  const account = writing.statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  if (writing.statements.setAccountTags.run({ accountId, tagsUserIds: tagsUserIds ? 1 : 0 }).changes === 0) return UNCHANGED
  writing.audit(kind, accountId, { tagsUserIds: !tagsUserIds }, { tagsUserIds })
  return done({ accountId })
}

export function renameAccount(writing: Writing, { kind, accountId, name }: OperationOf<'renameAccount'>): UncommittedResult {
  const account = writing.statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  if (account.name === name) return UNCHANGED
  const problem = problemOfName(name)
  if (problem !== undefined) return refused(problem)
  if (writing.statements.accountByName.get({ name }) !== undefined) return refused(`an account named "${name}" exists`)
  writing.statements.renameAccount.run({ accountId, name })
  writing.audit(kind, accountId, { name: account.name }, { name })
  return done()
}

function problemOfCredit(kind: CreditKind, amount: Picos, ref: string): string | undefined {
  if (ref.trim() !== ref) return 'a reference has no spaces around it'
  if (amount === ZERO) return `a ${kind} must not be 0`
  if (kind === 'top-up' && amount < ZERO) return 'a top-up adds to the balance; a refund or a correction takes from it'
  return kind === 'refund' && amount > ZERO ? 'a refund takes from the balance' : undefined
}
