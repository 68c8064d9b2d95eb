/**
 * Accounts and their keys as the command line shows them: a single one by id or name, or all of them a page at a time. Rules: operator.md "Lists", "Commands"; keys.md
 * "Balance of a key".
 */

import { and, desc, eq, or, type SQL, sql } from 'drizzle-orm'
import type { DatabaseProblem } from '../../../db/problem.ts'
import { accounts, keys } from '../../../db/schema/accounts.ts'
import { availableOf, type KeyRecord, type KeyState } from '../../core/key.ts'
import { type Picos, picos } from '../../core/money.ts'
import type { WindowBalance } from '../../core/spending.ts'
import { hourAt } from '../../core/windows.ts'
import type { KeyWindows } from '../key-state.ts'
import { type Connection, ormOf } from '../sql/connection.ts'
import { windowSums } from '../sql/window-sums.ts'
import { accountColumns, keyColumns } from './key-columns.ts'
import { beginsWith, spellingsIn } from './name-search.ts'
import { type Page, type Paging, pageOf } from './page.ts'

type NameProblem = Readonly<{ problem: 'unknown' | 'ambiguous'; message: string }>
export type ReportProblem = DatabaseProblem | NameProblem

export type KeyReport = KeyRecord &
  Readonly<{
    accountName: string
    spentPicos: Picos
    /** What requests hold that have run for more than a second. */
    heldPicos: Picos
    /** min(account balance, limit − spent); what windows leave is in `sums`. */
    availablePicos: Picos
    createdAt: number
    lastSyncedAt: number
    lastUsedAt: number | null
    /** What is spent in the present windows, and the budgets of key and account; absent where the caller said no time. */
    sums?: KeyWindows
    /** The windows of all budgets that hold for it, as far as rows say. */
    windows?: readonly WindowBalance[]
  }>

export type AccountReport = Readonly<{
  id: string
  name: string
  creditedPicos: Picos
  spentPicos: Picos
  balancePicos: Picos
  /** What requests hold that have run for more than a second. */
  heldPicos: Picos
  isActive: boolean
  /** The ids of end users that requests bring are their tags. */
  tagsUserIds: boolean
  toppedUpAt: number | null
  keyCount: number
  /** The plan that new keys of its customers get; null: the default. */
  plan: string | null
  createdAt: number
}>

/** `name`: the beginning of the name, whatever the case of its letters. `now`: Unix milliseconds at which the state is judged. */
export type KeysQuery = Paging &
  Readonly<{ accountId?: string | undefined; name?: string | undefined; state?: KeyState | undefined; now: number }>
export type AccountsQuery = Paging & Readonly<{ name?: string | undefined; isActive?: boolean | undefined }>

export class AccountLists {
  readonly #db: Connection
  readonly #orm: ReturnType<typeof ormOf>
  readonly #windowSums: ReturnType<typeof windowSums>

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#db = db
    this.#orm = ormOf(db)
    this.#windowSums = windowSums(db)
  }

  /** Newest first. */
  keys({ accountId, name, state, now, after, limit }: KeysQuery): Page<KeyReport> {
    const condition = and(
      accountId === undefined ? undefined : sql`${keys.accountNumber} = (select number from accounts where id = ${accountId})`,
      name === undefined ? undefined : beginsWith(keys.name, [...spellingsIn(this.#db, 'keys', name)]),
      state === undefined ? undefined : isIn(state, now),
      after === undefined ? undefined : sql`${keys.number} < (select number from keys where id = ${after})`,
    )
    return pageOf(this.#keysWhere(condition, limit + 1, now), limit, idOf)
  }

  /** By id, else by name. `now`: Unix milliseconds, for the windows. */
  key(idOrName: string, now?: number): KeyReport | ReportProblem {
    return byIdOrName(this.#keysWhere(or(eq(keys.id, idOrName), eq(keys.name, idOrName)), NAMESAKES_MAX, now), idOrName, 'key')
  }

  /** What an account spent in the present windows, with its budgets, and with all its keys of that plan. Undefined: there is no such account. */
  accountWindows(accountId: string, plan: string, now: number): KeyWindows | undefined {
    const account = this.#orm.select({ number: accounts.number }).from(accounts).where(eq(accounts.id, accountId)).get()?.number
    return account === undefined ? undefined : this.#windowSums({ key: 0, account, plan }, hourAt(now))
  }

  /** Newest first. */
  accounts({ name, isActive, after, limit }: AccountsQuery): Page<AccountReport> {
    const condition = and(
      name === undefined ? undefined : beginsWith(accounts.name, [...spellingsIn(this.#db, 'accounts', name)]),
      isActive === undefined ? undefined : eq(accounts.isActive, isActive),
      after === undefined ? undefined : sql`${accounts.number} < (select number from accounts where id = ${after})`,
    )
    return pageOf(this.#accountsWhere(condition, limit + 1), limit, idOf)
  }

  /** By id, else by name. */
  account(idOrName: string): AccountReport | ReportProblem {
    return byIdOrName(this.#accountsWhere(or(eq(accounts.id, idOrName), eq(accounts.name, idOrName))), idOrName, 'account')
  }

  /** The plans that keys have, each once. */
  plans(): readonly string[] {
    return this.#orm
      .selectDistinct({ plan: keys.plan })
      .from(keys)
      .orderBy(keys.plan)
      .all()
      .map(({ plan }) => plan)
  }

  /** The newest settle, top-up or limit change of all keys, in Unix milliseconds; 0: there are no keys. */
  lastSyncedAt(): number {
    return Number(
      this.#orm
        .select({ at: sql<bigint | null>`max(${keys.lastSyncedAt})` })
        .from(keys)
        .get()?.at ?? 0,
    )
  }

  #keysWhere(condition: SQL | undefined, limit: number, now?: number): readonly KeyReport[] {
    return this.#orm
      .select(keysWithHolds)
      .from(keys)
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .where(condition)
      .orderBy(desc(keys.number))
      .limit(limit)
      .all()
      .map(({ number, accountNumber, balancePicos, toppedUpAt, ...key }) => ({
        ...key,
        ...(now === undefined ? {} : { sums: this.#windowSums({ key: number, account: accountNumber, plan: key.plan }, hourAt(now)) }),
        availablePicos: availableOf({ ...key, balancePicos }),
        lastSyncedAt: Math.max(key.lastSyncedAt, toppedUpAt ?? 0),
      }))
  }

  #accountsWhere(condition: SQL | undefined, limit = NAMESAKES_MAX): readonly AccountReport[] {
    return this.#orm.select(accountsWithHolds).from(accounts).where(condition).orderBy(desc(accounts.number)).limit(limit).all()
  }
}

/** The most ids that are listed if several have the same name. */
const NAMESAKES_MAX = 100

/** The key or account that is meant. `found`: all with that id or name. An id wins over a name; a name that two have is a problem. */
function byIdOrName<T extends Readonly<{ id: string }>>(found: readonly T[], idOrName: string, what: 'key' | 'account'): T | NameProblem {
  const byId = found.find(({ id }) => id === idOrName)
  const [first, second] = found
  if (byId !== undefined) return byId
  if (first === undefined) return { problem: 'unknown', message: `there is no ${what} ${idOrName}` }
  if (second === undefined) return first
  const ids = found.map(({ id }) => id).sort()
  return { problem: 'ambiguous', message: `${idOrName} names ${found.length} ${what}s: ${ids.join(', ')}` }
}

const idOf = ({ id }: Readonly<{ id: string }>): string => id

/** The same states as `stateOf` (core/key.ts), as a condition of SQL. */
function isIn(state: KeyState, now: number): SQL {
  const isOn = sql`(${keys.isActive} = 1 and ${accounts.isActive} = 1)`
  const isOver = sql`(${keys.expiresAt} is not null and ${keys.expiresAt} <= ${now})`
  switch (state) {
    case 'disabled':
      return sql`not ${isOn}`
    case 'expired':
      return sql`${isOn} and ${isOver}`
    case 'live':
      return sql`${isOn} and not ${isOver}`
  }
}

/** The holds of requests in flight, as far as rows have them: requests older than a second have a checkpoint. */
const heldBy = (condition: SQL) =>
  sql<Picos>`(select cast(coalesce(sum(hold_picos), 0) as bigint) from marks where ${condition})`.mapWith((sum: bigint) => picos(sum))

const keysWithHolds = {
  ...keyColumns,
  number: keys.number,
  accountNumber: accounts.number,
  heldPicos: heldBy(sql`marks.key_number = keys.number`),
}

const accountsWithHolds = {
  ...accountColumns,
  heldPicos: heldBy(sql`marks.key_number in (select number from keys where account_number = accounts.number)`),
  keyCount: sql`(select count(*) from keys where keys.account_number = accounts.number)`.mapWith(Number),
}
