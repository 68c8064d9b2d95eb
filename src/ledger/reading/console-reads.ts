/** Reads for operators, beside the writer: accounts and keys by page or by the beginning of a name, and the lists of the command line. Rules: operator.md "Lists". */

import { and, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import { accounts, keySecrets, keys } from '../../../db/schema/accounts.ts'
import { displayOf } from '../../core/key.ts'
import { type Picos, picos } from '../../core/money.ts'
import { type Connection, ormOf } from '../sql/connection.ts'
import { textsIn } from '../sql/sql-list.ts'
import type { ListedKey, SpendPart } from './account-reports.ts'
import { CodeLists } from './code-lists.ts'
import type { AlertFact, AlertKey, ConsoleFindings, ListedAccount } from './console-reports.ts'
import { exploreSlices } from './explore-reads.ts'
import type { ExploreSlices } from './explore-slices.ts'
import { keyColumns, listedAccount, listedAccountColumns, listedKey, listedKeyColumns } from './key-columns.ts'
import { type MarginPart, marginPart } from './margin-reads.ts'
import { beginsWith, LAST4, lowerAscii, spellingsIn, startsWith } from './name-search.ts'
import { OperatorLists } from './operator-lists.ts'
import { OperatorReceipts } from './operator-receipts.ts'
import { OrderedLists } from './ordered-lists.ts'
import { OrderedReceipts } from './ordered-receipts.ts'
import { type Page, pageOf } from './page.ts'
import type { QuestionOf } from './reports.ts'
import { type RepricedPart, repricedPart } from './repriced-receipts.ts'
import { SpendReads } from './spend-reads.ts'

const DISPLAYS_MAX = 20

export class ConsoleReads {
  readonly #db: Connection
  readonly #orm: ReturnType<typeof ormOf>
  readonly #lists: OperatorLists
  readonly #receipts: OperatorReceipts
  readonly #spend: SpendReads
  readonly #codes: CodeLists
  readonly #ordered: OrderedLists
  readonly #orderedReceipts: OrderedReceipts

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#db = db
    this.#orm = ormOf(db)
    this.#lists = new OperatorLists(db)
    this.#receipts = new OperatorReceipts(db)
    this.#spend = new SpendReads(db)
    this.#codes = new CodeLists(db)
    this.#ordered = new OrderedLists(db)
    this.#orderedReceipts = new OrderedReceipts(db)
  }

  accounts({ search = '', after, limit }: QuestionOf<'accounts'>): Page<ListedAccount> | undefined {
    const last = after === undefined ? undefined : this.#orm.select(PLACE_OF_ACCOUNT).from(accounts).where(eq(accounts.id, after)).get()
    if (after !== undefined && last === undefined) return undefined
    const rows = this.#lookUp(accounts, 'acc_', { search, last, limit: limit + 1 }, (where, order, most) =>
      this.#orm
        .select(listedAccountColumns)
        .from(accounts)
        .where(where)
        .orderBy(...order)
        .limit(most)
        .all()
        .map(listedAccount),
    )
    return pageOf(rows, limit, ({ id }) => id)
  }

  keys({ search = '', after, limit }: QuestionOf<'keys'>): Page<ListedKey> | undefined {
    const last = after === undefined ? undefined : this.#orm.select(PLACE_OF_KEY).from(keys).where(eq(keys.id, after)).get()
    if (after !== undefined && last === undefined) return undefined
    const rows = this.#lookUp(keys, 'key_', { search, last, limit: limit + 1 }, (...asked) => this.#keyRows(...asked))
    const page = pageOf(rows, limit, ({ id }) => id)
    const last4 = LAST4.exec(search)?.[1]
    if (last4 === undefined || after !== undefined) return page
    const ofSecret = this.#orm
      .select({ number: keySecrets.keyNumber })
      .from(keySecrets)
      .where(eq(keySecrets.display, displayOf(last4)))
    const found = this.#keyRows(sql`${keys.number} in ${ofSecret}`, [desc(keys.number)], DISPLAYS_MAX)
    return { ...page, rows: [...found, ...page.rows.filter(({ id }) => !found.some((key) => key.id === id))] }
  }

  orderedAccounts({ kind: _, ...query }: QuestionOf<'orderedAccounts'>): ConsoleFindings['orderedAccounts'] {
    return this.#ordered.accounts(query)
  }

  orderedKeys({ kind: _, ...query }: QuestionOf<'orderedKeys'>): ConsoleFindings['orderedKeys'] {
    return this.#ordered.keys(query)
  }

  orderedReceipts({ kind: _, ...query }: QuestionOf<'orderedReceipts'>): ConsoleFindings['orderedReceipts'] {
    return this.#orderedReceipts.part(query)
  }

  names({ accountIds, keyIds }: QuestionOf<'names'>): ConsoleFindings['names'] {
    const found = this.#db
      .query<{ id: string; name: string }, [string, string]>(
        `SELECT id, name FROM accounts WHERE id IN (${textsIn('?1')}) UNION ALL SELECT id, name FROM keys WHERE id IN (${textsIn('?2')})`,
      )
      .all(JSON.stringify(accountIds), JSON.stringify(keyIds))
    return Object.fromEntries(found.flatMap(({ id, name }) => (name === '' ? [] : [[id, name]])))
  }

  receipts({ kind: _, after, ...query }: QuestionOf<'allReceipts'>) {
    return this.#receipts.list({ after, ...query })
  }

  receipt({ requestId }: QuestionOf<'anyReceipt'>): ConsoleFindings['anyReceipt'] {
    const receipt = this.#receipts.receipt(requestId)
    const attempts = this.#receipts.attempts(requestId)
    return receipt === undefined && attempts.length === 0 ? undefined : { receipt, attempts }
  }

  attempts({ requestId, from, to, after, limit }: QuestionOf<'attempts'>): ConsoleFindings['attempts'] {
    return this.#lists.attempts({ requestId, from, to, after, limit })
  }

  credits({ accountId, ref, from, to, after, limit }: QuestionOf<'credits'>): ConsoleFindings['credits'] {
    return this.#lists.credits({ accountId, ref, from, to, after, limit })
  }

  codeBatches({ after, limit }: QuestionOf<'codeBatches'>): ConsoleFindings['codeBatches'] {
    return this.#codes.batches({ after, limit })
  }

  codeBatch({ batch: idOrName }: QuestionOf<'codeBatch'>): ConsoleFindings['codeBatch'] {
    const batch = this.#codes.batch(idOrName)
    return batch && { batch, codes: this.#codes.codes(batch.id) }
  }

  audit({ target, actor, action, from, to, after, limit }: QuestionOf<'audit'>): ConsoleFindings['audit'] {
    return this.#lists.audit({ target, actor, action, from, to, after, limit })
  }

  usageOfDay(question: QuestionOf<'usageOfDay'>): SpendPart | undefined {
    return this.#spend.ofDay(question)
  }

  explore({ measure, ...query }: QuestionOf<'explore'>): ExploreSlices | undefined {
    return exploreSlices(this.#db, query, measure)
  }

  margin(question: QuestionOf<'margin'>): MarginPart | undefined {
    return marginPart(this.#db, question)
  }

  alertFacts({ day, after = '0:0', limit }: QuestionOf<'alertFacts'>): Page<AlertFact> | undefined {
    if (!/^\d{1,15}:\d{1,15}$/.test(after)) return undefined
    const [account = 0, key = 0] = after.split(':').map(Number)
    const rows = this.#orm
      .select({
        accountNumber: accounts.number,
        keyNumber: keys.number,
        accountId: accounts.id,
        accountName: accounts.name,
        isAccountActive: accounts.isActive,
        balancePicos: accounts.balancePicos,
        toppedUpAt: accounts.toppedUpAt,
        id: keys.id,
        name: keys.name,
        display: keyColumns.display,
        isActive: keys.isActive,
        expiresAt: keys.expiresAt,
        limitPicos: keys.limitPicos,
        spentPicos: keys.spentPicos,
        spentOfDayPicos: spentOf(day),
      })
      .from(accounts)
      .leftJoin(keys, eq(keys.accountNumber, accounts.number))
      .where(and(gte(accounts.number, account), sql`(${accounts.number} > ${account} or ${keys.number} > ${key})`))
      .orderBy(accounts.number, keys.number)
      .limit(limit + 1)
      .all()
    const page = pageOf(rows, limit, ({ accountNumber, keyNumber }) => `${accountNumber}:${keyNumber ?? 0}`)
    return { ...page, rows: page.rows.map(({ accountNumber: _, keyNumber: _k, ...row }) => factOf(row)) }
  }

  repriced({ prices, accountId, from, to, after, limit }: QuestionOf<'repriced'>): RepricedPart {
    return repricedPart(this.#db, { prices, accountId, from, to, after, limit })
  }

  /** Looks up by id, by name, or in order of age; each is the order of an index. */
  #lookUp<Row>(
    table: typeof accounts | typeof keys,
    idPrefix: string,
    { search, last, limit }: LookUp,
    rowsOf: RowsOf<Row>,
  ): readonly Row[] {
    if (search === '') return rowsOf(last && lt(table.number, last.number), [desc(table.number)], limit)
    if (search.startsWith(idPrefix))
      return rowsOf(and(startsWith(table.id, search), last && lt(table.id, last.id)), [desc(table.id)], limit)
    const name = sql`lower(${table.name})`
    const isAfter = last && sql`(${name}, ${table.number}) > (${lowerAscii(last.name)}, ${last.number})`
    const rows: Row[] = []
    for (const spelling of spellingsIn(this.#db, table === accounts ? 'accounts' : 'keys', search, last?.name)) {
      rows.push(...rowsOf(and(beginsWith(table.name, [spelling]), isAfter), [name, sql`${table.number}`], limit - rows.length))
      if (rows.length === limit) break
    }
    return rows
  }

  #keyRows(where: SQL | undefined, order: readonly SQL[], limit: number): readonly ListedKey[] {
    return this.#orm
      .select(listedKeyColumns)
      .from(keys)
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .where(where)
      .orderBy(...order)
      .limit(limit)
      .all()
      .map(listedKey)
  }
}

const PLACE_OF_ACCOUNT = { id: accounts.id, name: accounts.name, number: accounts.number }
const PLACE_OF_KEY = { id: keys.id, name: keys.name, number: keys.number }

const spentOf = (day: number) =>
  sql`(select cast(coalesce(sum(cost_picos), 0) as bigint) from usage_daily where key_number = keys.number and day = ${day})`.mapWith(
    (sum: bigint) => picos(sum),
  )

type LastShown = Readonly<{ id: string; name: string; number: number }>

type LookUp = Readonly<{ search: string; last: LastShown | undefined; limit: number }>
type RowsOf<Row> = (where: SQL | undefined, order: readonly SQL[], limit: number) => readonly Row[]

type Joined = Omit<AlertFact, 'key'> & { [Field in keyof AlertKey]: AlertKey[Field] | null }

function factOf({ id, name, display, isActive, expiresAt, limitPicos, spentPicos, spentOfDayPicos, ...account }: Joined): AlertFact {
  if (id === null || name === null || isActive === null || spentPicos === null) return { ...account, key: null }
  const spent: { spentPicos: Picos; spentOfDayPicos: Picos } = { spentPicos, spentOfDayPicos: spentOfDayPicos ?? picos(0n) }
  return { ...account, key: { id, name, display: display ?? '', isActive, expiresAt, limitPicos, ...spent } }
}
