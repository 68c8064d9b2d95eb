/** The reads of the writer's connection, which see the writes of their group: a key, the rows of wallets, an idempotency key, a token. Rules: ledger.md "Wallets". */

import { accountIdsOf, type TokenRecord } from '../../core/api-token.ts'
import { type ForeignHeads, headOf } from '../../core/foreign-secret.ts'
import type { ForeignForm } from '../../core/key.ts'
import { hourAt } from '../../core/windows.ts'
import type { KeyState } from '../key-state.ts'
import type { IdempotentUse } from '../ledger.ts'
import type { Statements } from '../sql/statements.ts'
import type { Answer, FoundKey, ReadTask } from '../task.ts'
import type { Engine } from './engine.ts'

type Reading = Pick<Engine, 'statements' | 'windowTimeOf'>

export function readOf(engine: Reading, task: ReadTask): Answer {
  const { statements } = engine
  switch (task.kind) {
    case 'findKey': {
      const found = findKey(statements, task.secretHash)
      return found && { ...found, state: withSums(engine, found.state, task) }
    }
    case 'foreignHeads':
      return foreignHeads(statements)
    case 'keyStates':
      return task.keyIds
        .map((keyId) => statements.keyState.get({ keyId }))
        .filter((state) => state !== undefined)
        .map((state) => withSums(engine, state, task))
    case 'findIdempotency':
      return findIdempotency(statements, task)
    case 'findToken':
      return findToken(statements, task.tokenHash)
  }
}

function withSums(
  { statements, windowTimeOf }: Reading,
  state: KeyState,
  { now, hour }: Readonly<{ now?: number; hour?: number }>,
): KeyState {
  if (now === undefined) return state
  const { keyNumber: key, accountNumber: account, plan } = state
  return { ...state, sums: statements.windowSums({ key, account, plan }, hourAt(windowTimeOf?.() ?? now), hour) }
}

function findKey(statements: Statements, secretHash: Uint8Array): FoundKey | undefined {
  const found = statements.keyOfSecret.get({ hash: Buffer.from(secretHash) })
  if (found === undefined) return undefined
  const { keyNumber, accountNumber, spentPicos, balancePicos, lastSyncedAt, toppedUpAt, ...record } = found
  const { id: keyId, accountId, plan, isActive, isAccountActive, expiresAt, limitPicos } = record
  const state: KeyState = {
    keyId,
    keyNumber,
    accountId,
    accountNumber,
    isActive,
    isAccountActive,
    expiresAt,
    limitPicos,
    spentPicos,
    balancePicos,
    plan,
    lastSyncedAt,
    toppedUpAt,
  }
  return { record, state }
}

/** The statement orders the hashes, so their heads are in order, too. */
function foreignHeads(statements: Statements): ForeignHeads {
  const headsOf = (form: ForeignForm): BigUint64Array =>
    BigUint64Array.from(statements.foreignHashes.all({ form }), ({ hash }) => headOf(hash))
  return { exact: headsOf('exact'), channel: headsOf('channel') }
}

type FindIdempotency = Extract<ReadTask, { kind: 'findIdempotency' }>

function findIdempotency(statements: Statements, { keyId, headerHash, now }: FindIdempotency): IdempotentUse | undefined {
  const found = statements.idempotencyOf.get({ keyId, headerHash: Buffer.from(headerHash), now })
  return found && { ...found, bodyHash: new Uint8Array(found.bodyHash) }
}

function findToken(statements: Statements, tokenHash: Uint8Array): TokenRecord | undefined {
  const found = statements.tokenByHash.get({ hash: Buffer.from(tokenHash) })
  if (found === undefined) return undefined
  const { id, name, scope, accountIds, expiresAt, revokedAt, lastUsedAt } = found
  return { id, name, scope, accountIds: accountIdsOf(accountIds), expiresAt, revokedAt, lastUsedAt }
}
