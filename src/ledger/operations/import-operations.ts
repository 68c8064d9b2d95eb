/**
 * Brings keys of another gateway, with their accounts and balances. What an earlier import brought is known by its name there, and stays as it is. Rules: ledger.md
 * "Twice is once"; operator.md "Import".
 */

import type { ImportSystem } from '../../core/import/systems.ts'
import { BALANCE_PICOS_MAX, type Picos, sumPicos, toExactUsdText, ZERO } from '../../core/money.ts'
import type { ImportedAccount, ImportedKey, OperationOf } from '../operation.ts'
import { setBudget } from './budget-operations.ts'
import { appendCredit } from './credits.ts'
import { problemOfExpiry, problemOfLimit } from './key-operations.ts'
import { done, refused, UNCHANGED, type UncommittedResult } from './operation-result.ts'
import type { Writing } from './writing.ts'

/** The beginning of the reference of every credit that an import books. */
const importRef = (system: ImportSystem, source: string): string => `import:${system}:${source}`

type Payer = Readonly<{ id: string; number: number }>
type Problem = Readonly<{ problem: string }>

/** Besides the line of each credit and budget, one line of the audit log says what came: the rows themselves say whose each key was. */
export function importKeys(writing: Writing, { kind, system, accounts }: OperationOf<'importKeys'>): UncommittedResult {
  const earlier = writing.statements.importedKeys.all({ system })
  const known = new Set(earlier.map(({ source }) => source))
  const payers = new Map(earlier.map(({ account, id, number }) => [account, { id, number }]))
  let keys = 0
  const credited: Picos[] = []
  for (const account of accounts) {
    const fresh = account.keys.filter(({ source }) => !known.has(source))
    if (fresh.length === 0) continue
    const found = payers.get(account.source)
    const payer = found === undefined ? newPayer(writing, system, account) : knownPayer(found, account)
    if ('problem' in payer) return refused(payer.problem)
    if (found === undefined) credited.push(account.balancePicos)
    for (const key of fresh) {
      const problem = insertKey(writing, { system, account, payer }, key)
      if (problem !== undefined) return refused(problem)
    }
    keys += fresh.length
  }
  if (keys === 0) return UNCHANGED
  writing.audit(kind, system, {}, { accounts: credited.length, keys, usd: toExactUsdText(sumPicos(...credited)) })
  return done()
}

const knownPayer = (found: Payer, { accountId, source }: ImportedAccount): Payer | Problem =>
  found.id === accountId ? found : { problem: `${source} was imported into ${found.id} meanwhile: look again what would come` }

function newPayer(writing: Writing, system: ImportSystem, account: ImportedAccount): Payer | Problem {
  const { statements, now } = writing
  const { accountId, name, balancePicos: amount, source } = account
  if (name !== '' && statements.accountByName.get({ name }) !== undefined) return { problem: `an account named "${name}" exists` }
  if (amount < ZERO || amount > BALANCE_PICOS_MAX)
    return { problem: `a balance is between 0 and ${toExactUsdText(BALANCE_PICOS_MAX)} USD: ${source} has another` }
  const ref = importRef(system, source)
  if (statements.creditByRef.get({ ref }) !== undefined) return { problem: `the reference ${ref} was credited before` }
  statements.insertAccount.run({ id: accountId, name, now })
  const made = statements.account.get({ accountId })
  if (made === undefined) throw new Error('an account that was just made is not there')
  if (amount > ZERO) credit(writing, account, made.number, ref)
  const problem = problemOfBudget(writing, account.budget, { accountId, keyId: null, source })
  return problem === undefined ? { id: accountId, number: made.number } : { problem }
}

function credit(writing: Writing, { accountId, creditId, balancePicos: amount }: ImportedAccount, account: number, ref: string): void {
  const { statements, act, now } = writing
  const [kind, usd] = ['top-up', toExactUsdText(amount)] as const
  appendCredit(statements, { id: creditId, account, kind, amount, ref, actor: act.actor, reason: act.reason, now })
  writing.audit('credit', accountId, { balanceUsd: '0' }, { creditId, kind, usd, ref, balanceUsd: usd })
}

type Place = Readonly<{ system: ImportSystem; account: ImportedAccount; payer: Payer }>

/** Undefined: the key is there. */
function insertKey(writing: Writing, { system, account, payer }: Place, key: ImportedKey): string | undefined {
  const { statements, now } = writing
  const { keyId, source, secretHashes, form, display, name, plan, limitPicos: limit, expiresAt } = key
  const problem = problemOfLimit(limit) ?? problemOfExpiry(expiresAt, now)
  if (problem !== undefined) return `${source}: ${problem}`
  for (const { hash } of secretHashes) {
    const owner = statements.secretOwner.get({ hash: Buffer.from(hash) })
    if (owner !== undefined) return `a secret of ${source} is that of ${owner.keyId} already`
  }
  if (name !== '' && statements.keyByName.get({ account: payer.number, name }) !== undefined)
    return `a key named "${name}" is on the account ${payer.id}`
  statements.insertKey.run({ id: keyId, account: payer.number, name, plan, limit, expiresAt, now })
  const number = statements.keyById.get({ keyId })?.number
  for (const { hash, validUntil } of secretHashes)
    statements.insertForeignSecret.run({ hash: Buffer.from(hash), key: number, display, validUntil, now, form })
  statements.insertImported.run({ key: number, system, account: account.source, source, balance: account.balancePicos, limit, now })
  if (!key.isActive) statements.setKeyActive.run({ keyId, isActive: 0 })
  return problemOfBudget(writing, key.budget, { accountId: payer.id, keyId, source })
}

type BudgetOf = Readonly<{ accountId: string; keyId: string | null; source: string }>

/** Undefined: the budget is set, or there is none. */
function problemOfBudget(writing: Writing, budget: ImportedKey['budget'], { accountId, keyId, source }: BudgetOf): string | undefined {
  if (budget === null) return undefined
  const result = setBudget(writing, { kind: 'setBudget', accountId, keyId, ...budget, setBy: 'operator', now: writing.now })
  return result.result === 'refused' ? `${source}: ${result.problem}` : undefined
}
