/** The keys that came from other gateways: what an import must know of them, and how their money stands now. Rules: operator.md "Import". */

import type { KnownKey } from '../../core/import/against-ledger.ts'
import type { ImportSystem } from '../../core/import/systems.ts'
import type { Picos } from '../../core/money.ts'
import type { Connection } from '../sql/connection.ts'

/** `then…`: when it came. `spentPicos`: the sum of its receipts here. A `limit…` null: it had, or has, none. */
export type ImportedKeyNow = Readonly<{
  system: ImportSystem
  source: string
  sourceAccount: string
  keyId: string
  accountId: string
  importedAt: bigint
  thenLimitPicos: Picos | null
  limitPicos: Picos | null
  spentPicos: Picos
  /** What the wallet counts as spent. */
  countedPicos: Picos
}>

/** `thenPicos`: what an import credited. `creditedPicos`: all other credits and refunds since. */
export type ImportedAccountNow = Readonly<{
  accountId: string
  accountName: string
  sources: string
  thenPicos: Picos
  creditedPicos: Picos
  spentPicos: Picos
  balancePicos: Picos
}>

export class ImportedKeys {
  readonly #known
  readonly #hashes
  readonly #names
  readonly #keys
  readonly #accounts

  constructor(db: Connection) {
    this.#known = db.query<KnownKey, { system: string }>(
      `SELECT source_key AS source, source_account AS "sourceAccount", accounts.id AS "accountId", keys.name AS "keyName", account_picos AS "accountPicos"
       FROM imported_keys JOIN keys ON keys.number = key_number JOIN accounts ON accounts.number = keys.account_number
       WHERE system = $system ORDER BY keys.number`,
    )
    this.#hashes = db.query<{ hash: string }, []>("SELECT lower(hex(hash)) AS hash FROM key_secrets WHERE form <> 'own'")
    this.#names = db.query<{ name: string }, []>("SELECT name FROM accounts WHERE name <> ''")
    this.#keys = db.query<ImportedKeyNow, []>(
      `SELECT i.system, source_key AS source, source_account AS "sourceAccount", keys.id AS "keyId", accounts.id AS "accountId", imported_at AS "importedAt",
         i.limit_picos AS "thenLimitPicos", keys.limit_picos AS "limitPicos", keys.spent_picos AS "countedPicos",
         coalesce(CAST((SELECT sum(cost_picos) FROM receipts WHERE receipts.key_number = keys.number) AS BIGINT), 0) AS "spentPicos"
       FROM imported_keys i JOIN keys ON keys.number = i.key_number JOIN accounts ON accounts.number = keys.account_number ORDER BY keys.number`,
    )
    this.#accounts = db.query<ImportedAccountNow, []>(
      `SELECT a.id AS "accountId", a.name AS "accountName", c.sources, c.credited AS "thenPicos", a.credited_picos - c.credited AS "creditedPicos",
         coalesce(CAST((SELECT sum(cost_picos) FROM receipts WHERE receipts.account_number = a.number) AS BIGINT), 0) AS "spentPicos",
         a.balance_picos AS "balancePicos"
       FROM (
         SELECT o.account_number, min(o.source) AS sources, CAST(sum(coalesce(credits.amount_picos, 0)) AS BIGINT) AS credited
         FROM (SELECT DISTINCT keys.account_number, system || ':' || source_account AS source FROM imported_keys JOIN keys ON keys.number = key_number) o
         LEFT JOIN credits ON credits.ref = 'import:' || o.source AND credits.account_number = o.account_number
         GROUP BY o.account_number
       ) c JOIN accounts a ON a.number = c.account_number ORDER BY a.number`,
    )
  }

  /** The keys that came from this system. */
  known(system: ImportSystem): readonly KnownKey[] {
    return this.#known.all({ system })
  }

  /** The hashes of all imported secrets, in hex. */
  hashes(): ReadonlySet<string> {
    return new Set(this.#hashes.all().map(({ hash }) => hash))
  }

  accountNames(): ReadonlySet<string> {
    return new Set(this.#names.all().map(({ name }) => name))
  }

  keysNow(): readonly ImportedKeyNow[] {
    return this.#keys.all()
  }

  accountsNow(): readonly ImportedAccountNow[] {
    return this.#accounts.all()
  }
}
