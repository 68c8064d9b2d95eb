/** Batches of prepaid codes and the state of each code, as operators see them. Rules: pages.md "Codes"; operator.md "Lists". */

import { desc, eq, lt, or, type SQL, sql } from 'drizzle-orm'
import { accounts } from '../../../db/schema/accounts.ts'
import { codeBatches, codes } from '../../../db/schema/credits.ts'
import type { Picos } from '../../core/money.ts'
import { type Connection, ormOf } from '../sql/connection.ts'
import { type Page, type Paging, pageOf } from './page.ts'

export type BatchRow = Readonly<{
  number: number
  id: string
  name: string
  /** The amount of each code. */
  amountPicos: Picos
  count: number
  redeemed: number
  /** Unix milliseconds. */
  createdAt: number
  expiresAt: number | null
  disabledAt: number | null
}>

type BatchState = 'live' | 'disabled' | 'expired'

export const stateOfBatch = ({ expiresAt, disabledAt }: BatchRow, now: number): BatchState => {
  if (disabledAt !== null) return 'disabled'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'live'
}

export type CodeRow = Readonly<{
  /** The code's place, from 1, in the order in which the codes were shown. */
  place: number
  display: string
  /** The account that redeemed the code, with which credit and when; null: the code is not redeemed. */
  accountId: string | null
  accountName: string | null
  creditId: string | null
  redeemedAt: number | null
}>

export class CodeLists {
  readonly #orm: ReturnType<typeof ormOf>

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#orm = ormOf(db)
  }

  /** Newest first. */
  batches({ after, limit }: Paging): Page<BatchRow> {
    const rows = this.#batchesWhere(after === undefined ? undefined : lt(codeBatches.number, Number(after)), limit + 1)
    return pageOf(rows, limit, ({ number }) => String(number))
  }

  /** By id, else by name. */
  batch(idOrName: string): BatchRow | undefined {
    const found = this.#batchesWhere(or(eq(codeBatches.id, idOrName), eq(codeBatches.name, idOrName)), 2)
    return found.find(({ id }) => id === idOrName) ?? found[0]
  }

  /** All codes of a batch, in the order of their places. The size of a batch is bounded. */
  codes(batchId: string): readonly CodeRow[] {
    return this.#orm
      .select({
        place: codes.place,
        display: codes.display,
        accountId: accounts.id,
        accountName: accounts.name,
        creditId: codes.creditId,
        redeemedAt: codes.redeemedAt,
      })
      .from(codes)
      .leftJoin(accounts, eq(accounts.number, codes.accountNumber))
      .where(sql`batch_number = (select number from code_batches where id = ${batchId})`)
      .orderBy(codes.place)
      .all()
  }

  #batchesWhere(condition: SQL | undefined, limit: number): readonly BatchRow[] {
    const codesOf = (count: string) => sql`(select ${sql.raw(count)} from codes where batch_number = ${codeBatches.number})`.mapWith(Number)
    return this.#orm
      .select({
        number: codeBatches.number,
        id: codeBatches.id,
        name: codeBatches.name,
        amountPicos: codeBatches.amountPicos,
        count: codesOf('max(place)'),
        redeemed: codesOf('count(credit_id)'),
        createdAt: codeBatches.createdAt,
        expiresAt: codeBatches.expiresAt,
        disabledAt: codeBatches.disabledAt,
      })
      .from(codeBatches)
      .where(condition)
      .orderBy(desc(codeBatches.number))
      .limit(limit)
      .all()
  }
}
