/**
 * The operator's writes, each with its line in the audit log. An operation that is sent twice is done once; one that cannot be done is refused in words.
 * Rules: ledger.md "Twice is once"; operator.md "Audit". A refusal leaves half-made rows behind: `GroupWrites` rolls its savepoint back.
 */

import type { Act, Operation, OperationOf } from '../operation.ts'
import type { Statements } from '../sql/statements.ts'
import { book, createAccount, creditAccount, renameAccount, setAccountActive, setAccountTags } from './account-operations.ts'
import { setAccountPlan, setBudget } from './budget-operations.ts'
import { createCodes, disableCodes, redeemCode } from './code-operations.ts'
import { importKeys } from './import-operations.ts'
import { createKey, renameKey, rotateKey, setOnKey } from './key-operations.ts'
import { done, refused, UNCHANGED, type UncommittedResult } from './operation-result.ts'
import { performByToken } from './token-acts.ts'
import { createToken, noteTokenUse, revokeToken } from './token-operations.ts'
import { type Facts, Writing } from './writing.ts'

export function operate(statements: Statements, operation: Operation, act: Act): UncommittedResult {
  const writing = new Writing(statements, act, operation.now)
  return act.by === undefined ? perform(writing, operation) : performByToken(writing, act.by, operation, () => perform(writing, operation))
}

function perform(writing: Writing, operation: Operation): UncommittedResult {
  switch (operation.kind) {
    case 'createAccount':
      return createAccount(writing, operation)
    case 'credit':
      return creditAccount(writing, operation.accountId, operation.creditKind, operation)
    case 'setAccountActive':
      return setAccountActive(writing, operation)
    case 'setAccountTags':
      return setAccountTags(writing, operation)
    case 'renameAccount':
      return renameAccount(writing, operation)
    case 'renameKey':
      return renameKey(writing, operation)
    case 'createKey':
      return createKey(writing, operation)
    case 'rotateKey':
      return rotateKey(writing, operation)
    case 'setKeyActive':
    case 'setKeyLimit':
    case 'setKeyRates':
    case 'setKeyExpiry':
      return setOnKey(writing, operation)
    case 'setBudget':
      return setBudget(writing, operation)
    case 'setAccountPlan':
      return setAccountPlan(writing, operation)
    case 'setUpstreamOut':
      // The caller knows the state before, and asks only for a change, so the state before is the opposite.
      return noteOnce(writing, operation.kind, operation.upstream, { isOut: operation.isOut }, { isOut: !operation.isOut })
    case 'setAccess':
      return setAccess(writing, operation)
    case 'giveLink':
      return noteOnce(writing, operation.kind, operation.email, { link: operation.link, listener: operation.listener })
    case 'setChat':
      return setChat(writing, operation)
    case 'reload':
      return noteReload(writing, operation)
    case 'refuseReload':
      return noteOnce(writing, operation.kind, 'configuration', { changes: operation.changes })
    case 'createCodes':
      return createCodes(writing, operation)
    case 'disableCodes':
      return disableCodes(writing, operation)
    case 'importKeys':
      return importKeys(writing, operation)
    case 'redeemCode':
      return redeemCode(writing, operation, (topUp) => book(writing, operation.accountId, 'top-up', topUp))
    case 'createToken':
      return createToken(writing, operation)
    case 'revokeToken':
      return revokeToken(writing, operation)
    case 'noteTokenUse':
      return noteTokenUse(writing, operation)
  }
}

function setAccess(writing: Writing, { kind, email, accountId, access }: OperationOf<'setAccess'>): UncommittedResult {
  if (accountId !== null && writing.statements.account.get({ accountId }) === undefined) return refused(`there is no account ${accountId}`)
  return noteOnce(writing, kind, accountId ?? email, { email, access })
}

function setChat(writing: Writing, { kind, email, accountId, chat, state }: OperationOf<'setChat'>): UncommittedResult {
  if (writing.statements.account.get({ accountId }) === undefined) return refused(`there is no account ${accountId}`)
  return noteOnce(writing, kind, accountId, { email, chat, state })
}

/** Each process of a set sends it, and one that began between two edits of the file counts fewer changes than the others: it is the line of the same reload all the same. */
function noteReload(writing: Writing, { kind, changes, node }: OperationOf<'reload'>): UncommittedResult {
  const after = { changes, ...(node === null ? {} : { node }) }
  return noteOnce(writing, kind, 'configuration', after, {}, (line) => (line['node'] ?? null) === node)
}

/** Writes only the line of the audit log, for an act that is done elsewhere; sent twice, it is one line. `isSame`: whether a line of the same time is of this act. */
function noteOnce(
  writing: Writing,
  action: Operation['kind'],
  target: string,
  after: Facts,
  before: Facts = {},
  isSame = (line: Facts): boolean => JSON.stringify(line) === JSON.stringify(after),
): UncommittedResult {
  const { statements, now } = writing
  statements.lockAudit.run()
  if (statements.auditedAt.all({ target, action, at: now }).some((line) => isSame(JSON.parse(line.after) as Facts))) return UNCHANGED
  writing.audit(action, target, before, after)
  return done()
}
