/** The reads of the writer's connection: a key by its secret, what it may do, and what an operator's write must look at first. */

import { and, desc, eq, gt, sql } from 'drizzle-orm'
import { accounts, importedKeys, keySecrets, keys } from '../../../db/schema/accounts.ts'
import { meta } from '../../../db/schema/boots.ts'
import { codeBatches, codes, credits } from '../../../db/schema/credits.ts'
import { apiTokens, apiWrites } from '../../../db/schema/operator-api.ts'
import { idempotency } from '../../../db/schema/requests.ts'
import type { ForeignForm } from '../../core/key.ts'
import { type Connection, ormOf } from './connection.ts'

export const lookUps = (db: Connection) => ({
  ...admissionLookUps(db),
  ...accountLookUps(db),
  ...keyLookUps(db),
  ...secretLookUps(db),
  ...importLookUps(db),
  ...creditLookUps(db),
  ...codeLookUps(db),
  ...tokenLookUps(db),
})

const given = sql.placeholder

/** Look-ups of a request. */
function admissionLookUps(db: Connection) {
  const orm = ormOf(db)
  return {
    keyOfSecret: orm
      .select({
        id: keys.id,
        accountId: accounts.id,
        name: keys.name,
        display: keySecrets.display,
        plan: keys.plan,
        limitPicos: keys.limitPicos,
        rates: keys.rates,
        expiresAt: keys.expiresAt,
        isActive: keys.isActive,
        isAccountActive: accounts.isActive,
        tagsUserIds: accounts.tagsUserIds,
        secretValidUntil: keySecrets.validUntil,
        keyNumber: keys.number,
        accountNumber: accounts.number,
        spentPicos: keys.spentPicos,
        balancePicos: accounts.balancePicos,
        lastSyncedAt: keys.lastSyncedAt,
        toppedUpAt: accounts.toppedUpAt,
      })
      .from(keySecrets)
      .innerJoin(keys, eq(keys.number, keySecrets.keyNumber))
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .where(eq(keySecrets.hash, given('hash')))
      .prepare(),
    idempotencyOf: orm
      .select({ requestId: idempotency.requestId, bodyHash: idempotency.bodyHash, expiresAt: idempotency.expiresAt })
      .from(idempotency)
      .innerJoin(keys, eq(keys.number, idempotency.keyNumber))
      .where(and(eq(keys.id, given('keyId')), eq(idempotency.headerHash, given('headerHash')), gt(idempotency.expiresAt, given('now'))))
      .prepare(),
    /** The key with its account: what it may do and what is left. */
    keyState: orm
      .select({
        keyId: keys.id,
        keyNumber: keys.number,
        accountId: accounts.id,
        accountNumber: accounts.number,
        isActive: keys.isActive,
        isAccountActive: accounts.isActive,
        expiresAt: keys.expiresAt,
        limitPicos: keys.limitPicos,
        spentPicos: keys.spentPicos,
        balancePicos: accounts.balancePicos,
        plan: keys.plan,
        lastSyncedAt: keys.lastSyncedAt,
        toppedUpAt: accounts.toppedUpAt,
      })
      .from(keys)
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .where(eq(keys.id, given('keyId')))
      .prepare(),
  }
}

function accountLookUps(db: Connection) {
  const orm = ormOf(db)
  return {
    account: orm
      .select()
      .from(accounts)
      .where(eq(accounts.id, given('accountId')))
      .prepare(),
    accountByNumber: orm
      .select({ id: accounts.id, name: accounts.name })
      .from(accounts)
      .where(eq(accounts.number, given('account')))
      .prepare(),
    accountByName: orm
      .select({ id: accounts.id })
      .from(accounts)
      .where(eq(accounts.name, given('name')))
      .prepare(),
  }
}

function keyLookUps(db: Connection) {
  const orm = ormOf(db)
  return {
    keyById: orm
      .select()
      .from(keys)
      .where(eq(keys.id, given('keyId')))
      .prepare(),
    keyByName: orm
      .select({ id: keys.id })
      .from(keys)
      .where(and(eq(keys.accountNumber, given('account')), eq(keys.name, given('name'))))
      .prepare(),
  }
}

function secretLookUps(db: Connection) {
  const orm = ormOf(db)
  return {
    foreignHashes: db.query<{ hash: Uint8Array }, { form: ForeignForm }>(
      "SELECT hash FROM key_secrets WHERE form <> 'own' AND form = $form ORDER BY hash",
    ),
    newestSecret: orm
      .select({ display: keySecrets.display })
      .from(keySecrets)
      .where(eq(keySecrets.keyNumber, given('key')))
      .orderBy(sql`valid_until is null desc, created_at desc`)
      .limit(1)
      .prepare(),
    /** The old secret that rotations left valid for the longest time from now on. */
    promisedSecret: orm
      .select({ display: keySecrets.display, validUntil: keySecrets.validUntil })
      .from(keySecrets)
      .where(and(eq(keySecrets.keyNumber, given('key')), gt(keySecrets.validUntil, given('now'))))
      .orderBy(desc(keySecrets.validUntil))
      .limit(1)
      .prepare(),
    secretOwner: orm
      .select({ keyId: keys.id })
      .from(keySecrets)
      .innerJoin(keys, eq(keys.number, keySecrets.keyNumber))
      .where(eq(keySecrets.hash, given('hash')))
      .prepare(),
  }
}

/** What earlier imports brought from a system, by its names there. */
const importLookUps = (db: Connection) => ({
  importedKeys: ormOf(db)
    .select({ source: importedKeys.sourceKey, account: importedKeys.sourceAccount, id: accounts.id, number: accounts.number })
    .from(importedKeys)
    .innerJoin(keys, eq(keys.number, importedKeys.keyNumber))
    .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
    .where(eq(importedKeys.system, given('system')))
    .prepare(),
})

function creditLookUps(db: Connection) {
  const orm = ormOf(db)
  return {
    /** The salt in the hashes of what only operators may see. */
    salt: orm.select({ value: meta.value }).from(meta).where(eq(meta.name, 'salt')).prepare(),
    creditById: orm
      .select()
      .from(credits)
      .where(eq(credits.id, given('id')))
      .prepare(),
    creditByRef: orm
      .select()
      .from(credits)
      .where(eq(credits.ref, given('ref')))
      .prepare(),
  }
}

function codeLookUps(db: Connection) {
  const orm = ormOf(db)
  return {
    codeBatch: orm
      .select()
      .from(codeBatches)
      .where(eq(codeBatches.id, given('batchId')))
      .prepare(),
    codeBatchByName: orm
      .select({ id: codeBatches.id })
      .from(codeBatches)
      .where(eq(codeBatches.name, given('name')))
      .prepare(),
    /** The code with its batch. */
    codeByHash: orm
      .select({
        place: codes.place,
        accountNumber: codes.accountNumber,
        creditId: codes.creditId,
        batchId: codeBatches.id,
        amountPicos: codeBatches.amountPicos,
        expiresAt: codeBatches.expiresAt,
        disabledAt: codeBatches.disabledAt,
      })
      .from(codes)
      .innerJoin(codeBatches, eq(codeBatches.number, codes.batchNumber))
      .where(eq(codes.hash, given('hash')))
      .prepare(),
  }
}

function tokenLookUps(db: Connection) {
  const orm = ormOf(db)
  return {
    tokenByHash: orm
      .select()
      .from(apiTokens)
      .where(eq(apiTokens.hash, given('hash')))
      .prepare(),
    tokenById: orm
      .select()
      .from(apiTokens)
      .where(eq(apiTokens.id, given('tokenId')))
      .prepare(),
    apiWriteOf: orm
      .select({ requestHash: apiWrites.requestHash, target: apiWrites.target, expiresAt: apiWrites.expiresAt })
      .from(apiWrites)
      .where(
        and(
          eq(apiWrites.tokenNumber, given('token')),
          eq(apiWrites.headerHash, given('headerHash')),
          gt(apiWrites.expiresAt, given('now')),
        ),
      )
      .prepare(),
    tokenByName: orm
      .select({ id: apiTokens.id })
      .from(apiTokens)
      .where(eq(apiTokens.name, given('name')))
      .prepare(),
  }
}
