/**
 * The operator's writes, each with its line in the audit log. Sent twice, an operation is done once; what cannot be done is refused in words.
 * Rules: ledger.md "Twice is once"; operator.md "Keys and accounts", "Credits", "Audit". A refusal leaves half-made rows behind: `GroupWrites` rolls its
 * savepoint back.
 */

import { KEY_EXPIRY_DAYS_MAX } from '../core/limits.ts'
import { BALANCE_PICOS_MAX, type Picos, picos, toExactUsdText, ZERO } from '../core/money.ts'
import { problemOfName } from '../core/names.ts'
import { DAY_MS } from '../core/utc.ts'
import { CODE_REF, createCodes, disableCodes, redeemCode } from './code-writes.ts'
import { appendCredit } from './credits.ts'
import type { Act, CreditKind, Earlier, MaybePaidOut, Operation, TopUp } from './operation.ts'
import { done, type Performed, refused, UNCHANGED } from './performed.ts'
import type { Statements } from './statements.ts'

type OperationOf<K extends Operation['kind']> = Extract<Operation, { kind: K }>

export const operate = (statements: Statements, operation: Operation, act: Act): Performed =>
  new OperatorWrites(statements, act, operation.now).perform(operation)

class OperatorWrites {
  readonly #statements: Statements
  readonly #act: Act
  readonly #now: number

  constructor(statements: Statements, act: Act, now: number) {
    this.#statements = statements
    this.#act = act
    this.#now = now
  }

  perform(operation: Operation): Performed {
    switch (operation.kind) {
      case 'createAccount':
        return this.#createAccount(operation)
      case 'credit':
        return this.#credit(operation.accountId, operation.creditKind, operation)
      case 'setAccountActive':
        return this.#setAccountActive(operation)
      case 'renameAccount':
        return this.#renameAccount(operation)
      case 'renameKey':
        return this.#renameKey(operation)
      case 'createKey':
        return this.#createKey(operation)
      case 'rotateKey':
        return this.#rotateKey(operation)
      case 'setKeyActive':
      case 'setKeyLimit':
      case 'setKeyExpiry':
        return this.#setOnKey(operation)
      case 'setUpstreamOut':
        return this.#setUpstreamOut(operation)
      case 'setAccess':
        return this.#setAccess(operation)
      case 'giveLink':
        return this.#noteOnce(operation.kind, operation.email, { link: operation.link, listener: operation.listener })
      case 'createCodes':
        return createCodes(this.#statements, operation, (after) => this.#audit(operation.kind, operation.batchId, {}, after))
      case 'disableCodes':
        return disableCodes(this.#statements, operation, () =>
          this.#audit(operation.kind, operation.batchId, { isDisabled: false }, { isDisabled: true }),
        )
      case 'redeemCode':
        return redeemCode(this.#statements, operation, (topUp) => this.#book(operation.accountId, 'top-up', topUp))
    }
  }

  #createAccount({ accountId, name, topUp }: Omit<OperationOf<'createAccount'>, 'kind' | 'now'>): Performed {
    const existing = this.#statements.account.get({ accountId })
    if (existing !== undefined) return existing.name === name ? UNCHANGED : refused(`the account id ${accountId} is taken`)
    const earlier = topUp === null ? undefined : this.#earlierAccount(name, topUp)
    if (earlier !== undefined) return { ...UNCHANGED, earlier }
    if (name !== '' && this.#statements.accountByName.get({ name }) !== undefined) return refused(`an account named "${name}" exists`)
    this.#statements.insertAccount.run({ id: accountId, name, now: this.#now })
    this.#audit('createAccount', accountId, {}, { name })
    if (topUp === null) return done()
    const credited = this.#credit(accountId, 'top-up', topUp)
    return credited.result === 'refused' || credited.isNew ? credited : refused(`the credit id ${topUp.creditId} is taken`)
  }

  /** An account of this name that was topped up so under the same reference: the command was given twice. */
  #earlierAccount(name: string, { amountPicos, ref }: TopUp): Earlier | undefined {
    const credit = ref === '' ? undefined : this.#statements.creditByRef.get({ ref })
    if (credit === undefined || credit.kind !== 'top-up' || credit.amountPicos !== amountPicos) return undefined
    const account = this.#statements.accountByNumber.get({ account: credit.accountNumber })
    return account?.name === name ? { creditId: credit.id, accountId: account.id } : undefined
  }

  #credit(accountId: string, creditKind: CreditKind, credit: MaybePaidOut): Performed {
    // Else a code could not be redeemed, because somebody used its reference.
    if (credit.ref.startsWith(CODE_REF)) return refused(`a reference that begins with ${CODE_REF} is that of a code`)
    return this.#book(accountId, creditKind, credit)
  }

  /** A balance is no fact of a key record, so no key has changed. */
  #book(accountId: string, creditKind: CreditKind, { creditId, amountPicos: amount, ref, isPaidOut = false }: MaybePaidOut): Performed {
    const account = this.#statements.account.get({ accountId })
    const existing = this.#statements.creditById.get({ id: creditId })
    const isSame = (credit: NonNullable<typeof existing>): boolean =>
      credit.accountNumber === account?.number && credit.kind === creditKind && credit.amountPicos === amount && credit.ref === ref
    if (existing !== undefined) return isSame(existing) ? UNCHANGED : refused(`the credit id ${creditId} is taken`)
    if (account === undefined) return refused(`there is no account ${accountId}`)
    const problem = problemOfCredit(creditKind, amount, ref)
    if (problem !== undefined) return refused(problem)
    const earlier = ref === '' ? undefined : this.#statements.creditByRef.get({ ref })
    if (earlier !== undefined) {
      if (isSame(earlier)) return { ...UNCHANGED, earlier: { creditId: earlier.id, accountId } }
      return refused(`the reference "${ref}" was used by ${earlier.kind} ${earlier.id} of ${toExactUsdText(earlier.amountPicos)} USD`)
    }
    if (creditKind === 'refund' && !isPaidOut && account.balancePicos + amount < ZERO) {
      return refused(`the balance is ${toExactUsdText(account.balancePicos)} USD, and a refund cannot take more; a correction can`)
    }
    const credited = account.creditedPicos + amount
    if (credited > BALANCE_PICOS_MAX || credited < -BALANCE_PICOS_MAX) {
      return refused(`an account's credits may come to ${toExactUsdText(BALANCE_PICOS_MAX)} USD at most`)
    }
    const { number, balancePicos } = account
    const { actor, reason } = this.#act
    appendCredit(this.#statements, { id: creditId, account: number, kind: creditKind, amount, ref, actor, reason, now: this.#now })
    const after = { creditId, kind: creditKind, usd: toExactUsdText(amount), ref }
    const balanceAfter = toExactUsdText(picos(balancePicos + amount))
    this.#audit('credit', accountId, { balanceUsd: toExactUsdText(balancePicos) }, { ...after, balanceUsd: balanceAfter })
    return done()
  }

  #setAccountActive({ kind, accountId, isActive }: OperationOf<'setAccountActive'>): Performed {
    const account = this.#statements.account.get({ accountId })
    if (account === undefined) return refused(`there is no account ${accountId}`)
    if (this.#statements.setAccountActive.run({ accountId, isActive: isActive ? 1 : 0 }).changes === 0) return UNCHANGED
    this.#audit(kind, accountId, { isActive: account.isActive }, { isActive })
    return done(...this.#statements.keyIdsOfAccount.all({ account: account.number }).map((key) => key.id))
  }

  #renameAccount({ kind, accountId, name }: OperationOf<'renameAccount'>): Performed {
    const account = this.#statements.account.get({ accountId })
    if (account === undefined) return refused(`there is no account ${accountId}`)
    if (account.name === name) return UNCHANGED
    const problem = problemOfName(name)
    if (problem !== undefined) return refused(problem)
    if (this.#statements.accountByName.get({ name }) !== undefined) return refused(`an account named "${name}" exists`)
    this.#statements.renameAccount.run({ accountId, name })
    this.#audit(kind, accountId, { name: account.name }, { name })
    return done()
  }

  #renameKey({ kind, keyId, name }: OperationOf<'renameKey'>): Performed {
    const key = this.#statements.keyById.get({ keyId })
    if (key === undefined) return refused(`there is no key ${keyId}`)
    if (key.name === name) return UNCHANGED
    const problem = problemOfName(name)
    if (problem !== undefined) return refused(problem)
    if (this.#statements.keyByName.get({ account: key.accountNumber, name }) !== undefined) return refused(keyIsNamed(name))
    this.#statements.renameKey.run({ keyId, name })
    this.#audit(kind, keyId, { name: key.name }, { name })
    return done(keyId)
  }

  #createKey(operation: OperationOf<'createKey'>): Performed {
    const { kind, keyId, name, plan, limitPicos, expiresAt, topUp } = operation
    const now = this.#now
    const hash = Buffer.from(operation.secretHash)
    const owner = this.#statements.secretOwner.get({ hash })
    if (owner?.keyId === keyId) return UNCHANGED
    if (owner !== undefined || this.#statements.keyById.get({ keyId }) !== undefined)
      return refused(`the key id ${keyId} or its secret is taken`)
    const problem = problemOfLimit(limitPicos) ?? problemOfExpiry(expiresAt, now)
    if (problem !== undefined) return refused(problem)

    const accountId = operation.accountId ?? operation.ownAccountId
    if (operation.accountId === null) {
      const own = this.#createAccount({ accountId, name, topUp: null })
      if (own.result === 'refused') return refused(`${own.problem}: name the key otherwise, or put it on that account`)
    }
    const account = this.#statements.account.get({ accountId })
    if (account === undefined) return refused(`there is no account ${accountId}`)
    if (name !== '' && this.#statements.keyByName.get({ account: account.number, name }) !== undefined) return refused(keyIsNamed(name))
    this.#statements.insertKey.run({ id: keyId, account: account.number, name, plan, limit: limitPicos, expiresAt, now })
    const key = this.#statements.keyById.get({ keyId })
    this.#statements.insertSecret.run({ hash, key: key?.number, display: operation.display, now })
    this.#audit(kind, keyId, {}, { accountId, name, plan, limitUsd: usdOrNull(limitPicos), expiresAt })
    if (topUp === null) return done(keyId)
    const credited = this.#credit(accountId, 'top-up', topUp)
    if (credited.result === 'refused') return credited
    if (credited.isNew) return done(keyId)
    // A secret is shown once, so a second key would not be the first again: its maker must know that the money is there already.
    return refused(
      credited.earlier === undefined
        ? `the credit id ${topUp.creditId} is taken`
        : `the reference "${topUp.ref}" was credited to this account already, by ${credited.earlier.creditId}; make the key without a balance`,
    )
  }

  /** The old secrets end at `oldValidUntil`, or earlier where an earlier rotation said so. */
  #rotateKey({ kind, keyId, secretHash, display, oldValidUntil }: OperationOf<'rotateKey'>): Performed {
    const key = this.#statements.keyById.get({ keyId })
    if (key === undefined) return refused(`there is no key ${keyId}`)
    const hash = Buffer.from(secretHash)
    const owner = this.#statements.secretOwner.get({ hash })
    if (owner !== undefined) return owner.keyId === keyId ? UNCHANGED : refused('the new secret is taken')
    const old = this.#statements.newestSecret.get({ key: key.number })
    this.#statements.endSecrets.run({ key: key.number, until: oldValidUntil })
    this.#statements.insertSecret.run({ hash, key: key.number, display, now: this.#now })
    this.#audit(kind, keyId, { display: old?.display }, { display, oldValidUntil })
    return done(keyId)
  }

  #setOnKey(operation: OperationOf<'setKeyActive' | 'setKeyLimit' | 'setKeyExpiry'>): Performed {
    const { kind, keyId } = operation
    const key = this.#statements.keyById.get({ keyId })
    if (key === undefined) return refused(`there is no key ${keyId}`)
    switch (kind) {
      case 'setKeyActive': {
        const { isActive } = operation
        if (this.#statements.setKeyActive.run({ keyId, isActive: isActive ? 1 : 0 }).changes === 0) return UNCHANGED
        this.#audit(kind, keyId, { isActive: key.isActive }, { isActive })
        return done(keyId)
      }
      case 'setKeyLimit': {
        const { limitPicos: limit } = operation
        const problem = problemOfLimit(limit)
        if (problem !== undefined) return refused(problem)
        if (this.#statements.setKeyLimit.run({ keyId, limit, now: this.#now }).changes === 0) return UNCHANGED
        this.#audit(kind, keyId, { limitUsd: usdOrNull(key.limitPicos) }, { limitUsd: usdOrNull(limit) })
        return done(keyId)
      }
      case 'setKeyExpiry': {
        const { expiresAt } = operation
        const problem = problemOfExpiry(expiresAt, this.#now)
        if (problem !== undefined) return refused(problem)
        if (this.#statements.setKeyExpiry.run({ keyId, expiresAt }).changes === 0) return UNCHANGED
        this.#audit(kind, keyId, { expiresAt: key.expiresAt }, { expiresAt })
        return done(keyId)
      }
    }
  }

  /** Whose gateway it is knows how it was before, and asks only for what changes it. */
  #setUpstreamOut({ kind, upstream, isOut }: OperationOf<'setUpstreamOut'>): Performed {
    const after = JSON.stringify({ isOut })
    if (this.#statements.isAudited.get({ target: upstream, action: kind, at: this.#now, after }) !== null) return UNCHANGED
    this.#audit(kind, upstream, { isOut: !isOut }, { isOut })
    return done()
  }

  #setAccess({ kind, email, accountId, access }: OperationOf<'setAccess'>): Performed {
    if (accountId !== null && this.#statements.account.get({ accountId }) === undefined) return refused(`there is no account ${accountId}`)
    return this.#noteOnce(kind, accountId ?? email, { email, access })
  }

  /** What is done elsewhere: sent twice, it is the same line. */
  #noteOnce(action: Operation['kind'], target: string, after: Facts): Performed {
    if (this.#statements.isAudited.get({ target, action, at: this.#now, after: JSON.stringify(after) }) !== null) return UNCHANGED
    this.#audit(action, target, {}, after)
    return done()
  }

  #audit(action: Operation['kind'], target: string, before: Facts, after: Facts): void {
    const change = { before: JSON.stringify(before), after: JSON.stringify(after) }
    this.#statements.insertAudit.run({ now: this.#now, ...this.#act, action, target, ...change })
  }
}

type Facts = Readonly<Record<string, unknown>>

function problemOfCredit(kind: CreditKind, amount: Picos, ref: string): string | undefined {
  if (ref.trim() !== ref) return 'a reference has no spaces around it'
  if (amount === ZERO) return `a ${kind} must not be 0`
  if (kind === 'top-up' && amount < ZERO) return 'a top-up adds to the balance; a refund or a correction takes from it'
  return kind === 'refund' && amount > ZERO ? 'a refund takes from the balance' : undefined
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

const keyIsNamed = (name: string): string => `a key named "${name}" is on the account`
