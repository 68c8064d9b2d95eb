/**
 * Sums of use by what is asked, out of the rows by hour and the receipts that are in none yet, a part at a time. A part remembers up to which receipt its rows go: when rows
 * were filled between two parts, the receipts at the end are counted for the earlier part and not for the later. Rules: ledger.md "Hours", "Reads".
 */

import type { Dimension, Step } from '../../core/explore.ts'
import { type Picos, picos } from '../../core/money.ts'
import type { Usage } from '../../core/usage.ts'
import type { Connection } from '../sql/connection.ts'
import { markIn } from '../sql/hour-sums.ts'
import { type ExploreFilters, exploreSql, LAST_OF_TAIL, lastOfWalk, PLACE_DIGITS, PLACE_OF_KEY } from './explore-sql.ts'
import { stepsApart } from './explore-steps.ts'
import { OTHER_TAGS_ID } from './spend-rows.ts'

/** Whole UTC hours since 1970, both included. `by`: two at most. `step`: null for the whole span. `after`: the `next` of the part before. */
export type ExploreQuery = Readonly<{
  fromHour: number
  toHour: number
  by: readonly Dimension[]
  step: Step | null
  only: ExploreFilters
  after?: string | undefined
}>

export type ExploreSums = Readonly<{
  requests: number
  usage: Usage
  costPicos: Picos
  waivedPicos: Picos
  /** The part of the cost that rests on estimated tokens. */
  estimatedPicos: Picos
  /** What the requests cost us whose cost is known, which are `costed`. For operators alone. */
  upstreamCostPicos: Picos
  costed: number
}>

/** `name`: of a key or an account. */
type Thing = Readonly<{ id: string; name: string }>
/** `hour`: the first one of the step; 0 for the whole span. `things`: in the order of `by`. */
export type ExploreRow = ExploreSums & Readonly<{ hour: number; things: readonly Thing[] }>
/** Several parts may have rows of the same step and things. */
export type ExplorePart = Readonly<{ rows: readonly ExploreRow[]; next: string | null }>

/**
 * How many rows by hour a part looks at, fewer where nearly each may be one of the answer (`fine`); how many receipts; and in how many places, one for each key and step, a part
 * may look instead of sorting (`found`).
 */
const LOOKED_AT_MAX = { coarse: 20_000, fine: 10_000, receipts: 4_000, found: 5_000 }

/** `w`, key and hour up to which rows were read; or `t` and the number of the last receipt that was read. Then the marks, each with the place behind which it holds. */
const PLACE = /^(?:w:(\d{1,15}):(\d{1,9})|t:(\d{1,16}))((?:,\d{1,16}@\d{1,15}:\d{1,9})+)$/
const BEYOND = 999_999_999_999_999

type Mark = Readonly<{ mark: number; key: number; hour: number }>
type Given = Record<string, string | number | null>
type SumRow = Record<string, bigint> & { id1: string; name1: string; id2: string; name2: string }

/** One read transaction, so that rows and mark are of one moment. Undefined: `after` is no place. */
export const explorePart = (db: Connection, query: ExploreQuery, looked = LOOKED_AT_MAX): ExplorePart | undefined =>
  db.transaction(() => partOf(db, query, looked))()

function partOf(db: Connection, query: ExploreQuery, looked: typeof LOOKED_AT_MAX): ExplorePart | undefined {
  if (query.after === undefined) return walkPart({ db, query, looked }, { key: 0, hour: 0 }, [])
  const place = PLACE.exec(query.after)
  if (place === null) return undefined
  const marks = (place[4] ?? '').slice(1).split(',').map(markOf)
  return place[3] === undefined
    ? walkPart({ db, query, looked }, { key: Number(place[1]), hour: Number(place[2]) }, marks)
    : tailPart({ db, query, looked }, Number(place[3]), marks)
}

type Reading = Readonly<{ db: Connection; query: ExploreQuery; looked: typeof LOOKED_AT_MAX }>

function walkPart({ db, query, looked }: Reading, after: Readonly<{ key: number; hour: number }>, marks: readonly Mark[]): ExplorePart {
  const isFine =
    query.step === 'hour' || query.by.some((dimension) => dimension === 'key' || dimension === 'tag' || dimension === 'account')
  const given = { ...filtersOf(query.only), ...after, fromHour: query.fromHour, toHour: query.toHour }
  const mark = markIn(db) ?? marks.at(-1)?.mark
  // Without a mark the receipts are read instead, all of them.
  if (mark === undefined) return { rows: [], next: 't:0,0@0:0' }
  const last = db.query<{ key: bigint; hour: bigint }, [Given]>(lastOfWalk(query.only)).get({
    ...keysOf(query.only),
    ...after,
    fromHour: query.fromHour,
    toHour: query.toHour,
    looked: isFine ? looked.fine : looked.coarse,
  })
  const to = last === null ? { lastKey: BEYOND, lastHour: query.toHour } : { lastKey: Number(last.key), lastHour: Number(last.hour) }
  // The last part has no last key, and few rows: they are sorted.
  const steps = last === null ? undefined : stepsApart(query, looked.found / (to.lastKey - after.key + 1))
  const rows =
    steps === undefined
      ? sumsOf(db, query, 'walk', { ...given, ...to })
      : steps.flatMap(({ start, fromHour, toHour }) => {
          const span = { fromHour, toHour, lastHour: Math.min(to.lastHour, toHour) }
          return sumsOf(db, { ...query, step: null }, 'walk', { ...given, ...to, ...span }, start)
        })
  const known = marks.at(-1)?.mark === mark ? marks : [...marks, { mark, ...after }]
  const first = known[0]?.mark ?? mark
  const next = last === null ? `t:${first}` : `w:${last.key}:${last.hour}`
  return { rows, next: next + known.map((it) => `,${it.mark}@${it.key}:${it.hour}`).join('') }
}

function tailPart({ db, query, looked }: Reading, number: number, marks: readonly Mark[]): ExplorePart {
  const given = { number, looked: looked.receipts }
  const last = db.query<{ number: bigint }, [Given]>(LAST_OF_TAIL).get(given)
  const to = last === null ? BEYOND : Number(last.number)
  const marksText = JSON.stringify(marks.map(textOf))
  const { fromHour, toHour } = query
  const rows = sumsOf(db, query, 'tail', { ...filtersOf(query.only), number, to, marks: marksText, fromHour, toHour })
  const next = last === null ? null : `t:${last.number}${marks.map((it) => `,${it.mark}@${it.key}:${it.hour}`).join('')}`
  return { rows, next }
}

function markOf(text: string): Mark {
  const [mark = 0, key = 0, hour = 0] = text.split(/[@:]/).map(Number)
  return { mark, key, hour }
}

/** In the order of places as texts are ordered. */
const textOf = ({ mark, key, hour }: Mark): string =>
  `${BigInt(key) * BigInt(PLACE_OF_KEY) + BigInt(hour)}`.padStart(PLACE_DIGITS, '0') + mark

/** The parameters of the filters that are given; a statement has no others. */
const filtersOf = (only: ExploreFilters): Given =>
  Object.fromEntries(
    Object.entries(only).map(([dimension, ids]) => [`${dimension}s`, JSON.stringify(dimension === 'tag' ? ids.map(storedTag) : ids)]),
  )
const storedTag = (tag: string): string => (tag === OTHER_TAGS_ID ? '' : tag)

const keysOf = ({ key, account }: ExploreFilters): Given => filtersOf({ ...(key && { key }), ...(account && { account }) })

/** `hour`: the hour of all rows where the question has no step. */
function sumsOf(db: Connection, query: ExploreQuery, from: 'walk' | 'tail', given: Given, hour = 0): readonly ExploreRow[] {
  const { by, step, only } = query
  return db
    .query<SumRow, [Given]>(exploreSql({ from, by, step, only }))
    .all(given)
    .map((row) => rowOf(row, by, hour))
}

const LIMB = 1_000_000n
const amount = (row: SumRow, name: string): Picos => picos((row[`${name}High`] ?? 0n) * LIMB + (row[`${name}Low`] ?? 0n))
const thing = (dimension: Dimension, id: string, name: string): Thing => ({
  id: dimension === 'tag' && id === '' ? OTHER_TAGS_ID : id,
  name,
})

const rowOf = (row: SumRow, by: readonly Dimension[], hour: number): ExploreRow => ({
  hour: row['hour'] === undefined ? hour : Number(row['hour']),
  things: by.map((dimension, index) => (index === 0 ? thing(dimension, row.id1, row.name1) : thing(dimension, row.id2, row.name2))),
  requests: Number(row['requests']),
  usage: {
    input: Number(row['input']),
    output: Number(row['output']),
    cacheRead: Number(row['cacheRead']),
    cacheWrite5m: Number(row['cacheWrite5m']),
    cacheWrite1h: Number(row['cacheWrite1h']),
    serverToolUses: Number(row['serverToolUses']),
  },
  costPicos: amount(row, 'cost'),
  waivedPicos: amount(row, 'waived'),
  estimatedPicos: amount(row, 'estimated'),
  upstreamCostPicos: amount(row, 'upstreamCost'),
  costed: Number(row['costed']),
})
