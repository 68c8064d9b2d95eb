/**
 * Sums of use by what is asked, out of the rows by hour and the receipts that are in none yet, a part at a time. A part remembers up to which receipt its rows go: when rows
 * were filled between two parts, the receipts at the end are counted for the earlier part and not for the later. Rules: ledger.md "Hours", "Reads".
 */

import { type Dimension, type Measure, type Step, stepAt } from '../../core/explore.ts'
import { type Connection, numbersOf } from '../sql/connection.ts'
import { markIn, NO_TAG } from '../sql/hour-sums.ts'
import { Cells, COLUMNS, type HourRow, type Value } from './explore-cells.ts'
import type { ExploreRow, Thing } from './explore-rows.ts'
import { type ExploreSlices, type NamedCells, rowOf, sentRows, slicesOfGroups, slicesOfRows } from './explore-slices.ts'
import {
  type ExploreFilters,
  exploreSql,
  hourRows,
  LAST_OF_TAIL,
  LIMB,
  lastOfWalk,
  MODEL_OF_PRICE,
  namesOfNumbers,
  PLACE_DIGITS,
  PLACE_OF_KEY,
} from './explore-sql.ts'
import { OTHER_TAGS_ID } from './spend-rows.ts'

/**
 * Whole UTC hours since 1970, both included. `by`: two at most. `step`: null for the whole span. `after`: the `next` of the part before. `isCostAlone`: no other sum is needed,
 * and may be 0.
 */
export type ExploreQuery = Readonly<{
  fromHour: number
  toHour: number
  by: readonly Dimension[]
  step: Step | null
  only: ExploreFilters
  after?: string | undefined
  isCostAlone?: boolean
}>

/** Several parts may have rows of the same step and things. */
export type ExplorePart = Readonly<{ rows: readonly ExploreRow[]; next: string | null }>

/** How many rows by hour a part looks at, fewer where nearly each may be one of the answer (`fine`); and how many receipts. */
const LOOKED_AT_MAX = { coarse: 20_000, fine: 10_000, receipts: 4_000 }

/** `w`, key and hour up to which rows were read; or `t` and the number of the last receipt that was read. Then the marks, each with the place behind which it holds. */
const PLACE = /^(?:w:(\d{1,15}):(\d{1,9})|t:(\d{1,16}))((?:,\d{1,16}@\d{1,15}:\d{1,9})+)$/
const BEYOND = 999_999_999_999_999

const NO_SUMS: NamedCells = { cells: new Cells((hour) => hour), thingsOf: () => [] }

type Mark = Readonly<{ mark: number; key: number; hour: number }>
type Given = Record<string, string | number | null>
type SumRow = Record<string, bigint> & { id1: string; name1: string; id2: string; name2: string }
/** A part before it is made rows: none of its names is looked up yet. */
type Part = Readonly<{ sums: NamedCells; next: string | null }>

/** One read transaction, so that rows and mark are of one moment. Undefined: `after` is no place. */
const readPart = <Found>(
  db: Connection,
  query: ExploreQuery,
  looked: typeof LOOKED_AT_MAX,
  made: (part: Part) => Found,
): Found | undefined =>
  db.transaction(() => {
    const part = partOf({ db, query, looked })
    return part && made(part)
  })()

export const explorePart = (db: Connection, query: ExploreQuery, looked = LOOKED_AT_MAX): ExplorePart | undefined =>
  readPart(db, query, looked, ({ sums, next }) => ({ rows: [...sentRows(sums)].map(rowOf), next }))

/** The same as it is sent. `measure`: the rows are sums over all steps, each with the measure by step. */
export const exploreSlices = (
  db: Connection,
  query: ExploreQuery,
  measure: Measure | undefined,
  looked = LOOKED_AT_MAX,
): ExploreSlices | undefined =>
  readPart(db, query, looked, ({ sums, next }) => ({
    slices: measure === undefined ? slicesOfRows(sums) : slicesOfGroups(sums, measure, query.step !== null),
    next,
  }))

function partOf({ db, query, looked }: Reading): Part | undefined {
  if (query.after === undefined) return walkPart({ db, query, looked }, { key: 0, hour: 0 }, [])
  const place = PLACE.exec(query.after)
  if (place === null) return undefined
  const marks = (place[4] ?? '').slice(1).split(',').map(markOf)
  return place[3] === undefined
    ? walkPart({ db, query, looked }, { key: Number(place[1]), hour: Number(place[2]) }, marks)
    : tailPart({ db, query, looked }, Number(place[3]), marks)
}

type Reading = Readonly<{ db: Connection; query: ExploreQuery; looked: typeof LOOKED_AT_MAX }>

function walkPart({ db, query, looked }: Reading, after: Readonly<{ key: number; hour: number }>, marks: readonly Mark[]): Part {
  const isFine =
    query.step === 'hour' || query.by.some((dimension) => dimension === 'key' || dimension === 'tag' || dimension === 'account')
  const given = { ...filtersOf(query.only), ...after, fromHour: query.fromHour, toHour: query.toHour }
  const mark = markIn(db) ?? marks.at(-1)?.mark
  // Without a mark the receipts are read instead, all of them.
  if (mark === undefined) return { sums: NO_SUMS, next: 't:0,0@0:0' }
  const last = db.query<{ key: bigint; hour: bigint }, [Given]>(lastOfWalk(query.only)).get({
    ...keysOf(query.only),
    ...after,
    fromHour: query.fromHour,
    toHour: query.toHour,
    looked: isFine ? looked.fine : looked.coarse,
  })
  const to = last === null ? { lastKey: BEYOND, lastHour: query.toHour } : { lastKey: Number(last.key), lastHour: Number(last.hour) }
  const sums = sumsOfHours(db, query, { ...given, ...to }) ?? sumsOf(db, query, 'walk', { ...given, ...to })
  const known = marks.at(-1)?.mark === mark ? marks : [...marks, { mark, ...after }]
  const first = known[0]?.mark ?? mark
  const next = last === null ? `t:${first}` : `w:${last.key}:${last.hour}`
  return { sums, next: next + known.map((it) => `,${it.mark}@${it.key}:${it.hour}`).join('') }
}

function tailPart({ db, query, looked }: Reading, number: number, marks: readonly Mark[]): Part {
  const given = { number, looked: looked.receipts }
  const last = db.query<{ number: bigint }, [Given]>(LAST_OF_TAIL).get(given)
  const to = last === null ? BEYOND : Number(last.number)
  const marksText = JSON.stringify(marks.map(textOf))
  const { fromHour, toHour } = query
  const sums = sumsOf(db, query, 'tail', { ...filtersOf(query.only), number, to, marks: marksText, fromHour, toHour })
  const next = last === null ? null : `t:${last.number}${marks.map((it) => `,${it.mark}@${it.key}:${it.hour}`).join('')}`
  return { sums, next }
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

/** Rows that the database added up. */
function sumsOf(db: Connection, { by, step, only }: ExploreQuery, from: 'walk' | 'tail', given: Given): NamedCells {
  const cells = new Cells((hour) => hour)
  const names = by.map(() => new Map<Value, string>())
  for (const row of db.query<SumRow, [Given]>(exploreSql({ from, by, step, only })).all(given)) {
    const hour = row['hour'] === undefined ? {} : { hour: Number(row['hour']) }
    cells.addSums(
      { value1: row.id1, value2: row.id2, ...hour },
      COLUMNS.map((column) => sumOf(row, column)),
    )
    names[0]?.set(row.id1, row.name1)
    names[1]?.set(row.id2, row.name2)
  }
  return {
    cells,
    thingsOf: (values) =>
      by.map((dimension, index) => thing(dimension, String(values[index]), names[index]?.get(values[index] ?? '') ?? '')),
  }
}
const sumOf = (row: SumRow, column: string): bigint => row[column] ?? (row[`${column}High`] ?? 0n) * LIMB + (row[`${column}Low`] ?? 0n)

/** Rows by hour that are added up here. Undefined: the store adds them up itself, or an amount is more than a number has exactly. */
function sumsOfHours(db: Connection, { by, step, only, isCostAlone = false }: ExploreQuery, given: Given): NamedCells | undefined {
  const rows = numbersOf<HourRow, Given>(db, hourRows({ by, step, only, isCostAlone }))?.all(given)
  if (rows === undefined) return undefined
  const cells = new Cells(stepsOf(step), (values) => values.map((value, index) => (by[index] === 'model' ? modelOf(db, value) : value)))
  if (isCostAlone) for (const row of rows) cells.addCost(row)
  else for (const row of rows) cells.add(row)
  return cells.isExact ? { cells, thingsOf: namesIn(db, by, cells) } : undefined
}

const modelOf = (db: Connection, price: Value): number =>
  Number(db.query<{ model: bigint }, [Given]>(MODEL_OF_PRICE).get({ price })?.model ?? 0)

/** The first hour of an hour's step, found once a day. */
function stepsOf(step: Step | null): (hour: number) => number {
  if (step === null || step === 'hour') return (hour) => hour
  const starts = new Map<number, number>()
  return (hour) => starts.getOrInsertComputed(Math.floor(hour / 24), () => stepAt(hour, step))
}

/** The things of all groups, looked up together. */
function namesIn(db: Connection, by: readonly Dimension[], cells: Cells): NamedCells['thingsOf'] {
  const known = by.map((dimension, index) => {
    const text = namesOfNumbers(dimension)
    if (text === undefined) return undefined
    const values = [...new Set(Array.from(cells.groups(), (group) => group.values[index]))]
    const rows = db.query<{ value: bigint; id: string; name: string }, [Given]>(text).all({ values: JSON.stringify(values) })
    return new Map(rows.map(({ value, id, name }) => [Number(value) as Value, { id, name }]))
  })
  return (values) =>
    by.map((dimension, index) => {
      const things = known[index]
      const value = values[index] ?? ''
      return things === undefined ? thing(dimension, String(value), '') : (things.get(value) ?? { id: NO_TAG, name: '' })
    })
}

const thing = (dimension: Dimension, id: string, name: string): Thing => ({
  id: dimension === 'tag' && id === '' ? OTHER_TAGS_ID : id,
  name,
})
