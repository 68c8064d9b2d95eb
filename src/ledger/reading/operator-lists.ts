/**
 * Lists for operators, newest first and a page at a time: the audit log, credits, attempts, use by day. Every order and filter is that of an index, so
 * that the last page costs as much as the first. Rules: operator.md "Lists".
 */

import { and, desc, eq, getTableColumns, gte, inArray, lt, lte, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { accounts, keys } from '../../../db/schema/accounts.ts'
import { auditLog } from '../../../db/schema/audit-log.ts'
import { credits } from '../../../db/schema/credits.ts'
import { models, priceVersions, upstreams } from '../../../db/schema/prices.ts'
import { attempts } from '../../../db/schema/requests.ts'
import { usageDaily } from '../../../db/schema/roll-ups.ts'
import { type Picos, picos } from '../../core/money.ts'
import type { Usage } from '../../core/usage.ts'
import { dayText } from '../../core/utc.ts'
import { type Connection, ormOf } from '../sql/connection.ts'
import { type AttemptRow, attemptOf } from './attempt-rows.ts'
import { DAY_SUMS } from './day-sums.ts'
import { LOOKED_AT_MAX, type Page, type Paging, pageOf } from './page.ts'

/** Unix milliseconds: `from` and later, before `to`. */
export type Range = Readonly<{ from: number | undefined; to: number | undefined }>

/** `actor` and `action` have no index: if one is given, a page looks at 10,000 lines at most, and may hold fewer than asked for. */
export type AuditQuery = Paging & Range & Readonly<{ target: string | undefined; actor?: string | undefined; action?: string | undefined }>
export type CreditsQuery = Paging & Range & Readonly<{ accountId: string | undefined; ref: string | undefined }>
export type AttemptsQuery = Paging & Range & Readonly<{ requestId: string | undefined }>
/** Days are whole UTC days since 1970, both included. */
export type UsageQuery = Paging & Readonly<{ keyId?: string; accountId?: string; fromDay?: number; toDay?: number }>

/** `targetName`: the name of the account, key, batch of codes or token that the line is about, as it is now; null where it is about something else. */
export type AuditRow = typeof auditLog.$inferSelect & Readonly<{ targetName: string | null }>
export type CreditRow = Pick<typeof credits.$inferSelect, 'id' | 'kind' | 'amountPicos' | 'ref' | 'actor' | 'reason' | 'createdAt'> &
  Readonly<{ accountId: string; accountName: string }>
/** The use of a model by a key on a day (`YYYY-MM-DD`, UTC). */
export type UsageReport = Readonly<{
  day: string
  keyId: string
  keyName: string
  accountId: string
  modelId: string
  requests: number
  usage: Usage
  costPicos: Picos
  waivedPicos: Picos
}>
/** The sums over all pages. */
export type UsageTotal = Readonly<{ requests: number; costPicos: Picos; waivedPicos: Picos }>

const nameIn = (table: 'accounts' | 'keys' | 'code_batches' | 'api_tokens') => sql.raw(`(select name from ${table} where id = target)`)
const TARGET_NAME = sql<
  string | null
>`coalesce(${nameIn('accounts')}, ${nameIn('keys')}, ${nameIn('code_batches')}, ${nameIn('api_tokens')})`
const LIMB = 1_000_000n

export class OperatorLists {
  readonly #orm: ReturnType<typeof ormOf>

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#orm = ormOf(db)
  }

  audit({ target, actor, action, from, to, after, limit }: AuditQuery): Page<AuditRow> {
    const id = after === undefined ? undefined : Number(after)
    const inOrder = [desc(auditLog.at), desc(auditLog.id)]
    const indexed = and(
      given(target, (wanted) => eq(auditLog.target, wanted)),
      given(from, (time) => gte(auditLog.at, time)),
      given(to, (time) => lt(auditLog.at, time)),
      given(id, (last) => sql`(at, id) < (select at, id from audit_log where id = ${last})`),
    )
    const lines = () => this.#orm.select({ ...getTableColumns(auditLog), targetName: TARGET_NAME }).from(auditLog)
    if (actor === undefined && action === undefined) {
      const rows = lines()
        .where(indexed)
        .orderBy(...inOrder)
        .limit(limit + 1)
        .all()
      return pageOf(rows, limit, placeOfLine)
    }
    const looked = this.#orm
      .select({ id: auditLog.id })
      .from(auditLog)
      .where(indexed)
      .orderBy(...inOrder)
      .limit(LOOKED_AT_MAX)
    const wanted = and(
      inArray(auditLog.id, looked),
      given(actor, (name) => eq(auditLog.actor, name)),
      given(action, (name) => eq(auditLog.action, name)),
    )
    const rows = lines()
      .where(wanted)
      .orderBy(...inOrder)
      .limit(limit + 1)
      .all()
    const page = pageOf(rows, limit, placeOfLine)
    if (page.next !== null) return page
    const [last] = this.#orm
      .select({ id: auditLog.id })
      .from(auditLog)
      .where(indexed)
      .orderBy(...inOrder)
      .limit(1)
      .offset(LOOKED_AT_MAX - 1)
      .all()
    return { ...page, next: last === undefined ? null : placeOfLine(last) }
  }

  credits({ accountId, ref, from, to, after, limit }: CreditsQuery): Page<CreditRow> {
    const rows = this.#orm
      .select({
        id: credits.id,
        accountId: accounts.id,
        accountName: accounts.name,
        kind: credits.kind,
        amountPicos: credits.amountPicos,
        ref: credits.ref,
        actor: credits.actor,
        reason: credits.reason,
        createdAt: credits.createdAt,
      })
      .from(credits)
      .innerJoin(accounts, eq(accounts.number, credits.accountNumber))
      .where(
        and(
          given(accountId, (id) => sql`account_number = (select number from accounts where id = ${id})`),
          given(ref, (wanted) => sql`ref = ${wanted} and ref <> ''`),
          given(from, (time) => gte(credits.id, idAt('crd', time))),
          given(to, (time) => lt(credits.id, idAt('crd', time))),
          given(after, (last) => lt(credits.id, last)),
        ),
      )
      .orderBy(desc(credits.id))
      .limit(limit + 1)
      .all()
    return pageOf(rows, limit, ({ id }) => id)
  }

  attempts({ requestId, from, to, after, limit }: AttemptsQuery): Page<AttemptRow> {
    const [lastRequest, lastAttempt] = after?.split(':') ?? []
    const rows = this.#orm
      .select({ attempt: attempts, accountId: accounts.id, keyId: keys.id, modelId: models.id, upstream: upstreams })
      .from(attempts)
      .innerJoin(accounts, eq(accounts.number, attempts.accountNumber))
      .innerJoin(keys, eq(keys.number, attempts.keyNumber))
      .innerJoin(priceVersions, eq(priceVersions.number, attempts.priceNumber))
      .innerJoin(models, eq(models.number, priceVersions.modelNumber))
      .innerJoin(upstreams, eq(upstreams.number, attempts.upstreamNumber))
      .where(
        and(
          given(requestId, (id) => eq(attempts.requestId, id)),
          given(from, (time) => gte(attempts.requestId, idAt('req', time))),
          given(to, (time) => lt(attempts.requestId, idAt('req', time))),
          given(lastRequest, (id) => sql`(request_id, attempt) < (${id}, ${Number(lastAttempt)})`),
        ),
      )
      .orderBy(desc(attempts.requestId), desc(attempts.attempt))
      .limit(limit + 1)
      .all()
      .map(attemptOf)
    return pageOf(rows, limit, (row) => `${row.requestId}:${row.number}`)
  }

  /** Newest day first. */
  usage(query: UsageQuery): Page<UsageReport> {
    const [day, key, model] = query.after?.split(':').map(Number) ?? []
    const place = sql`(day, key_number, model_number) < (${day}, ${key}, ${model})`
    const rows = this.#orm
      .select({
        day: usageDaily.day,
        place: sql<string>`${usageDaily.day} || ':' || ${usageDaily.keyNumber} || ':' || ${usageDaily.modelNumber}`,
        keyId: oneOf(keys.id),
        keyName: oneOf(keys.name),
        accountId: oneOf(accounts.id),
        modelId: oneOf(models.id),
        ...DAY_SUMS,
      })
      .from(usageDaily)
      .innerJoin(keys, eq(keys.number, usageDaily.keyNumber))
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .innerJoin(models, eq(models.number, usageDaily.modelNumber))
      .where(and(usageCondition(query), query.after === undefined ? undefined : place))
      .groupBy(usageDaily.day, usageDaily.keyNumber, usageDaily.modelNumber)
      .orderBy(desc(usageDaily.day), desc(usageDaily.keyNumber), desc(usageDaily.modelNumber))
      .limit(query.limit + 1)
      .all()
    const page = pageOf(rows, query.limit, ({ place: last }) => last)
    return { ...page, rows: page.rows.map(({ place: _, day: number, ...row }) => ({ day: dayText(number), ...row })) }
  }

  /** The sums of all pages, in two limbs: int64 picodollars end at 9.2 million USD. */
  usageTotal(query: UsageQuery): UsageTotal {
    const sumOf = (what: string) => sql<bigint>`CAST(coalesce(sum(${sql.raw(what)}), 0) AS BIGINT)`
    const total = this.#orm
      .select({
        requests: sumOf('requests'),
        costHigh: sumOf('cost_picos / 1000000'),
        costLow: sumOf('cost_picos % 1000000'),
        waivedHigh: sumOf('waived_picos / 1000000'),
        waivedLow: sumOf('waived_picos % 1000000'),
      })
      .from(usageDaily)
      .where(usageCondition(query))
      .get()
    if (total === undefined) throw new Error('a sum without a row')
    return {
      requests: Number(total.requests),
      costPicos: picos(total.costHigh * LIMB + total.costLow),
      waivedPicos: picos(total.waivedHigh * LIMB + total.waivedLow),
    }
  }
}

const placeOfLine = ({ id }: Pick<AuditRow, 'id'>): string => String(id)

const usageCondition = ({ keyId, accountId, fromDay, toDay }: UsageQuery): SQL | undefined =>
  and(
    given(keyId, (id) => sql`key_number = (select number from keys where id = ${id})`),
    given(
      accountId,
      (id) => sql`key_number in (select number from keys where account_number = (select number from accounts where id = ${id}))`,
    ),
    given(fromDay, (day) => gte(usageDaily.day, day)),
    given(toDay, (day) => lte(usageDaily.day, day)),
  )

const given = <T>(value: T | undefined, condition: (value: T) => SQL): SQL | undefined =>
  value === undefined ? undefined : condition(value)

/** The first id of a millisecond: ids are a word and a UUIDv7, whose first 48 bits are its time. */
export const idAt = (prefix: 'crd' | 'req', time: number): string => `${prefix}_${Math.max(0, time).toString(16).padStart(12, '0')}`

/** The value of a column that is the same in all rows of a group. */
const oneOf = (column: SQLiteColumn): SQL<string> => sql<string>`min(${column})`
