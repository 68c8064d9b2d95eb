/** The statements of the operator's writes: accounts, keys, secrets, top-ups, codes, tokens, and the audit log. Rules: ledger.md "Guards"; operator.md "Keys and accounts". */

import { sql } from 'drizzle-orm'
import { accounts, importedKeys, keySecrets, keys } from '../../../db/schema/accounts.ts'
import { auditLog } from '../../../db/schema/audit-log.ts'
import { codeBatches, codes, credits } from '../../../db/schema/credits.ts'
import { apiTokens } from '../../../db/schema/operator-api.ts'
import type { Picos } from '../../core/money.ts'
import type { Per } from '../../core/windows.ts'
import type { BudgetSetter } from '../operation.ts'
import { type Connection, ormOf } from './connection.ts'

export const operatorStatements = (db: Connection) => ({
  ...accountWrites(db),
  ...keyWrites(db),
  ...importWrites(db),
  ...budgetWrites(db),
  ...codeWrites(db),
  ...tokenWrites(db),
})

const given = sql.placeholder

function accountWrites(db: Connection) {
  const orm = ormOf(db)
  return {
    insertAccount: orm
      .insert(accounts)
      .values({
        id: given('id'),
        name: given('name'),
        createdAt: given('now'),
      })
      .prepare(),
    setAccountActive: db.query<undefined, { accountId: string; isActive: number }>(
      'UPDATE accounts SET is_active = $isActive WHERE id = $accountId AND is_active <> $isActive',
    ),
    setAccountTags: db.query<undefined, { accountId: string; tagsUserIds: number }>(
      'UPDATE accounts SET tags_user_ids = $tagsUserIds WHERE id = $accountId AND tags_user_ids <> $tagsUserIds',
    ),
    renameAccount: db.query<undefined, { accountId: string; name: string }>('UPDATE accounts SET name = $name WHERE id = $accountId'),
    creditAccount: db.query<undefined, { account: number; amount: Picos; now: number }>(
      `UPDATE accounts SET credited_picos = credited_picos + $amount, balance_picos = balance_picos + $amount,
         topped_up_at = CASE WHEN topped_up_at > $now THEN topped_up_at ELSE $now END
       WHERE number = $account`,
    ),
    insertCredit: orm
      .insert(credits)
      .values({
        id: given('id'),
        accountNumber: given('account'),
        kind: given('kind'),
        amountPicos: given('amount'),
        ref: given('ref'),
        actor: given('actor'),
        reason: given('reason'),
        createdAt: given('now'),
        lane: given('lane'),
        seq: given('seq'),
        hash: given('hash'),
      })
      .prepare(),
    insertAudit: orm
      .insert(auditLog)
      .values({
        at: given('now'),
        actor: given('actor'),
        address: given('address'),
        action: given('action'),
        target: given('target'),
        reason: given('reason'),
        before: given('before'),
        after: given('after'),
      })
      .prepare(),
    /** Takes the row that every line takes on Postgres, so that what another process writes meanwhile is seen behind it. A file has one writer, and no such row. */
    lockAudit: db.query<unknown, []>("UPDATE meta SET value = value WHERE name = 'audited'"),
    auditedAt: db.query<{ after: string }, { target: string; action: string; at: number }>(
      'SELECT after FROM audit_log WHERE target = $target AND at = $at AND action = $action',
    ),
  }
}

function keyWrites(db: Connection) {
  const orm = ormOf(db)
  return {
    insertKey: orm
      .insert(keys)
      .values({
        id: given('id'),
        accountNumber: given('account'),
        name: given('name'),
        plan: given('plan'),
        limitPicos: given('limit'),
        expiresAt: given('expiresAt'),
        lastSyncedAt: given('now'),
        createdAt: given('now'),
      })
      .prepare(),
    insertSecret: orm
      .insert(keySecrets)
      .values({ hash: given('hash'), keyNumber: given('key'), display: given('display'), createdAt: given('now') })
      .prepare(),
    /** Sets the end of the key's secrets that would be valid for longer. */
    endSecrets: db.query<undefined, { key: number; until: number }>(
      'UPDATE key_secrets SET valid_until = $until WHERE key_number = $key AND (valid_until IS NULL OR valid_until > $until)',
    ),
    renameKey: db.query<undefined, { keyId: string; name: string }>('UPDATE keys SET name = $name WHERE id = $keyId'),
    setKeyActive: db.query<undefined, { keyId: string; isActive: number }>(
      'UPDATE keys SET is_active = $isActive WHERE id = $keyId AND is_active <> $isActive',
    ),
    setKeyLimit: db.query<undefined, { keyId: string; limit: Picos | null; now: number }>(
      `UPDATE keys SET limit_picos = $limit, last_synced_at = CASE WHEN last_synced_at > $now THEN last_synced_at ELSE $now END
       WHERE id = $keyId AND limit_picos IS DISTINCT FROM $limit`,
    ),
    setKeyRates: db.query<undefined, { keyId: string; rates: string | null }>(
      'UPDATE keys SET rates = $rates WHERE id = $keyId AND rates IS DISTINCT FROM $rates',
    ),
    setKeyExpiry: db.query<undefined, { keyId: string; expiresAt: number | null }>(
      'UPDATE keys SET expires_at = $expiresAt WHERE id = $keyId AND expires_at IS DISTINCT FROM $expiresAt',
    ),
  }
}

function importWrites(db: Connection) {
  const orm = ormOf(db)
  return {
    insertForeignSecret: orm
      .insert(keySecrets)
      .values({
        hash: given('hash'),
        keyNumber: given('key'),
        display: given('display'),
        validUntil: given('validUntil'),
        createdAt: given('now'),
        form: given('form'),
      })
      .prepare(),
    insertImported: orm
      .insert(importedKeys)
      .values({
        keyNumber: given('key'),
        system: given('system'),
        sourceAccount: given('account'),
        sourceKey: given('source'),
        accountPicos: given('balance'),
        limitPicos: given('limit'),
        importedAt: given('now'),
      })
      .prepare(),
  }
}

/** `key` 0: all keys of the account together. */
type BudgetOf = { account: number; key: number; per: Per }

function budgetWrites(db: Connection) {
  const place = 'account_number = $account AND key_number = $key AND per = $per'
  return {
    budgetOf: db.query<{ cap: Picos }, BudgetOf & { setBy: BudgetSetter }>(
      `SELECT cap_picos AS cap FROM budgets WHERE ${place} AND set_by = $setBy`,
    ),
    budgetInForce: db.query<{ cap: Picos | null }, BudgetOf>(`SELECT min(cap_picos) AS cap FROM budgets WHERE ${place}`),
    putBudget: db.query<undefined, BudgetOf & { setBy: BudgetSetter; cap: Picos }>(
      `INSERT INTO budgets (account_number, key_number, per, set_by, cap_picos) VALUES ($account, $key, $per, $setBy, $cap)
       ON CONFLICT (account_number, key_number, per, set_by) DO UPDATE SET cap_picos = excluded.cap_picos`,
    ),
    deleteBudget: db.query<undefined, BudgetOf & { setBy: BudgetSetter }>(`DELETE FROM budgets WHERE ${place} AND set_by = $setBy`),
    setAccountPlan: db.query<undefined, { accountId: string; plan: string | null }>(
      'UPDATE accounts SET plan = $plan WHERE id = $accountId AND plan IS DISTINCT FROM $plan',
    ),
  }
}

function codeWrites(db: Connection) {
  const orm = ormOf(db)
  return {
    insertCodeBatch: orm
      .insert(codeBatches)
      .values({
        id: given('id'),
        name: given('name'),
        amountPicos: given('amount'),
        createdAt: given('now'),
        expiresAt: given('expiresAt'),
      })
      .prepare(),
    insertCode: orm
      .insert(codes)
      .values({ hash: given('hash'), batchNumber: given('batch'), place: given('place'), display: given('display') })
      .prepare(),
    disableCodeBatch: db.query<undefined, { batchId: string; now: number }>(
      'UPDATE code_batches SET disabled_at = $now WHERE id = $batchId',
    ),
    redeemCode: db.query<undefined, { hash: Buffer; account: number; creditId: string; now: number }>(
      'UPDATE codes SET account_number = $account, credit_id = $creditId, redeemed_at = $now WHERE hash = $hash',
    ),
  }
}

const tokenWrites = (db: Connection) => ({
  insertToken: ormOf(db)
    .insert(apiTokens)
    .values({
      id: given('id'),
      name: given('name'),
      hash: given('hash'),
      display: given('display'),
      scope: given('scope'),
      accountIds: given('accountIds'),
      createdAt: given('now'),
      expiresAt: given('expiresAt'),
    })
    .prepare(),
  revokeToken: db.query<undefined, { tokenId: string; now: number }>(
    'UPDATE api_tokens SET revoked_at = $now WHERE id = $tokenId AND revoked_at IS NULL',
  ),
  /** Called where no write under this header counts any more. */
  putApiWrite: db.query<undefined, { token: number; headerHash: Buffer; requestHash: Buffer; target: string; expiresAt: number }>(
    `INSERT INTO api_writes (token_number, header_hash, request_hash, target, expires_at) VALUES ($token, $headerHash, $requestHash, $target, $expiresAt)
     ON CONFLICT (token_number, header_hash) DO UPDATE
       SET request_hash = excluded.request_hash, target = excluded.target, expires_at = excluded.expires_at`,
  ),
  dropApiWrite: db.query<undefined, { token: number; headerHash: Buffer; requestHash: Buffer }>(
    'DELETE FROM api_writes WHERE token_number = $token AND header_hash = $headerHash AND request_hash = $requestHash',
  ),
  /** A few at a time, with each write of the same token: twice what a write adds. */
  forgetApiWrites: db.query<undefined, { token: number; now: number }>(
    `DELETE FROM api_writes WHERE token_number = $token AND header_hash IN (
       SELECT header_hash FROM api_writes WHERE token_number = $token AND expires_at <= $now LIMIT 2)`,
  ),
  noteTokenUse: db.query<undefined, { tokenId: string; now: number }>(
    'UPDATE api_tokens SET last_used_at = $now WHERE id = $tokenId AND (last_used_at IS NULL OR last_used_at < $now)',
  ),
})
