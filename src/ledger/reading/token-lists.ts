/** Tokens of the operator's API as operators see them. Rules: operator-api.md "Tokens"; operator.md "Lists". */

import { desc, eq, lt, or, type SQL } from 'drizzle-orm'
import { apiTokens } from '../../../db/schema/operator-api.ts'
import { accountIdsOf, type TokenRecord } from '../../core/api-token.ts'
import { type Connection, ormOf } from '../sql/connection.ts'
import { type Page, type Paging, pageOf } from './page.ts'

export type TokenRow = TokenRecord & Readonly<{ number: number; display: string; createdAt: number }>

export class TokenLists {
  readonly #orm: ReturnType<typeof ormOf>

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#orm = ormOf(db)
  }

  /** Newest first. */
  tokens({ after, limit }: Paging): Page<TokenRow> {
    const rows = this.#where(after === undefined ? undefined : lt(apiTokens.number, Number(after)), limit + 1)
    return pageOf(rows, limit, ({ number }) => String(number))
  }

  /** By id or name: no token has the id of another one as its name. */
  token(idOrName: string): TokenRow | undefined {
    return this.#where(or(eq(apiTokens.id, idOrName), eq(apiTokens.name, idOrName)), 1)[0]
  }

  #where(condition: SQL | undefined, limit: number): readonly TokenRow[] {
    return this.#orm
      .select()
      .from(apiTokens)
      .where(condition)
      .orderBy(desc(apiTokens.number))
      .limit(limit)
      .all()
      .map(({ hash: _, accountIds, ...token }) => ({ ...token, accountIds: accountIdsOf(accountIds) }))
  }
}
