/**
 * Accounts and keys in the order of a figure or a name. No index serves that, so it is the order of the newest 10,000, or of the first 10,000 that a search finds, and the
 * answer says whether these are all. Rules: operator.md "Lists"; ledger.md "Reads".
 */

import { eq, inArray } from 'drizzle-orm'
import { accounts, keys } from '../../../db/schema/accounts.ts'
import { displayOf } from '../../core/key.ts'
import { withoutCase } from '../../core/letter-case.ts'
import { type Connection, ormOf, type Value } from '../sql/connection.ts'
import type { ListedKey } from './account-reports.ts'
import type { ListedAccount } from './console-reports.ts'
import { listedAccount, listedAccountColumns, listedKey, listedKeyColumns } from './key-columns.ts'
import { ACCOUNT_ORDERS, type AccountOrder, KEY_ORDERS, type KeyOrder, type Ordered, type OrderedQuery, TEXTS } from './list-orders.ts'
import { isFallingOrder, isStoredNumber, type ListPlace, placeIn, placeText } from './list-place.ts'
import { END, LAST4, spellingsIn } from './name-search.ts'
import { LOOKED_AT_MAX, pageOf } from './page.ts'

type Values = Record<string, Value>

type Of = Readonly<{ table: 'accounts' | 'keys'; joined: string; isOn: string; prefix: string; orders: Readonly<Record<string, string>> }>
const ACCOUNTS: Of = { table: 'accounts', joined: 'accounts t', isOn: 't.is_active = 1', prefix: 'acc_', orders: ACCOUNT_ORDERS }
const KEYS: Of = {
  table: 'keys',
  joined: 'keys t JOIN accounts a ON a.number = t.account_number',
  isOn: '(t.is_active = 1 AND a.is_active = 1)',
  prefix: 'key_',
  orders: KEY_ORDERS,
}

type Found = Readonly<{ number: bigint; id: string; value: bigint | string }>
type Named = Found & Readonly<{ value: string }>

export class OrderedLists {
  readonly #db: Connection
  readonly #orm: ReturnType<typeof ormOf>

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#db = db
    this.#orm = ormOf(db)
  }

  /** Undefined: `after` is no place of this list. */
  accounts(query: OrderedQuery<AccountOrder>): Ordered<ListedAccount> | undefined {
    return this.#page(ACCOUNTS, query, (numbers) =>
      this.#orm.select(listedAccountColumns).from(accounts).where(inArray(accounts.number, numbers)).all().map(listedAccount),
    )
  }

  keys(query: OrderedQuery<KeyOrder>): Ordered<ListedKey> | undefined {
    return this.#page(KEYS, query, (numbers) =>
      this.#orm
        .select(listedKeyColumns)
        .from(keys)
        .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
        .where(inArray(keys.number, numbers))
        .all()
        .map(listedKey),
    )
  }

  #page<Row extends Readonly<{ id: string }>>(
    of: Of,
    query: OrderedQuery<string>,
    rowsOf: (numbers: number[]) => readonly Row[],
  ): Ordered<Row> | undefined {
    return this.#db.transaction(() => {
      const place = query.after === undefined ? undefined : placeIn(query.after)
      if (query.after !== undefined && place === undefined) return undefined
      const top = this.#numberOf(of, query, place?.top)
      if (top === undefined) return query.after === undefined ? { rows: [], next: null, among: 0, isAll: true, left: 0 } : undefined
      const looked = lookedAt(this.#db, of, query, top.number)
      const found = this.#found(of, query, looked, place)
      if (found === undefined) return undefined
      const { rows: shown, next } = pageOf(found, query.limit, ({ id, value }) => placeText({ top: top.id, id, value: String(value) }))
      const byId = new Map(rowsOf(shown.map(({ number }) => Number(number))).map((row) => [row.id, row]))
      const rows = shown.map(({ id }) => byId.get(id)).filter((row) => row !== undefined)
      const { among, left, below } = this.#extent(of, looked)
      const goesOn = query.order === '-created' && looked.isByAge && below !== null
      return {
        rows,
        next: next ?? (goesOn ? placeText({ top: below }) : null),
        among,
        isAll: below === null,
        left,
      }
    })()
  }

  /** The row of an id, or the newest one; of one account alone, where the question is of one: the id of another's row is as unknown as one that no row has. */
  #numberOf({ table }: Of, { accountId }: OrderedQuery<string>, id: string | undefined) {
    const isIt = id === undefined ? '' : ' AND id = $id'
    const row = this.#db
      .query<{ number: bigint; id: string }, Values>(
        `SELECT number, id FROM ${table} WHERE 1 = 1${isIt}${ofAccount(accountId)} ORDER BY number DESC LIMIT 1`,
      )
      .get({ ...(id === undefined ? {} : { id }), ...(accountId === undefined ? {} : { account: accountId }) })
    return row ?? undefined
  }

  #found(listed: Of, query: OrderedQuery<string>, looked: Looked, place: ListPlace | undefined): readonly Found[] | undefined {
    const isFalling = isFallingOrder(query.order)
    const word = query.order.replace('-', '')
    const { joined, isOn, orders } = listed
    const value = orders[word]
    if (value === undefined) return undefined
    const way = isFalling ? 'DESC' : 'ASC'
    const last = place?.id === undefined ? undefined : this.#numberOf(listed, query, place.id)
    if (place?.id !== undefined && last === undefined) return undefined
    const of = `FROM ${joined} WHERE t.number IN (${looked.sql}) ${query.onlyActive === true ? `AND ${isOn}` : ''}`
    if (TEXTS.includes(word)) {
      const named = this.#db.query<Named, Values>(`SELECT t.number, t.id, ${value} AS value ${of}`).all(looked.values)
      return byName(named, isFalling, last && { value: place?.value ?? '', number: last.number }).slice(0, query.limit + 1)
    }
    if (place?.value !== undefined && !isStoredNumber(place.value)) return undefined
    const cast = 'CAST(CAST($value AS TEXT) AS BIGINT)'
    const isBehind = last === undefined ? '' : `AND (${value}, t.number) ${isFalling ? '<' : '>'} (${cast}, $last)`
    return this.#db
      .query<Found, Values>(
        `SELECT t.number, t.id, ${value} AS value ${of} ${isBehind}
         ORDER BY ${value} ${way}, t.number ${way} LIMIT $rows`,
      )
      .all({
        ...looked.values,
        rows: query.limit + 1,
        ...(last === undefined ? {} : { value: place?.value ?? '', last: last.number }),
      })
  }

  /** `below`: the first row that is not looked at; null where there is none. */
  #extent({ joined, isOn }: Of, looked: Looked) {
    const counted = this.#db
      .query<{ among: bigint; off: bigint }, Values>(
        `SELECT count(*) AS among, CAST(coalesce(sum(CASE WHEN ${isOn} THEN 0 ELSE 1 END), 0) AS BIGINT) AS off
         FROM ${joined} WHERE t.number IN (${looked.sql})`,
      )
      .get(looked.values)
    const below = this.#db.query<{ id: string }, Values>(looked.below).get(looked.values)
    return { among: Number(counted?.among ?? 0), left: Number(counted?.off ?? 0), below: below?.id ?? null }
  }
}

/** `sql`: a select of the numbers of the rows that are ordered. `below`: of the id of the first that is not. `isByAge`: all rows that are not are older than those that are. */
type Looked = Readonly<{ sql: string; below: string; isByAge: boolean; values: Values }>

const ofAccount = (accountId: string | undefined): string =>
  accountId === undefined ? '' : ' AND account_number = (SELECT number FROM accounts WHERE id = $account)'

const ENDED_MAX = 20
const ofSecret = (accountId: string | undefined): string =>
  `SELECT number FROM keys WHERE number IN (SELECT key_number FROM key_secrets WHERE display = $display) AND number <= $top${ofAccount(accountId)} LIMIT ${ENDED_MAX}`

/** Those behind `last` in the order of their names: a store knows the case of A to Z alone. */
function byName(rows: readonly Named[], isFalling: boolean, last: Pick<Named, 'value' | 'number'> | undefined): readonly Named[] {
  const way = isFalling ? -1 : 1
  const compare = (one: Pick<Named, 'value' | 'number'>, other: Pick<Named, 'value' | 'number'>): number =>
    way * (one.value === other.value ? Number(one.number - other.number) : one.value < other.value ? -1 : 1)
  const folded = rows.map((row) => ({ ...row, value: withoutCase(row.value) }))
  return folded.filter((row) => last === undefined || compare(row, last) > 0).toSorted(compare)
}

function lookedAt(db: Connection, of: Of, query: OrderedQuery<string>, top: bigint): Looked {
  const { table, prefix } = of
  const { search = '', accountId } = query
  const values = { top, ...(accountId === undefined ? {} : { account: accountId }) }
  const from = `FROM ${table} WHERE number <= $top${ofAccount(accountId)}`
  const looked = (rows: string, order: string, more: Values, isByAge: boolean): Looked => ({
    sql: `SELECT number FROM (SELECT number ${rows} ORDER BY ${order} LIMIT ${LOOKED_AT_MAX}) looked`,
    below: `SELECT id ${rows} ORDER BY ${order} LIMIT 1 OFFSET ${LOOKED_AT_MAX}`,
    isByAge,
    values: { ...values, ...more },
  })
  if (search === '') return looked(from, 'number DESC', {}, true)
  if (search.startsWith(prefix))
    return looked(`${from} AND id >= $begin AND id < $end`, 'number DESC', { begin: search, end: search + END }, true)
  const spellings = [...spellingsIn(db, table, search)]
  const ranges = spellings.map(
    (_, n) => `SELECT * FROM (SELECT number, id, lower(name) AS name ${from}
    AND lower(name) >= $begin${n} AND lower(name) < $end${n} ORDER BY lower(name), number LIMIT ${LOOKED_AT_MAX + 1}) spelled${n}`,
  )
  const named = ranges.length === 0 ? `${from} AND 1 = 0` : `FROM (${ranges.join(' UNION ALL ')}) named`
  const begins = Object.fromEntries(spellings.flatMap((text, n) => [[`begin${n}`, text] as const, [`end${n}`, text + END] as const]))
  const found = looked(named, 'name, number', begins, false)
  const last4 = table === 'keys' ? LAST4.exec(search)?.[1] : undefined
  if (last4 === undefined) return found
  return {
    ...found,
    sql: `${found.sql} UNION SELECT number FROM (${ofSecret(accountId)}) ended`,
    values: { ...found.values, display: displayOf(last4) },
  }
}
