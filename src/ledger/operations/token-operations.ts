/** Operations on tokens of the operator's API: making, revoking, noting their use. Rules: operator-api.md "Tokens"; ledger.md "Twice is once". */

import { accountIdsText, problemOfTokenEnd, TOKEN_ACCOUNTS_MAX } from '../../core/api-token.ts'
import { problemOfName } from '../../core/names.ts'
import type { OperationOf } from '../operation.ts'
import { done, refused, UNCHANGED, type UncommittedResult } from './operation-result.ts'
import type { Writing } from './writing.ts'

export function createToken(writing: Writing, operation: OperationOf<'createToken'>): UncommittedResult {
  const { kind, tokenId, tokenHash, display, name, scope, accountIds, expiresAt } = operation
  const { statements, now } = writing
  const hash = Buffer.from(tokenHash)
  const existing = statements.tokenByHash.get({ hash })
  if (existing?.id === tokenId) return UNCHANGED
  if (existing !== undefined || statements.tokenById.get({ tokenId }) !== undefined) return refused(`the token id ${tokenId} is taken`)
  if (statements.tokenByName.get({ name }) !== undefined)
    return refused(`a token named "${name}" exists or existed, and the audit log names tokens by their names`)
  const problem = problemOfName(name) ?? problemOfTokenEnd(expiresAt, now) ?? problemOfAccounts(writing, accountIds)
  if (problem !== undefined) return refused(problem)
  statements.insertToken.run({ id: tokenId, name, hash, display, scope, accountIds: accountIdsText(accountIds), expiresAt, now })
  writing.audit(kind, tokenId, {}, { name, scope, accountIds, expiresAt })
  return done()
}

export function revokeToken(writing: Writing, { kind, tokenId }: OperationOf<'revokeToken'>): UncommittedResult {
  const token = writing.statements.tokenById.get({ tokenId })
  if (token === undefined) return refused(`there is no token ${tokenId}`)
  if (token.revokedAt !== null) return UNCHANGED
  writing.statements.revokeToken.run({ tokenId, now: writing.now })
  writing.audit(kind, tokenId, { name: token.name, isRevoked: false }, { isRevoked: true })
  return done()
}

export function noteTokenUse({ statements, now }: Writing, { tokenId }: OperationOf<'noteTokenUse'>): UncommittedResult {
  return statements.noteTokenUse.run({ tokenId, now }).changes === 0 ? UNCHANGED : done()
}

function problemOfAccounts({ statements }: Writing, accountIds: readonly string[]): string | undefined {
  if (accountIds.length > TOKEN_ACCOUNTS_MAX) return `a token is bound to at most ${TOKEN_ACCOUNTS_MAX} accounts`
  const unknown = accountIds.find((accountId) => statements.account.get({ accountId }) === undefined)
  return unknown === undefined ? undefined : `there is no account ${unknown}`
}
