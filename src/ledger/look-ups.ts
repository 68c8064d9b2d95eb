/** The reads of the writer's connection: a key by its secret, what it may do, and what an operator's write must look at first. */

import type { Database } from 'bun:sqlite'
import { eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { accounts, keySecrets, keys, topUps } from '../../db/schema.ts'

export const lookUps = (db: Database) => ({ ...keyReads(db), ...operatorReads(db) })

const given = sql.placeholder

function keyReads(db: Database) {
  const orm = drizzle(db)
  return {
    keyOfSecret: orm
      .select({
        id: keys.id,
        accountId: keys.accountId,
        name: keys.name,
        display: keySecrets.display,
        plan: keys.plan,
        limitPicos: keys.limitPicos,
        expiresAt: keys.expiresAt,
        isActive: keys.isActive,
        isAccountActive: accounts.isActive,
        secretValidUntil: keySecrets.validUntil,
      })
      .from(keySecrets)
      .innerJoin(keys, eq(keys.id, keySecrets.keyId))
      .innerJoin(accounts, eq(accounts.id, keys.accountId))
      .where(eq(keySecrets.hash, given('hash')))
      .prepare(),
    /** The key with its account: what it may do and what is left. */
    keyState: orm
      .select({
        isActive: keys.isActive,
        isAccountActive: accounts.isActive,
        expiresAt: keys.expiresAt,
        limitPicos: keys.limitPicos,
        spentPicos: keys.spentPicos,
        balancePicos: accounts.balancePicos,
        lastSyncedAt: keys.lastSyncedAt,
        toppedUpAt: accounts.toppedUpAt,
      })
      .from(keys)
      .innerJoin(accounts, eq(accounts.id, keys.accountId))
      .where(eq(keys.id, given('keyId')))
      .prepare(),
  }
}

function operatorReads(db: Database) {
  const orm = drizzle(db)
  return {
    account: orm
      .select()
      .from(accounts)
      .where(eq(accounts.id, given('accountId')))
      .prepare(),
    accountByName: orm
      .select({ id: accounts.id })
      .from(accounts)
      .where(eq(accounts.name, given('name')))
      .prepare(),
    keyById: orm
      .select({ id: keys.id })
      .from(keys)
      .where(eq(keys.id, given('keyId')))
      .prepare(),
    keyByName: orm
      .select({ id: keys.id })
      .from(keys)
      .where(eq(keys.name, given('name')))
      .prepare(),
    keyIdsOfAccount: orm
      .select({ id: keys.id })
      .from(keys)
      .where(eq(keys.accountId, given('accountId')))
      .prepare(),
    secretOwner: orm
      .select({ keyId: keySecrets.keyId })
      .from(keySecrets)
      .where(eq(keySecrets.hash, given('hash')))
      .prepare(),
    topUpById: orm
      .select()
      .from(topUps)
      .where(eq(topUps.id, given('id')))
      .prepare(),
    topUpByRef: orm
      .select()
      .from(topUps)
      .where(eq(topUps.ref, given('ref')))
      .prepare(),
  }
}
