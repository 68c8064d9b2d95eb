/** `tollgate usage --by` with one or two things: the sums that the console's page Explore shows. Rules: pages.md "Explore"; operator.md "Lists". */

import { InvalidArgumentError } from 'commander'
import { BY_MAX, DIMENSIONS, type Dimension, type Step, stepText } from '../core/explore.ts'
import { usdFields } from '../core/money.ts'
import { tokenCells, tokenFields } from '../ledger/columns/call-fields.ts'
import { exploredBy, sumExplored } from '../ledger/reading/explore.ts'
import type { ExploreRow, ExploreSums } from '../ledger/reading/explore-rows.ts'
import type { ExploreFilters } from '../ledger/reading/explore-sql.ts'
import { atOnce } from '../ledger/reading/loop-turns.ts'
import { OTHER_TAGS_ID } from '../ledger/reading/spend-rows.ts'
import { NO_TAG } from '../ledger/sql/hour-sums.ts'
import type { CommandContext } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { readReport } from './read-report.ts'
import { tableText, usdText } from './text.ts'
import { tagFields } from './usage-sums.ts'

/** No hour is before the first or after the last. */
const LAST_HOUR = 99_999_999
const HOURS = 24

const isDimension = (text: string): text is Dimension => DIMENSIONS.some((dimension) => dimension === text)

/** `model` or `model,key`. Undefined: it is neither one nor two of what tells sums apart. */
export function dimensionsOf(text: string): readonly Dimension[] | undefined {
  const by = text.split(',')
  return by.every(isDimension) && by.length <= BY_MAX && new Set(by).size === by.length ? by : undefined
}

/** Adds `model=ID` to the filters that were given before it. */
export function readOnly(text: string, before: ExploreFilters = {}): ExploreFilters {
  const [dimension = '', ...rest] = text.split('=')
  const id = rest.join('=')
  if (!isDimension(dimension) || id === '') throw new InvalidArgumentError(`Expected WHAT=ID, WHAT one of ${DIMENSIONS.join(', ')}.`)
  return { ...before, [dimension]: [...(before[dimension] ?? []), id] }
}

type Asked = Readonly<{ by: readonly Dimension[]; step?: Step | undefined; only: ExploreFilters; fromDay?: number; toDay?: number }>

export function showExplored(context: CommandContext, { by, step, only, fromDay = 0, toDay }: Asked): ExitCode | Stop {
  const toHour = toDay === undefined ? LAST_HOUR : toDay * HOURS + HOURS - 1
  const query = { fromHour: fromDay * HOURS, toHour, by, step: step ?? null, only }
  const rows = readReport(context, (ledger) => exploredBy((part) => ledger.explore(part), query))
  if (isStop(rows)) return rows
  if (rows === 'tooMuch') return wrongUse('this makes more than 50,000 rows: give a longer --step, fewer days or --only')
  const total = atOnce(sumExplored(rows))
  const timeOf = (row: ExploreRow): readonly string[] => (step === undefined ? [] : [stepText(row.hour, step)])
  context.say(
    {
      data: rows.map((row) => ({
        ...(step === undefined ? {} : { from: stepText(row.hour, step) }),
        ...Object.fromEntries(by.flatMap((dimension, index) => thingFields(dimension, row.things[index]))),
        ...sumsDocument(row),
      })),
      total: sumsDocument(total),
    },
    () => {
      const lines = rows.map((row) => [...timeOf(row), ...row.things.map(({ id, name }) => (name === '' ? id : name)), ...cellsOf(row)])
      const foot = ['total', ...Array.from({ length: by.length - 1 + (step === undefined ? 0 : 1) }, () => ''), ...cellsOf(total)]
      return tableText(
        [...(step === undefined ? [] : ['FROM']), ...by.map((dimension) => dimension.toUpperCase()), ...SUMS],
        lines.length === 0 ? [] : [...lines, foot],
        'Nothing was used yet.',
      )
    },
  )
  return EXIT.ok
}

/** A tag stands as in the sums by tag alone. */
function thingFields(dimension: Dimension, thing: ExploreRow['things'][number] | undefined): readonly (readonly [string, unknown])[] {
  if (dimension !== 'tag') return [[dimension, thing]]
  return Object.entries(tagFields(thing === undefined || thing.id === NO_TAG ? null : thing.id === OTHER_TAGS_ID ? '' : thing.id))
}

const SUMS = ['REQUESTS', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'COST', 'WAIVED']
const cellsOf = (of: ExploreSums): readonly string[] => [
  String(of.requests),
  ...tokenCells(of.usage),
  usdText(of.costPicos),
  usdText(of.waivedPicos),
]

const sumsDocument = (of: ExploreSums) => ({
  requests: of.requests,
  ...tokenFields(of.usage),
  ...usdFields('cost', of.costPicos),
  ...usdFields('waived', of.waivedPicos),
  ...usdFields('estimated', of.estimatedPicos),
  ...usdFields('upstream_cost', of.upstreamCostPicos),
  costed_requests: of.costed,
})
