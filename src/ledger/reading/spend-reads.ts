/**
 * The spend of an account, by day and model or key: sums of the roll-ups, a part at a time in the order of its keys. Rules: ledger.md "Roll-ups", "Reads".
 */

import type { Connection } from '../sql/connection.ts'
import type { SpendPart, SpendQuestion } from './account-reports.ts'
import type { QuestionOf } from './reports.ts'
import { BY, named, rowOf, type SumRow, sumAs, TOKENS_AND_MONEY } from './spend-rows.ts'

/** The keys of one account, and what is asked of them. Null: all keys, models, or tags. */
export type Walk = Readonly<{ account: number; onlyKey: number | null; onlyModel: number | null; onlyTag: string | null }>

/** The place of a roll-up in the order of the walk, its numbers joined by colons. */
const BEFORE_ALL = '0:0:0:0'
const PLACE = /^\d{1,15}:\d{1,15}:\d{1,15}:\d{1,15}$/

/** How many roll-ups a part looks at. By key nearly each gives a row of its own, and a row costs more than a look. */
const LOOKED_AT_MAX = { day: 4_000, model: 4_000, key: 1_000, tag: 1_000 }

/** The joins keep their order, so that keys are read first. */
const walkOf = (rollUps: string): string => `FROM keys k CROSS JOIN ${rollUps}
  WHERE u.key_number = k.number AND k.account_number = $account AND k.number >= $key
    AND (CAST($onlyKey AS BIGINT) IS NULL OR k.number = $onlyKey) AND u.day BETWEEN $fromDay AND $toDay
    AND (k.number, u.day, u.model_number, u.price_number) > ($key, $day, $model, $price)
  ORDER BY k.number, u.day, u.model_number, u.price_number`
const WALKS = { all: walkOf('usage_daily u'), tag: walkOf('(SELECT * FROM usage_tags WHERE tag = $onlyTag) u') }
const lastOf = (walk: string): string =>
  `SELECT k.number || ':' || u.day || ':' || u.model_number || ':' || u.price_number AS place ${walk} LIMIT 1 OFFSET $looked - 1`

const OF_MODEL = 'WHERE CAST($onlyModel AS BIGINT) IS NULL OR model_number = $onlyModel'

const sumsOf = (
  walk: string,
  where: string,
  group: string,
): string => `SELECT day, CAST(NULL AS BIGINT) AS hour, min(key_number) AS key_number, price_number,
    ${group.startsWith('tag') ? 'tag, ' : ''}${sumAs('requests', 'requests')},
    ${TOKENS_AND_MONEY}, ${sumAs('estimated_picos', 'estimated')}
  FROM (SELECT u.* ${walk} LIMIT $looked) w ${where} GROUP BY day, ${group}`

/** The roll-ups of a day over all accounts, by the index of days, whose order goes on with the key. */
const WALK_OF_DAY = `FROM usage_daily u WHERE u.day = $day AND (u.key_number, u.model_number, u.price_number) > ($key, $model, $price)
  ORDER BY u.key_number, u.model_number, u.price_number`
const LAST_OF_DAY = `SELECT key_number || ':' || day || ':' || model_number || ':' || price_number AS place ${WALK_OF_DAY} LIMIT 1 OFFSET $looked - 1`

export class SpendReads {
  readonly #db: Connection

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#db = db
  }

  /** Undefined: `after` is no place of this account. */
  part({ fromDay, toDay, by, after = BEFORE_ALL }: SpendQuestion, walk: Walk): SpendPart | undefined {
    if (!PLACE.test(after)) return undefined
    const [key = 0, day = 0, model = 0, price = 0] = after.split(':').map(Number)
    if (after !== BEFORE_ALL && !this.#isOf(walk.account, key)) return undefined
    const { onlyModel, onlyTag, ...keys } = walk
    const places = { ...keys, fromDay, toDay, key, day, model, price, looked: LOOKED_AT_MAX[by] }
    const given = onlyTag === null ? places : { ...places, onlyTag }
    const way = WALKS[onlyTag === null ? 'all' : 'tag']
    const next = this.#db.query<{ place: string }, [typeof given]>(lastOf(way)).get(given)?.place ?? null
    const rows = this.#db
      .query<SumRow, [typeof given & { onlyModel: number | null }]>(named(sumsOf(way, OF_MODEL, BY[by].group), BY[by]))
      .all({ ...given, onlyModel })
    return { rows: rows.map(rowOf), next }
  }

  /** A part of a day over all accounts, by model. Undefined: `after` is no place. */
  ofDay({ day, after = BEFORE_ALL }: QuestionOf<'usageOfDay'>): SpendPart | undefined {
    if (!PLACE.test(after)) return undefined
    const [key = 0, , model = 0, price = 0] = after.split(':').map(Number)
    const given = { day, key, model, price, looked: LOOKED_AT_MAX.model }
    const next = this.#db.query<{ place: string }, [typeof given]>(LAST_OF_DAY).get(given)?.place ?? null
    return {
      rows: this.#db
        .query<SumRow, [typeof given]>(named(sumsOf(WALK_OF_DAY, '', BY.model.group), BY.model))
        .all(given)
        .map(rowOf),
      next,
    }
  }

  #isOf(account: number, key: number): boolean {
    return this.#db.query('SELECT 1 FROM keys WHERE number = ? AND account_number = ?').get(key, account) !== null
  }
}
