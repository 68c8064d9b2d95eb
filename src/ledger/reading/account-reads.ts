/**
 * Reads for the people of an account: the account, its keys, requests, credits and spend. Every statement names the account and looks at a bounded number
 * of rows. Rules: ledger.md "Reads".
 */

import { and, desc, eq, lt, sql } from 'drizzle-orm'
import { accounts, keys } from '../../../db/schema/accounts.ts'
import { credits } from '../../../db/schema/credits.ts'
import { models } from '../../../db/schema/prices.ts'
import type { ReceiptRow } from '../columns/receipt.ts'
import { type Connection, ormOf } from '../sql/connection.ts'
import type {
  AccountAtRest,
  AccountCredit,
  AccountFindings,
  AccountReceipt,
  ListedKey,
  OtherCall,
  ReceiptWithCalls,
  SpendPart,
} from './account-reports.ts'
import type { AttemptRow } from './attempt-rows.ts'
import { accountColumns, listedKey, listedKeyColumns } from './key-columns.ts'
import { type Page, pageOf } from './page.ts'
import { ReceiptPages } from './receipt-pages.ts'
import type { QuestionOf } from './reports.ts'
import { SpendHours } from './spend-hours.ts'
import { SpendReads } from './spend-reads.ts'
import { SpendByTag } from './spend-tags.ts'

/** How many keys of an account are read at most for the account's own figures. */
const KEYS_COUNTED_MAX = 10_000
const NEWEST = Number.MAX_SAFE_INTEGER
/** A place in the list before every credit. The place has the lane, because lanes are written in parallel. */
const NEWEST_CREDIT = { createdAt: NEWEST, lane: NEWEST, seq: NEWEST }

export class AccountReads {
  readonly #pages: ReceiptPages
  readonly #spend: SpendReads
  readonly #spendByTag: SpendByTag
  readonly #hours: SpendHours
  readonly #statements: ReturnType<typeof prepare>

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#pages = new ReceiptPages(db)
    this.#spend = new SpendReads(db)
    this.#spendByTag = new SpendByTag(db, this.#spend)
    this.#hours = new SpendHours(db)
    this.#statements = prepare(db)
  }

  account({ accountId }: QuestionOf<'account'>): AccountAtRest | undefined {
    const account = this.#statements.account.get({ accountId })
    if (account === undefined) return undefined
    const { number, ...facts } = account
    const keysOf = this.#statements.keyTimes.get({ account: number, limit: KEYS_COUNTED_MAX + 1 })
    const count = Number(keysOf?.count ?? 0)
    return {
      ...facts,
      keyCount: Math.min(count, KEYS_COUNTED_MAX),
      hasMoreKeys: count > KEYS_COUNTED_MAX,
      lastUsedAt: numberOrNull(keysOf?.used),
      lastSyncedAt: Math.max(Number(keysOf?.synced ?? 0), facts.toppedUpAt ?? 0, facts.createdAt),
    }
  }

  keys({ accountId, after, limit }: QuestionOf<'accountKeys'>): Page<ListedKey> | undefined {
    const account = this.#numberOf(accountId)
    const before = after === undefined ? NEWEST : this.#keyNumber(accountId, after)
    if (account === undefined || before === undefined) return undefined
    const rows = this.#statements.keys.all({ account, before, rows: limit + 1 })
    return pageOf(rows.map(listedKey), limit, ({ id }) => id)
  }

  key({ accountId, keyId }: QuestionOf<'accountKey'>): ListedKey | undefined {
    const key = this.#statements.key.get({ accountId, keyId })
    return key === undefined ? undefined : listedKey(key)
  }

  hasKeys({ accountIds, keyIds }: Omit<QuestionOf<'hasKeys'>, 'kind'>): boolean {
    return this.#pages.hasKeys({ accountIds, keyIds })
  }

  plans({ accountId }: QuestionOf<'accountPlans'>): AccountFindings['accountPlans'] {
    const account = this.#statements.account.get({ accountId })
    if (account === undefined) return undefined
    const found = this.#statements.plans.all({ account: account.number, limit: KEYS_COUNTED_MAX })
    return { ofKeys: found.map(({ plan }) => plan), ofNewKeys: account.plan }
  }

  receipts({ kind: _, accountId, keyIds, ...query }: QuestionOf<'accountReceipts'>): Page<AccountReceipt> | undefined {
    if (this.#numberOf(accountId) === undefined || (keyIds !== undefined && !this.hasKeys({ keyIds, accountIds: [accountId] })))
      return undefined
    const page = this.#pages.page({ of: { accountIds: [accountId], keyIds }, ...query })
    return page && { rows: page.rows.map(publicReceipt), next: page.next }
  }

  receipt({ accountId, requestId }: QuestionOf<'accountReceipt'>): ReceiptWithCalls | undefined {
    const receipt = this.#pages.receipt(requestId)
    if (receipt?.accountId !== accountId) return undefined
    return { receipt: publicReceipt(receipt), calls: this.#pages.attempts(requestId).map(publicCall) }
  }

  credits({ accountId, after, limit }: QuestionOf<'accountCredits'>): Page<AccountCredit> | undefined {
    const account = this.#numberOf(accountId)
    const before = after === undefined || account === undefined ? NEWEST_CREDIT : this.#statements.creditPlace.get({ account, id: after })
    if (account === undefined || before === undefined) return undefined
    return pageOf(this.#statements.credits.all({ account, ...before, rows: limit + 1 }), limit, ({ id }) => id)
  }

  spend(question: QuestionOf<'spend'>): SpendPart | undefined {
    const walk = this.#walkOf(question)
    const isByTag = question.by === 'tag' && question.tag === undefined
    return walk && (isByTag ? this.#spendByTag.part(question, walk) : this.#spend.part(question, walk))
  }

  spendHours(question: QuestionOf<'spendHours'>): SpendPart | undefined {
    const walk = this.#walkOf(question)
    return walk && this.#hours.part(question, walk)
  }

  /** Undefined: no such account, or no such key of it. */
  #walkOf({ accountId, keyId, modelId, tag }: QuestionOf<'spend' | 'spendHours'>) {
    const account = this.#numberOf(accountId)
    const onlyKey = keyId === undefined ? null : this.#keyNumber(accountId, keyId)
    if (account === undefined || onlyKey === undefined) return undefined
    // A model that was never asked for has no number; 0 is no model's number.
    const onlyModel = modelId === undefined ? null : (this.#statements.model.get({ modelId })?.number ?? 0)
    return { account, onlyKey, onlyModel, onlyTag: tag ?? null }
  }

  #numberOf(accountId: string): number | undefined {
    return this.#statements.account.get({ accountId })?.number
  }

  /** Undefined: the account has no such key. */
  #keyNumber(accountId: string, keyId: string): number | undefined {
    return this.#statements.keyNumber.get({ accountId, keyId })?.number
  }
}

const publicReceipt = ({ upstream: _, upstreamCostPicos: _cost, cacheLostPicos: _lost, ...receipt }: ReceiptRow): AccountReceipt => receipt
const publicCall = ({ number, status, cause, startedAt, durationMs }: AttemptRow): OtherCall => ({
  number,
  status,
  cause,
  startedAt,
  durationMs,
})

const numberOrNull = (value: bigint | null | undefined): number | null => (value === null || value === undefined ? null : Number(value))

const given = sql.placeholder

function prepare(db: Connection) {
  const orm = ormOf(db)
  const keyRows = () => orm.select(listedKeyColumns).from(keys).innerJoin(accounts, eq(accounts.number, keys.accountNumber))
  return {
    account: orm
      .select({ number: accounts.number, ...accountColumns })
      .from(accounts)
      .where(eq(accounts.id, given('accountId')))
      .prepare(),
    keyTimes: db.query<
      { count: bigint; used: bigint | null; synced: bigint | null },
      { account: number; limit: number }
    >(`SELECT count(*) AS count, max(last_used_at) AS used, max(last_synced_at) AS synced
      FROM (SELECT last_used_at, last_synced_at FROM keys WHERE account_number = $account LIMIT $limit) k`),
    plans: db.query<{ plan: string }, { account: number; limit: number }>(
      'SELECT DISTINCT plan FROM (SELECT plan FROM keys WHERE account_number = $account LIMIT $limit) k ORDER BY plan',
    ),
    keyNumber: orm
      .select({ number: keys.number })
      .from(keys)
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .where(and(eq(keys.id, given('keyId')), eq(accounts.id, given('accountId'))))
      .prepare(),
    keys: keyRows()
      .where(and(eq(keys.accountNumber, given('account')), lt(keys.number, given('before'))))
      .orderBy(desc(keys.number))
      .limit(given('rows'))
      .prepare(),
    key: keyRows()
      .where(and(eq(keys.id, given('keyId')), eq(accounts.id, given('accountId'))))
      .prepare(),
    model: orm
      .select({ number: models.number })
      .from(models)
      .where(eq(models.id, given('modelId')))
      .prepare(),
    creditPlace: orm
      .select({ createdAt: credits.createdAt, lane: credits.lane, seq: credits.seq })
      .from(credits)
      .where(and(eq(credits.id, given('id')), eq(credits.accountNumber, given('account'))))
      .prepare(),
    credits: orm
      .select({
        id: credits.id,
        kind: credits.kind,
        amountPicos: credits.amountPicos,
        ref: credits.ref,
        // A reason that is typed at the command line is for the audit log alone.
        reason: sql<string>`case when ${credits.kind} <> 'top-up' and ${credits.actor} like 'person:%' then ${credits.reason} else '' end`,
        createdAt: credits.createdAt,
      })
      .from(credits)
      .where(
        and(
          eq(credits.accountNumber, given('account')),
          sql`(created_at, lane, seq) < (${given('createdAt')}, ${given('lane')}, ${given('seq')})`,
        ),
      )
      .orderBy(desc(credits.createdAt), desc(credits.lane), desc(credits.seq))
      .limit(given('rows'))
      .prepare(),
  }
}
