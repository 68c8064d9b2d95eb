/**
 * The operator's writes, each with its line in the audit log. Sent twice, an operation is done once; what cannot be done is refused in words.
 * Rules: ledger.md "Twice is once"; operator.md "Keys and accounts". A refusal leaves half-made rows behind: `SqliteLedger` rolls its savepoint back.
 */

import { KEY_EXPIRY_DAYS_MAX } from '../core/limits.ts'
import { BALANCE_PICOS_MAX, type Picos, toExactUsdText, ZERO } from '../core/money.ts'
import type { Operation } from './operation.ts'
import type { Statements } from './statements.ts'

type OperationOf<K extends Operation['kind']> = Extract<Operation, { kind: K }>

/** `isNew`: it had not been done before. `changed`: the keys that may now do more or less than before. */
export type Performed =
  | Readonly<{ result: 'done'; isNew: boolean; changed: readonly string[] }>
  | Readonly<{ result: 'refused'; problem: string }>

const DAY_MS = 86_400_000
const UNCHANGED: Performed = { result: 'done', isNew: false, changed: [] }
const done = (...changed: readonly string[]): Performed => ({ result: 'done', isNew: true, changed })
const refused = (problem: string): Performed => ({ result: 'refused', problem })

export function operate(statements: Statements, operation: Operation): Performed {
  switch (operation.kind) {
    case 'createAccount':
      return createAccount(statements, operation)
    case 'topUp':
      return topUp(statements, operation)
    case 'setAccountActive':
      return setAccountActive(statements, operation)
    case 'createKey':
      return createKey(statements, operation)
    case 'rotateKey':
      return rotateKey(statements, operation)
    case 'setKeyActive':
    case 'setKeyLimit':
    case 'setKeyExpiry':
      return setOnKey(statements, operation)
  }
}

function createAccount(statements: Statements, { kind, accountId, name, now }: OperationOf<'createAccount'>): Performed {
  const existing = statements.account.get({ accountId })
  if (existing !== undefined) return existing.name === name ? UNCHANGED : refused(`the account id ${accountId} is taken`)
  if (name !== '' && statements.accountByName.get({ name }) !== undefined) return refused(`an account named "${name}" exists`)
  statements.insertAccount.run({ id: accountId, name, now })
  audit(statements, now, kind, accountId, {}, { name })
  return done()
}

/** A negative amount takes back an earlier top-up. A balance is no fact of a key record, so no key has changed. */
function topUp(
  statements: Statements,
  { kind, topUpId, accountId, amountPicos: amount, ref, now }: Omit<OperationOf<'topUp'>, 'kind'> & { kind: string },
): Performed {
  const account = statements.account.get({ accountId })
  const existing = statements.creditById.get({ id: topUpId })
  if (existing !== undefined) {
    const isSame = existing.accountNumber === account?.number && existing.amountPicos === amount && existing.ref === ref
    return isSame ? UNCHANGED : refused(`the top-up id ${topUpId} is taken`)
  }
  if (amount === ZERO) return refused('a top-up must not be 0')
  if (account === undefined) return refused(`there is no account ${accountId}`)
  const earlier = ref === '' ? undefined : statements.creditByRef.get({ ref })
  if (earlier !== undefined) return refused(`the reference "${ref}" was used by top-up ${earlier.id}`)
  const credited = account.creditedPicos + amount
  if (credited > BALANCE_PICOS_MAX || credited < -BALANCE_PICOS_MAX) {
    return refused(`an account's top-ups may come to ${toExactUsdText(BALANCE_PICOS_MAX)} USD at most`)
  }
  const { number } = account
  statements.insertCredit.run({ id: topUpId, account: number, kind: amount > ZERO ? 'top-up' : 'correction', amount, ref, now })
  statements.creditAccount.run({ account: number, amount, now })
  const before = { balanceUsd: toExactUsdText(account.balancePicos) }
  audit(statements, now, kind, accountId, before, { topUpId, usd: toExactUsdText(amount), ref })
  return done()
}

function setAccountActive(statements: Statements, { kind, accountId, isActive, now }: OperationOf<'setAccountActive'>): Performed {
  const account = statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  if (statements.setAccountActive.run({ accountId, isActive: isActive ? 1 : 0 }).changes === 0) return UNCHANGED
  audit(statements, now, kind, accountId, { isActive: account.isActive }, { isActive })
  return done(...statements.keyIdsOfAccount.all({ account: account.number }).map((key) => key.id))
}

function createKey(statements: Statements, operation: OperationOf<'createKey'>): Performed {
  const { kind, keyId, name, plan, limitPicos, expiresAt, topUp: credit, now } = operation
  const hash = Buffer.from(operation.secretHash)
  const owner = statements.secretOwner.get({ hash })
  if (owner?.keyId === keyId) return UNCHANGED
  if (owner !== undefined || statements.keyById.get({ keyId }) !== undefined) return refused(`the key id ${keyId} or its secret is taken`)
  if (name !== '' && statements.keyByName.get({ name }) !== undefined) return refused(`a key named "${name}" exists`)
  const problem = problemOfLimit(limitPicos) ?? problemOfExpiry(expiresAt, now)
  if (problem !== undefined) return refused(problem)

  const accountId = operation.accountId ?? operation.ownAccountId
  if (operation.accountId === null) {
    const own = createAccount(statements, { kind: 'createAccount', accountId, name, now })
    if (own.result === 'refused') return refused(`${own.problem}: name the key otherwise, or put it on that account`)
  }
  const account = statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  statements.insertKey.run({ id: keyId, account: account.number, name, plan, limit: limitPicos, expiresAt, now })
  const key = statements.keyById.get({ keyId })
  statements.insertSecret.run({ hash, key: key?.number, display: operation.display, now })
  audit(statements, now, kind, keyId, {}, { accountId, name, plan, limitUsd: usdOrNull(limitPicos), expiresAt })

  if (credit === null) return done(keyId)
  const credited = topUp(statements, { kind: 'topUp', accountId, ...credit, now })
  if (credited.result === 'refused') return credited
  // A new key's top-up is new: one that was done before would be credited in memory again.
  return credited.isNew ? done(keyId) : refused(`the top-up id ${credit.topUpId} is taken`)
}

/** The old secrets end at `oldValidUntil`, or earlier where an earlier rotation said so. */
function rotateKey(statements: Statements, { kind, keyId, secretHash, display, oldValidUntil, now }: OperationOf<'rotateKey'>): Performed {
  const key = statements.keyById.get({ keyId })
  if (key === undefined) return refused(`there is no key ${keyId}`)
  const hash = Buffer.from(secretHash)
  const owner = statements.secretOwner.get({ hash })
  if (owner !== undefined) return owner.keyId === keyId ? UNCHANGED : refused('the new secret is taken')
  statements.endSecrets.run({ key: key.number, until: oldValidUntil })
  statements.insertSecret.run({ hash, key: key.number, display, now })
  audit(statements, now, kind, keyId, {}, { display, oldValidUntil })
  return done(keyId)
}

function setOnKey(statements: Statements, operation: OperationOf<'setKeyActive' | 'setKeyLimit' | 'setKeyExpiry'>): Performed {
  const { kind, keyId, now } = operation
  const key = statements.keyById.get({ keyId })
  if (key === undefined) return refused(`there is no key ${keyId}`)
  switch (kind) {
    case 'setKeyActive': {
      const { isActive } = operation
      if (statements.setKeyActive.run({ keyId, isActive: isActive ? 1 : 0 }).changes === 0) return UNCHANGED
      audit(statements, now, kind, keyId, { isActive: key.isActive }, { isActive })
      return done(keyId)
    }
    case 'setKeyLimit': {
      const { limitPicos: limit } = operation
      const problem = problemOfLimit(limit)
      if (problem !== undefined) return refused(problem)
      if (statements.setKeyLimit.run({ keyId, limit, now }).changes === 0) return UNCHANGED
      audit(statements, now, kind, keyId, { limitUsd: usdOrNull(key.limitPicos) }, { limitUsd: usdOrNull(limit) })
      return done(keyId)
    }
    case 'setKeyExpiry': {
      const { expiresAt } = operation
      const problem = problemOfExpiry(expiresAt, now)
      if (problem !== undefined) return refused(problem)
      if (statements.setKeyExpiry.run({ keyId, expiresAt }).changes === 0) return UNCHANGED
      audit(statements, now, kind, keyId, { expiresAt: key.expiresAt }, { expiresAt })
      return done(keyId)
    }
  }
}

const problemOfLimit = (limit: Picos | null): string | undefined =>
  limit !== null && (limit < ZERO || limit > BALANCE_PICOS_MAX)
    ? `a limit is between 0 and ${toExactUsdText(BALANCE_PICOS_MAX)} USD`
    : undefined

const problemOfExpiry = (expiresAt: number | null, now: number): string | undefined =>
  expiresAt !== null && expiresAt > now + KEY_EXPIRY_DAYS_MAX * DAY_MS
    ? `a key may expire at most ${KEY_EXPIRY_DAYS_MAX} days ahead`
    : undefined

const usdOrNull = (amount: Picos | null): string | null => (amount === null ? null : toExactUsdText(amount))

type Facts = Readonly<Record<string, unknown>>

function audit(statements: Statements, now: number, action: string, target: string, before: Facts, after: Facts): void {
  statements.insertAudit.run({ now, action, target, before: JSON.stringify(before), after: JSON.stringify(after) })
}
