/**
 * An operator's operations on keys: making, renaming, rotating the secret, setting limit and expiry, switching on and off. Rules: ledger.md "Twice is once"; operator.md
 * "Keys and accounts"; keys.md "Expiry and rotation".
 */

import { KEY_EXPIRY_DAYS_MAX } from '../../core/limits.ts'
import { BALANCE_PICOS_MAX, type Picos, toExactUsdText, ZERO } from '../../core/money.ts'
import { problemOfName } from '../../core/names.ts'
import { ratesAsSet, ratesText } from '../../core/token-buckets.ts'
import { DAY_MS } from '../../core/utc.ts'
import type { OperationOf } from '../operation.ts'
import { createAccount, creditAccount } from './account-operations.ts'
import { PROMISED } from './key-writes.ts'
import { done, refused, UNCHANGED, type UncommittedResult } from './operation-result.ts'
import type { Writing } from './writing.ts'

export function createKey(writing: Writing, operation: OperationOf<'createKey'>): UncommittedResult {
  const { kind, keyId, name, plan, limitPicos, expiresAt, topUp } = operation
  const now = writing.now
  const hash = Buffer.from(operation.secretHash)
  const owner = writing.statements.secretOwner.get({ hash })
  if (owner?.keyId === keyId) return UNCHANGED
  if (owner !== undefined || writing.statements.keyById.get({ keyId }) !== undefined)
    return refused(`the key id ${keyId} or its secret is taken`)
  const problem = problemOfLimit(limitPicos) ?? problemOfExpiry(expiresAt, now)
  if (problem !== undefined) return refused(problem)

  const accountId = operation.accountId ?? operation.ownAccountId
  if (operation.accountId === null) {
    const own = createAccount(writing, { accountId, name, topUp: null })
    if (own.result === 'refused') return refused(`${own.problem}: name the key otherwise, or put it on that account`)
  }
  const account = writing.statements.account.get({ accountId })
  if (account === undefined) return refused(`there is no account ${accountId}`)
  if (name !== '' && writing.statements.keyByName.get({ account: account.number, name }) !== undefined) return refused(keyIsNamed(name))
  writing.statements.insertKey.run({ id: keyId, account: account.number, name, plan, limit: limitPicos, expiresAt, now })
  const key = writing.statements.keyById.get({ keyId })
  writing.statements.insertSecret.run({ hash, key: key?.number, display: operation.display, now })
  writing.audit(kind, keyId, {}, { accountId, name, plan, limitUsd: usdOrNull(limitPicos), expiresAt })
  if (topUp === null) return done({ keyId })
  const credited = creditAccount(writing, accountId, 'top-up', topUp)
  if (credited.result === 'refused') return credited
  if (credited.isNew) return done({ keyId })
  // A secret is shown only once, so a repeated command cannot return the first key: its caller must know that the money was booked before.
  return refused(
    credited.earlier === undefined
      ? `the credit id ${topUp.creditId} is taken`
      : `the reference "${topUp.ref}" was credited to this account already, by ${credited.earlier.creditId}; make the key without a balance`,
  )
}

export function renameKey(writing: Writing, { kind, keyId, name }: OperationOf<'renameKey'>): UncommittedResult {
  const key = writing.statements.keyById.get({ keyId })
  if (key === undefined) return refused(`there is no key ${keyId}`)
  if (key.name === name) return UNCHANGED
  const problem = problemOfName(name)
  if (problem !== undefined) return refused(problem)
  if (writing.statements.keyByName.get({ account: key.accountNumber, name }) !== undefined) return refused(keyIsNamed(name))
  writing.statements.renameKey.run({ keyId, name })
  writing.audit(kind, keyId, { name: key.name }, { name })
  return done({ keyId })
}

/** The old secrets end at `oldValidUntil`, or earlier if an earlier rotation said so. A rotation that breaks an earlier promise is refused, unless it `endsPromised`. */
export function rotateKey(writing: Writing, operation: OperationOf<'rotateKey'>): UncommittedResult {
  const { kind, keyId, secretHash, display, oldValidUntil, endsPromised = false } = operation
  const key = writing.statements.keyById.get({ keyId })
  if (key === undefined) return refused(`there is no key ${keyId}`)
  const hash = Buffer.from(secretHash)
  const owner = writing.statements.secretOwner.get({ hash })
  if (owner !== undefined) return owner.keyId === keyId ? UNCHANGED : refused('the new secret is taken')
  const promised = writing.statements.promisedSecret.get({ key: key.number, now: writing.now })
  if (!endsPromised && promised?.validUntil != null && promised.validUntil > oldValidUntil)
    return refused(`${PROMISED} ${promised.display} until ${new Date(promised.validUntil).toISOString()}, and would end earlier`)
  const old = writing.statements.newestSecret.get({ key: key.number })
  writing.statements.endSecrets.run({ key: key.number, until: oldValidUntil })
  writing.statements.insertSecret.run({ hash, key: key.number, display, now: writing.now })
  writing.audit(kind, keyId, { display: old?.display }, { display, oldValidUntil })
  return done({ keyId })
}

export function setOnKey(
  writing: Writing,
  operation: OperationOf<'setKeyActive' | 'setKeyLimit' | 'setKeyRates' | 'setKeyExpiry'>,
): UncommittedResult {
  const { kind, keyId } = operation
  const key = writing.statements.keyById.get({ keyId })
  if (key === undefined) return refused(`there is no key ${keyId}`)
  switch (kind) {
    case 'setKeyActive': {
      const { isActive } = operation
      if (writing.statements.setKeyActive.run({ keyId, isActive: isActive ? 1 : 0 }).changes === 0) return UNCHANGED
      writing.audit(kind, keyId, { isActive: key.isActive }, { isActive })
      return done({ keyId })
    }
    case 'setKeyLimit': {
      const { limitPicos: limit } = operation
      const problem = problemOfLimit(limit)
      if (problem !== undefined) return refused(problem)
      if (writing.statements.setKeyLimit.run({ keyId, limit, now: writing.now }).changes === 0) return UNCHANGED
      writing.audit(kind, keyId, { limitUsd: usdOrNull(key.limitPicos) }, { limitUsd: usdOrNull(limit) })
      return done({ keyId })
    }
    case 'setKeyRates': {
      const { rates } = operation
      const text = rates === null ? null : ratesText(rates)
      if (writing.statements.setKeyRates.run({ keyId, rates: text }).changes === 0) return UNCHANGED
      writing.audit(
        kind,
        keyId,
        { rates: key.rates === null ? null : ratesAsSet(key.rates) },
        { rates: rates === null ? null : ratesAsSet(rates) },
      )
      return done({ keyId })
    }
    case 'setKeyExpiry': {
      const { expiresAt } = operation
      const problem = problemOfExpiry(expiresAt, writing.now)
      if (problem !== undefined) return refused(problem)
      if (writing.statements.setKeyExpiry.run({ keyId, expiresAt }).changes === 0) return UNCHANGED
      writing.audit(kind, keyId, { expiresAt: key.expiresAt }, { expiresAt })
      return done({ keyId })
    }
  }
}

export const problemOfLimit = (limit: Picos | null): string | undefined =>
  limit !== null && (limit < ZERO || limit > BALANCE_PICOS_MAX)
    ? `a limit is between 0 and ${toExactUsdText(BALANCE_PICOS_MAX)} USD`
    : undefined

export const problemOfExpiry = (expiresAt: number | null, now: number): string | undefined =>
  expiresAt !== null && expiresAt > now + KEY_EXPIRY_DAYS_MAX * DAY_MS
    ? `a key may expire at most ${KEY_EXPIRY_DAYS_MAX} days ahead`
    : undefined

const usdOrNull = (amount: Picos | null): string | null => (amount === null ? null : toExactUsdText(amount))

const keyIsNamed = (name: string): string => `a key named "${name}" is on the account`
