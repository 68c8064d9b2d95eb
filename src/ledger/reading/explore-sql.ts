/** The statements of Explore: the rows by hour in the order of key and hour, or receipts in the form of such rows; filtered, grouped and named. Rules: ledger.md "Hours". */

import type { Dimension, Step } from '../../core/explore.ts'
import { HOUR, hoursOfReceipts } from '../sql/hour-sums.ts'
import { numbersIn, textsIn } from '../sql/sql-list.ts'
import type { COLUMNS } from './explore-cells.ts'

/** Ids, of tags also `(none)` and `(other)`; absent: all. */
export type ExploreFilters = Partial<Readonly<Record<Dimension, readonly string[]>>>

/**
 * How a dimension is read. `value`: the column of a row `u` or its key `k` by which rows are added up. `of`: the table and the column in which that is found as the number of a
 * price or key whose model or account is asked for. `named`: the table with the `id` and `name`; absent: the value is the id.
 */
type DimensionSql = Readonly<{
  value: string
  filter: string
  of?: Readonly<{ table: string; value: string }>
  named?: string
  id?: string
  name?: string
}>
const OF: Readonly<Record<Dimension, DimensionSql>> = {
  model: {
    value: 'u.price_number',
    filter: `u.price_number IN (SELECT number FROM price_versions WHERE model_number IN (SELECT number FROM models WHERE id IN (${textsIn('$models')})))`,
    of: { table: 'price_versions', value: 'model_number' },
    named: 'models',
    id: 'id',
  },
  key: {
    value: 'k.number',
    filter: `k.number IN (SELECT number FROM keys WHERE id IN (${textsIn('$keys')}))`,
    named: 'keys',
    id: 'id',
    name: 'name',
  },
  account: {
    value: 'k.number',
    filter: `k.account_number IN (SELECT number FROM accounts WHERE id IN (${textsIn('$accounts')}))`,
    of: { table: 'keys', value: 'account_number' },
    named: 'accounts',
    id: 'id',
    name: 'name',
  },
  upstream: {
    value: 'u.upstream_number',
    filter: `coalesce((SELECT name FROM upstreams WHERE number = u.upstream_number), '(none)') IN (${textsIn('$upstreams')})`,
    named: 'upstreams',
    id: 'name',
  },
  format: { value: 'u.format', filter: `u.format IN (${textsIn('$formats')})` },
  outcome: { value: 'u.outcome', filter: `u.outcome IN (${textsIn('$outcomes')})` },
  tag: { value: 'u.tag', filter: `u.tag IN (${textsIn('$tags')})` },
}

const filtersOf = (only: ExploreFilters): string =>
  Object.keys(only)
    .map((dimension) => ` AND ${OF[dimension as Dimension].filter}`)
    .join('')

const ofKeys = (only: ExploreFilters): string =>
  (['key', 'account'] as const)
    .filter((dimension) => only[dimension] !== undefined)
    .map((dimension) => ` AND ${OF[dimension].filter}`)
    .join('')

/** Behind the place, within the span. The bounds of a key's hours are made so that an index finds them. */
const KEYS = 'FROM keys k CROSS JOIN spend_hours u'
const BEHIND = `WHERE k.number >= $key AND u.key_number = k.number
    AND u.hour >= CASE WHEN k.number = $key AND CAST($hour AS BIGINT) >= CAST($fromHour AS BIGINT) THEN CAST($hour AS BIGINT) + 1 ELSE CAST($fromHour AS BIGINT) END`

/** The key and the hour of the last row that a part looks at; rows of the same hour count to it. */
export const lastOfWalk = (only: ExploreFilters): string =>
  `SELECT k.number AS key, u.hour AS hour ${KEYS} ${BEHIND} AND u.hour <= $toHour${ofKeys(only)} ORDER BY k.number, u.hour LIMIT 1 OFFSET $looked - 1`

export const LAST_OF_TAIL = 'SELECT number FROM receipts WHERE number > $number ORDER BY number LIMIT 1 OFFSET $looked - 1'

/** A place as one number, and how many digits of a mark's text it is. */
export const PLACE_OF_KEY = 1_000_000_000
export const PLACE_DIGITS = 19
/** A receipt counts that is above the mark which held for its place when the rows were read: that of the last place before it. */
const TAIL = `(${hoursOfReceipts(`r.number > $number AND r.number <= $to AND r.number > (
    SELECT CAST(substr(value, ${PLACE_DIGITS + 1}) AS BIGINT) FROM (${textsIn('$marks')}) m
    WHERE CAST(substr(value, 1, ${PLACE_DIGITS}) AS BIGINT) < r.key_number * ${PLACE_OF_KEY} + ${HOUR} ORDER BY value DESC LIMIT 1)`)})`

const FROM = {
  walk: `${KEYS} ${BEHIND} AND k.number <= $lastKey AND u.hour <= CASE WHEN k.number = $lastKey THEN CAST($lastHour AS BIGINT) ELSE CAST($toHour AS BIGINT) END`,
  tail: `FROM ${TAIL} u JOIN keys k ON k.number = u.key_number WHERE u.hour BETWEEN $fromHour AND $toHour`,
}

/** What is added up of rows `u`, by the name of its sum. */
const COLUMNS_OF: Readonly<Record<(typeof COLUMNS)[number], string>> = {
  requests: 'requests',
  input: 'input_tokens',
  output: 'output_tokens',
  cacheRead: 'cache_read_tokens',
  cacheWrite5m: 'cache_write_5m_tokens',
  cacheWrite1h: 'cache_write_1h_tokens',
  serverToolUses: 'server_tool_uses',
  costed: 'costed',
  cost: 'cost_picos',
  waived: 'waived_picos',
  estimated: 'estimated_picos',
  upstreamCost: 'upstream_cost_picos',
}
/** In two limbs, because int64 picodollars end at 9.2 million USD. */
export const LIMB = 1_000_000n
const SUMS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(COLUMNS_OF).flatMap(([name, column]) =>
    column.endsWith('_picos')
      ? [
          [`${name}High`, `${column} / ${LIMB}`],
          [`${name}Low`, `${column} % ${LIMB}`],
        ]
      : [[name, column]],
  ),
)
const SUMMED = Object.entries(SUMS).map(([name, of]) => `CAST(sum(${of}) AS BIGINT) AS "${name}"`)
const SUMMED_AGAIN = Object.keys(SUMS).map((name) => `CAST(sum(y."${name}") AS BIGINT) AS "${name}"`)

const DAY = '(u.hour / 24)'
/** Of days since 1 March of the year 0, in integers alone: of the century in 400 years, of the year in the century, of the month in a year from March on. */
const DAY_OF_CENTURY = `((4 * (${DAY} + 719468) + 3) % 146097 / 4)`
const DAY_OF_YEAR = `((4 * ${DAY_OF_CENTURY} + 3) % 1461 / 4)`
const DAY_OF_MONTH = `((5 * ${DAY_OF_YEAR} + 461) % 153 / 5)`

/** The same as `stepAt`; a row for each hour or day would be read, sent and added up for nothing. The first Monday is day 4: from day -3 on nothing below zero is divided. */
export const HOUR_OF_STEP: Readonly<Record<Step, string>> = {
  hour: 'u.hour',
  day: `${DAY} * 24`,
  week: `((${DAY} + 3) / 7 * 7 - 3) * 24`,
  month: `(${DAY} - ${DAY_OF_MONTH}) * 24`,
}

/** The rows by hour of a part themselves, with the numbers of what they are of: of a model that of its price. Without a step there is no hour. */
export function hourRows({ by, step, only, isCostAlone }: Omit<Asked, 'from'> & Readonly<{ isCostAlone: boolean }>): string {
  const values = by.map((dimension, index) => `${dimension === 'account' ? 'k.account_number' : OF[dimension].value} AS value${index + 1}`)
  const read = Object.entries(COLUMNS_OF).filter(([name]) => !isCostAlone || name === 'cost')
  const sums = read.map(([name, column]) => `u.${column} AS "${name}"`)
  return `SELECT ${[...values, ...(step === null ? [] : ['u.hour AS hour']), ...sums].join(', ')} ${FROM.walk}${filtersOf(only)}`
}

/** The `id` and the `name` of things by their numbers, which are in `$values`. Undefined: a thing is its own id. */
export function namesOfNumbers(dimension: Dimension): string | undefined {
  const { named, id, name = "''" } = OF[dimension]
  return named && `SELECT number AS value, ${id} AS id, ${name} AS name FROM ${named} WHERE number IN (${numbersIn('$values')})`
}

export const MODEL_OF_PRICE = 'SELECT model_number AS model FROM price_versions WHERE number = $price'

type Asked = Readonly<{ from: 'walk' | 'tail'; by: readonly Dimension[]; step: Step | null; only: ExploreFilters }>

/**
 * Rows with the ids and names of what they are of, and the sums; with `hour` where there is a step. They are added up by key first, because in the order of keys SQLite sorts
 * nothing, and by price, because it is in the row; only those sums are put together by account and model.
 */
export function exploreSql({ from, by, step, only }: Asked): string {
  const values = by.map((dimension, index) => ({ name: `value${index + 1}`, value: OF[dimension].value }))
  const groups = [...values, ...(step === null ? [] : [{ name: 'hour', value: HOUR_OF_STEP[step] }])]
  const picked = groups.map(({ name, value }) => `${value} AS ${name}`)
  // Without a GROUP BY the sums of no rows are a row, too.
  const grouped = groups.length === 0 ? 'HAVING count(*) > 0' : `GROUP BY ${[...new Set(groups.map(({ value }) => value))].join(', ')}`
  const sums = `SELECT ${[...picked, ...SUMMED].join(', ')} ${FROM[from]}${filtersOf(only)} ${grouped}`
  const names = [1, 2].map((place) => namesOf(by[place - 1], place))
  const joins = by.map((dimension, index) => joinOf(dimension, index + 1))
  return `SELECT ${names.join(', ')}, x.* FROM (${togetherOf(sums, by, step)}) x ${joins.join(' ')}`
}

/** Sums by key and price, put together by account and model where these are asked for. */
function togetherOf(sums: string, by: readonly Dimension[], step: Step | null): string {
  if (by.every((dimension) => OF[dimension].of === undefined)) return sums
  const values = by.map((dimension, index) => {
    const [name, { of }] = [`value${index + 1}`, OF[dimension]]
    if (of === undefined) return { name, value: `y.${name}`, join: '' }
    const table = `m${index + 1}`
    return { name, value: `${table}.${of.value}`, join: ` JOIN ${of.table} ${table} ON ${table}.number = y.${name}` }
  })
  const groups = [...values, ...(step === null ? [] : [{ name: 'hour', value: 'y.hour', join: '' }])]
  const picked = [...groups.map(({ name, value }) => `${value} AS ${name}`), ...SUMMED_AGAIN]
  const joins = groups.map(({ join }) => join).join('')
  return `SELECT ${picked.join(', ')} FROM (${sums}) y${joins} GROUP BY ${groups.map(({ value }) => value).join(', ')}`
}

function namesOf(dimension: Dimension | undefined, place: number): string {
  if (dimension === undefined) return `'' AS id${place}, '' AS name${place}`
  const { named, id, name } = OF[dimension]
  if (named === undefined) return `x.value${place} AS id${place}, '' AS name${place}`
  return `coalesce(n${place}.${id}, '(none)') AS id${place}, ${name === undefined ? "''" : `n${place}.${name}`} AS name${place}`
}

function joinOf(dimension: Dimension, place: number): string {
  const { named } = OF[dimension]
  return named === undefined ? '' : `LEFT JOIN ${named} n${place} ON n${place}.number = x.value${place}`
}
