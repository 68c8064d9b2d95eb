/** The statements of Explore: the rows by hour in the order of key and hour, or receipts in the form of such rows; filtered, grouped and named. Rules: ledger.md "Hours". */

import type { Dimension, Step } from '../../core/explore.ts'
import { HOUR, hoursOfReceipts } from '../sql/hour-sums.ts'
import { textsIn } from '../sql/sql-list.ts'

/** Ids, of tags also `(none)` and `(other)`; absent: all. */
export type ExploreFilters = Partial<Readonly<Record<Dimension, readonly string[]>>>

/** What a dimension is in a row `u` of a key `k` and a price `v`, and how its id and name are found by that. `n`: the table with the names. */
const OF: Readonly<Record<Dimension, Readonly<{ value: string; filter: string; named?: string; id?: string; name?: string }>>> = {
  model: {
    value: 'v.model_number',
    filter: `v.model_number IN (SELECT number FROM models WHERE id IN (${textsIn('$models')}))`,
    named: 'models',
    id: 'id',
  },
  key: {
    value: 'u.key_number',
    filter: `k.number IN (SELECT number FROM keys WHERE id IN (${textsIn('$keys')}))`,
    named: 'keys',
    id: 'id',
    name: 'name',
  },
  account: {
    value: 'k.account_number',
    filter: `k.account_number IN (SELECT number FROM accounts WHERE id IN (${textsIn('$accounts')}))`,
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

const PRICES = 'JOIN price_versions v ON v.number = u.price_number'
const FROM = {
  walk: (join: string) =>
    `${KEYS} ${join} ${BEHIND} AND k.number <= $lastKey AND u.hour <= CASE WHEN k.number = $lastKey THEN CAST($lastHour AS BIGINT) ELSE CAST($toHour AS BIGINT) END`,
  tail: (join: string) => `FROM ${TAIL} u JOIN keys k ON k.number = u.key_number ${join} WHERE u.hour BETWEEN $fromHour AND $toHour`,
}

const sumAs = (what: string, name: string): string => `CAST(sum(${what}) AS BIGINT) AS "${name}"`
/** In two limbs, because int64 picodollars end at 9.2 million USD. */
const limbsAs = (what: string, name: string): string =>
  `${sumAs(`${what} / 1000000`, `${name}High`)}, ${sumAs(`${what} % 1000000`, `${name}Low`)}`
const SUMS = [
  sumAs('requests', 'requests'),
  sumAs('input_tokens', 'input'),
  sumAs('output_tokens', 'output'),
  sumAs('cache_read_tokens', 'cacheRead'),
  sumAs('cache_write_5m_tokens', 'cacheWrite5m'),
  sumAs('cache_write_1h_tokens', 'cacheWrite1h'),
  sumAs('server_tool_uses', 'serverToolUses'),
  sumAs('costed', 'costed'),
  limbsAs('cost_picos', 'cost'),
  limbsAs('waived_picos', 'waived'),
  limbsAs('estimated_picos', 'estimated'),
  limbsAs('upstream_cost_picos', 'upstreamCost'),
].join(', ')

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

type Asked = Readonly<{ from: 'walk' | 'tail'; by: readonly Dimension[]; step: Step | null; only: ExploreFilters }>

/** Rows with `hour`, the ids and names of what they are of, and the sums. */
export function exploreSql({ from, by, step, only }: Asked): string {
  const hour = step === null ? 'CAST(0 AS BIGINT)' : HOUR_OF_STEP[step]
  const filters = Object.keys(only).map((dimension) => ` AND ${OF[dimension as Dimension].filter}`)
  const values = by.map((dimension, index) => `, ${OF[dimension].value} AS value${index + 1}`)
  const groups = ['1', ...by.map((_, index) => `${index + 2}`)]
  const needsPrice = by.includes('model') || only.model !== undefined
  const source = FROM[from](needsPrice ? PRICES : '')
  const sums = `SELECT ${hour} AS hour${values.join('')}, ${SUMS} ${source}${filters.join('')} GROUP BY ${groups.join(', ')}`
  return `SELECT ${[1, 2].map((place) => namesOf(by[place - 1], place)).join(', ')}, x.* FROM (${sums}) x ${by.map((dimension, index) => joinOf(dimension, index + 1)).join(' ')}`
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
