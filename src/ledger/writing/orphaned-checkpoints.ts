/** Reads the checkpoints of processes that are gone, with what receipts need of them. Each store knows itself which processes are gone. Rules: ledger.md "Recovery". */

import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { accounts, keys } from '../../../db/schema/accounts.ts'
import { models, priceVersions, upstreams } from '../../../db/schema/prices.ts'
import { marks } from '../../../db/schema/requests.ts'
import { type Connection, ormOf } from '../sql/connection.ts'

export type OrphanedCheckpoint = ReturnType<ReturnType<typeof prepareOrphanedCheckpoints>['all']>[number]

const upstreamCosts = alias(priceVersions, 'upstream_costs')

/** `isLeft`: the condition by which a checkpoint is orphaned. `limit`: how many rows are read at once. */
export const prepareOrphanedCheckpoints = (db: Connection, isLeft: SQL, limit: number) =>
  ormOf(db)
    .select({
      checkpoint: marks,
      accountNumber: accounts.number,
      modelId: models.id,
      price: priceVersions,
      upstreamCost: upstreamCosts,
      upstream: upstreams,
      otherAttempts: sql`(select count(*) from attempts where attempts.request_id = marks.request_id)`.mapWith(Number),
    })
    .from(marks)
    .innerJoin(keys, eq(keys.number, marks.keyNumber))
    .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
    .innerJoin(priceVersions, eq(priceVersions.number, marks.priceNumber))
    .innerJoin(models, eq(models.number, priceVersions.modelNumber))
    .leftJoin(upstreamCosts, eq(upstreamCosts.number, marks.upstreamCostNumber))
    .leftJoin(upstreams, eq(upstreams.number, marks.upstreamNumber))
    .where(isLeft)
    .limit(limit)
    .prepare()
