/**
 * An operator's and a customer's operations on budgets by window, and on the plan that an account's new keys get. A customer's cap holds beside the operator's, and is never above it.
 * Rules: money.md "Budgets"; operator.md "Keys and accounts".
 */

import { BALANCE_PICOS_MAX, type Picos, toExactUsdText, ZERO } from '../../core/money.ts'
import type { OperationOf } from '../operation.ts'
import { done, refused, UNCHANGED, type UncommittedResult } from './operation-result.ts'
import type { Writing } from './writing.ts'

export function setBudget(writing: Writing, operation: OperationOf<'setBudget'>): UncommittedResult {
  const { kind, accountId, keyId, per, capPicos: cap, setBy } = operation
  const { statements } = writing
  const account = statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  const key = keyId === null ? undefined : statements.keyById.get({ keyId })
  if (keyId !== null && key?.accountNumber !== account.number) return refused(`there is no key ${keyId} of this account`)
  if (cap !== null && (cap < ZERO || cap > BALANCE_PICOS_MAX))
    return refused(`a budget is between 0 and ${toExactUsdText(BALANCE_PICOS_MAX)} USD`)
  const of = { account: account.number, key: key?.number ?? 0, per }
  const before = statements.budgetOf.get({ ...of, setBy })?.cap ?? null
  if (setBy === 'customer' && cap !== null) {
    const ceiling = statements.budgetOf.get({ ...of, setBy: 'operator' })?.cap ?? null
    if (ceiling !== null && cap > ceiling)
      return refused(`the operator's budget is ${toExactUsdText(ceiling)} USD per ${per}, and yours may be less, not more`)
  }
  if (before !== cap) {
    if (cap === null) statements.deleteBudget.run({ ...of, setBy })
    else statements.putBudget.run({ ...of, setBy, cap })
    writing.audit(kind, keyId ?? accountId, { per, setBy, usd: usdOrNull(before) }, { per, setBy, usd: usdOrNull(cap) })
  }
  const inForce = { inForcePicos: statements.budgetInForce.get(of)?.cap ?? null }
  if (before === cap) return { ...UNCHANGED, ...inForce }
  // An account's budget is told as one of the account (writing/node-messages.ts): its owner may set it often, and it may have a thousand keys.
  return { result: 'done', isNew: true, changed: keyId === null ? [] : [{ keyId }], ...inForce }
}

export function setAccountPlan(writing: Writing, { kind, accountId, plan }: OperationOf<'setAccountPlan'>): UncommittedResult {
  const account = writing.statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  if (writing.statements.setAccountPlan.run({ accountId, plan }).changes === 0) return UNCHANGED
  writing.audit(kind, accountId, { plan: account.plan }, { plan })
  return done()
}

const usdOrNull = (amount: Picos | null): string | null => (amount === null ? null : toExactUsdText(amount))
