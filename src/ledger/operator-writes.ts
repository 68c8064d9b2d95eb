/**
 * The operator's writes, each with its line in the audit log. Sent twice, an operation is done once; what cannot be done is refused in words.
 * Rules: ledger.md "Twice is once"; operator.md "Keys and accounts". A refusal leaves half-made rows behind: `SqliteLedger` rolls its savepoint back.
 */

import { KEY_EXPIRY_DAYS_MAX } from '../core/limits.ts'
import { BALANCE_PICOS_MAX, type Picos, toExactUsdText, ZERO } from '../core/money.ts'
import type { Operation } from './operation.ts'
import type { Statements } from './statements.ts'

type OperationOf<K extends Operation['kind']> = Extract<Operation, { kind: K }>

/** `changed`: the keys that may now do more or less than before. */
export type Operated = Readonly<{ result: 'done'; changed: readonly string[] }> | Readonly<{ result: 'refused'; problem: string }>

const DAY_MS = 86_400_000
const UNCHANGED: Operated = { result: 'done', changed: [] }
const done = (...changed: readonly string[]): Operated => ({ result: 'done', changed })
const refused = (problem: string): Operated => ({ result: 'refused', problem })

export function operate(statements: Statements, operation: Operation): Operated {
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

function createAccount(statements: Statements, { kind, accountId, name, now }: OperationOf<'createAccount'>): Operated {
  const existing = statements.account.get({ accountId })
  if (existing !== undefined) return existing.name === name ? UNCHANGED : refused(`the account id ${accountId} is taken`)
  if (name !== '' && statements.accountByName.get({ name }) !== undefined) return refused(`an account named "${name}" exists`)
  statements.insertAccount.run({ id: accountId, name, now })
  audit(statements, now, kind, accountId, { name })
  return done()
}

/** A negative amount takes back an earlier top-up. A balance is no fact of a key record, so no key has changed. */
function topUp(
  statements: Statements,
  { kind, topUpId, accountId, amountPicos: amount, ref, now }: Omit<OperationOf<'topUp'>, 'kind'> & { kind: string },
): Operated {
  const existing = statements.topUpById.get({ id: topUpId })
  if (existing !== undefined) {
    const isSame = existing.accountId === accountId && existing.amountPicos === amount && existing.ref === ref
    return isSame ? UNCHANGED : refused(`the top-up id ${topUpId} is taken`)
  }
  if (amount === ZERO) return refused('a top-up must not be 0')
  const account = statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  const earlier = ref === '' ? undefined : statements.topUpByRef.get({ ref })
  if (earlier !== undefined) return refused(`the reference "${ref}" was used by top-up ${earlier.id}`)
  const credited = account.creditedPicos + amount
  if (credited > BALANCE_PICOS_MAX || credited < -BALANCE_PICOS_MAX) {
    return refused(`an account's top-ups may come to ${toExactUsdText(BALANCE_PICOS_MAX)} USD at most`)
  }
  statements.insertTopUp.run({ id: topUpId, accountId, amount, ref, now })
  statements.creditAccount.run({ accountId, amount, now: BigInt(now) })
  audit(statements, now, kind, accountId, { topUpId, usd: toExactUsdText(amount), ref })
  return done()
}

function setAccountActive(statements: Statements, { kind, accountId, isActive, now }: OperationOf<'setAccountActive'>): Operated {
  if (statements.account.get({ accountId }) === undefined) return refused(`there is no account ${accountId}`)
  if (statements.setAccountActive.run({ accountId, isActive: isActive ? 1n : 0n }).changes === 0) return UNCHANGED
  audit(statements, now, kind, accountId, { isActive })
  return done(...statements.keyIdsOfAccount.all({ accountId }).map((key) => key.id))
}

function createKey(statements: Statements, operation: OperationOf<'createKey'>): Operated {
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
  } else if (statements.account.get({ accountId }) === undefined) return refused(`there is no account ${accountId}`)
  statements.insertKey.run({ id: keyId, accountId, name, plan, limit: limitPicos, expiresAt, now })
  statements.insertSecret.run({ hash, keyId, display: operation.display, now })
  audit(statements, now, kind, keyId, { accountId, name, plan, limitUsd: usdOrNull(limitPicos), expiresAt })

  const credited = credit === null ? UNCHANGED : topUp(statements, { kind: 'topUp', accountId, ...credit, now })
  return credited.result === 'refused' ? credited : done(keyId)
}

/** The old secrets end at `oldValidUntil`, or earlier where an earlier rotation said so. */
function rotateKey(statements: Statements, { kind, keyId, secretHash, display, oldValidUntil, now }: OperationOf<'rotateKey'>): Operated {
  if (statements.keyById.get({ keyId }) === undefined) return refused(`there is no key ${keyId}`)
  const hash = Buffer.from(secretHash)
  const owner = statements.secretOwner.get({ hash })
  if (owner !== undefined) return owner.keyId === keyId ? UNCHANGED : refused('the new secret is taken')
  statements.endSecrets.run({ keyId, until: BigInt(oldValidUntil) })
  statements.insertSecret.run({ hash, keyId, display, now })
  audit(statements, now, kind, keyId, { display, oldValidUntil })
  return done(keyId)
}

function setOnKey(statements: Statements, operation: OperationOf<'setKeyActive' | 'setKeyLimit' | 'setKeyExpiry'>): Operated {
  const { kind, keyId, now } = operation
  if (statements.keyById.get({ keyId }) === undefined) return refused(`there is no key ${keyId}`)
  switch (kind) {
    case 'setKeyActive': {
      const { isActive } = operation
      if (statements.setKeyActive.run({ keyId, isActive: isActive ? 1n : 0n }).changes === 0) return UNCHANGED
      audit(statements, now, kind, keyId, { isActive })
      return done(keyId)
    }
    case 'setKeyLimit': {
      const { limitPicos: limit } = operation
      const problem = problemOfLimit(limit)
      if (problem !== undefined) return refused(problem)
      if (statements.setKeyLimit.run({ keyId, limit, now: BigInt(now) }).changes === 0) return UNCHANGED
      audit(statements, now, kind, keyId, { limitUsd: usdOrNull(limit) })
      return done(keyId)
    }
    case 'setKeyExpiry': {
      const { expiresAt } = operation
      const problem = problemOfExpiry(expiresAt, now)
      if (problem !== undefined) return refused(problem)
      if (statements.setKeyExpiry.run({ keyId, expiresAt: expiresAt === null ? null : BigInt(expiresAt) }).changes === 0) return UNCHANGED
      audit(statements, now, kind, keyId, { expiresAt })
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

function audit(statements: Statements, at: number, action: string, target: string, detail: Readonly<Record<string, unknown>>): void {
  statements.insertAudit.run({ now: at, action, target, detail: JSON.stringify(detail) })
}
