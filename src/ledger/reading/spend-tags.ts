/**
 * The spend of an account by day and tag: first the roll-ups of tags, each of them also taken off what has no tag, then those of all. A receipt that is written between two
 * parts may count as one without a tag. Rules: ledger.md "Roll-ups", "Reads".
 */

import { picos } from '../../core/money.ts'
import type { Connection } from '../sql/connection.ts'
import type { SpendPart, SpendQuestion, SpendRow } from './account-reports.ts'
import type { SpendReads, Walk } from './spend-reads.ts'
import { NO_TAG, named, OTHER_TAGS_ID, rowOf, type SumRow, sumAs, TOKENS_AND_MONEY } from './spend-rows.ts'

/** A cursor is `t` and the place of a roll-up of tags, whose tag is last; or `d` and a place of the roll-ups of all. */
const TAGS = /^t:(\d{1,15}):(\d{1,15}):(\d{1,15}):(\d{1,15}):([A-Za-z0-9._:/-]{0,64})$/
const ALL = /^d:(.*)$/
const BEFORE_ALL = 't:0:0:0:0:'
const LOOKED_AT_MAX = 1_000

const WALK = `FROM keys k CROSS JOIN usage_tags u
  WHERE u.key_number = k.number AND k.account_number = $account AND k.number >= $key
    AND (CAST($onlyKey AS BIGINT) IS NULL OR k.number = $onlyKey) AND u.day BETWEEN $fromDay AND $toDay
    AND (k.number, u.day, u.tag, u.model_number, u.price_number) > ($key, $day, $tag, $model, $price)
  ORDER BY k.number, u.day, u.tag, u.model_number, u.price_number`
const LAST = `SELECT 't:' || k.number || ':' || u.day || ':' || u.model_number || ':' || u.price_number || ':' || u.tag AS place ${WALK} LIMIT 1 OFFSET $looked - 1`
const SUMS = `SELECT day, CAST(NULL AS BIGINT) AS hour, min(key_number) AS key_number, price_number, tag, ${sumAs('requests', 'requests')}, ${TOKENS_AND_MONEY},
    ${sumAs('estimated_picos', 'estimated')}
  FROM (SELECT u.* ${WALK} LIMIT $looked) w WHERE CAST($onlyModel AS BIGINT) IS NULL OR model_number = $onlyModel GROUP BY day, tag, price_number`

type Given = Record<string, number | string | null>

export class SpendByTag {
  readonly #db: Connection
  readonly #all: SpendReads

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection, all: SpendReads) {
    this.#db = db
    this.#all = all
  }

  /** Undefined: `after` is no place of this account. */
  part(question: SpendQuestion, walk: Walk): SpendPart | undefined {
    const { after = BEFORE_ALL, ...asked } = question
    const ofAll = ALL.exec(after)
    if (ofAll !== null) return this.#ofAll({ ...asked, by: 'day', ...(ofAll[1] ? { after: ofAll[1] } : {}) }, walk)
    const place = TAGS.exec(after)
    if (place === null) return undefined
    const [key = 0, day = 0, model = 0, price = 0] = place.slice(1, 5).map(Number)
    const { onlyModel, account, onlyKey } = walk
    const { fromDay, toDay } = question
    const given = { account, onlyKey, fromDay, toDay, key, day, model, price, tag: place[5] ?? '', looked: LOOKED_AT_MAX }
    const next = this.#db.query<{ place: string }, [Given]>(LAST).get(given)?.place ?? 'd:'
    const rows = this.#db
      .query<SumRow, [Given]>(named(SUMS, { id: 'x.tag', name: "''", group: '' }))
      .all({ ...given, onlyModel })
      .map(rowOf)
    const tagged = rows.map((row) => ({ ...row, id: row.id === '' ? OTHER_TAGS_ID : row.id }))
    return { rows: [...tagged, ...rows.map(takenOff)], next }
  }

  #ofAll(question: SpendQuestion, walk: Walk): SpendPart | undefined {
    const part = this.#all.part(question, walk)
    return part && { rows: part.rows.map((row) => ({ ...row, id: NO_TAG })), next: part.next === null ? null : `d:${part.next}` }
  }
}

/** The row as something that what has no tag lacks. */
const takenOff = (row: SpendRow): SpendRow => ({
  ...row,
  id: NO_TAG,
  requests: -row.requests,
  usage: {
    input: -row.usage.input,
    output: -row.usage.output,
    cacheRead: -row.usage.cacheRead,
    cacheWrite5m: -row.usage.cacheWrite5m,
    cacheWrite1h: -row.usage.cacheWrite1h,
    serverToolUses: -row.usage.serverToolUses,
  },
  costPicos: picos(-row.costPicos),
  waivedPicos: picos(-row.waivedPicos),
  estimatedPicos: picos(-row.estimatedPicos),
  savedPicos: picos(-row.savedPicos),
})
